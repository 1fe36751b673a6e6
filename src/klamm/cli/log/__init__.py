"""`klamm log`: a log's files, read without a broker and without changing them. Knows the formats, no server."""
