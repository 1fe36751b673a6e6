"""What clients are told of the cluster, and topics that come into being because somebody asked for them."""
