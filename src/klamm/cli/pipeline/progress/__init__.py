"""How far a pipeline is, and what people may do about it: read again, forget, go on all the same."""
