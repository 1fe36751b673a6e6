"""`klamm acl`: who may do what."""
