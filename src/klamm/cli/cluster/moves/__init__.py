"""Who leads a partition, and which brokers hold it: the commands of `klamm cluster` that change it."""
