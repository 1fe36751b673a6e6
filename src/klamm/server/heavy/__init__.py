"""For requests that ask for very much: their work and their answers in small pieces."""
