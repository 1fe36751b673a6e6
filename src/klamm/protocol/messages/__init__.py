"""Every message of the protocol, one file per API, named as the API. Declarations only."""
