"""The three indexes of a segment, byte for byte as Kafka writes them. They know nothing of files but their bytes."""
