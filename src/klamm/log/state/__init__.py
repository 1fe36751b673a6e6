"""What a partition's batches say beyond their records: producers, transactions, leader epochs. All of it is derived."""
