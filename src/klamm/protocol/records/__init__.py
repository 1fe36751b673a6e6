"""Record batches (magic 2): header, records, control records, compression. Knows no log and no request."""
