"""What a log asks of batches before it takes them: everything of a client's, little of a broker's."""
