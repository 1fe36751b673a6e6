"""`klamm quota`: how much clients may ask for."""
