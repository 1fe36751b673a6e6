"""Who reads what, in groups whose members decide among themselves. Pure; the names are Kafka's."""
