"""`klamm cluster`: a cluster on this machine, and what any cluster can be asked to do as a whole."""
