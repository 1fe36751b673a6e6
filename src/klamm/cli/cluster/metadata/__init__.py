"""`klamm cluster metadata`: what the controllers have written down."""
