"""The quorum's messages in Kafka's wire form, and fetches of the metadata log that wait."""
