"""`klamm group`: who reads what, how far, and from where next."""
