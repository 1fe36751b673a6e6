"""Who somebody is and what they may do, as rules without sockets: logins, access rules."""
