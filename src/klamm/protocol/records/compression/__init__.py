"""The four codecs of record batches, in both directions; knows bytes, not records."""

from klamm.protocol.records.compression.codecs import compress, decompress

__all__ = ["compress", "decompress"]
