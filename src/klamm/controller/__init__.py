"""Who may change what the cluster knows: the write side of metadata. Returns records, never appends them."""
