"""The three consumers with confluent-kafka."""
