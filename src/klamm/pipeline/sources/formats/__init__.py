"""How each format is read so that nothing is accepted which the bytes do not say."""
