"""What every introduction to Kafka tells about clusters, played with real processes on this machine."""
