"""THE settings table: every name Kafka 4.3 knows, its type, default, bounds and one sentence on what it does.

`declare` is the notation, one file per theme holds the rows, `broker` gathers them, `load` reads them from files,
environment and flags, `validate` and `describe` answer what clients ask about them. Pure: text and mappings in,
values out; nobody here knows a file system, the wire or the metadata log.
"""
