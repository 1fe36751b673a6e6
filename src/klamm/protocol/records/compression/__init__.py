"""The four codecs of record batches, in both directions; knows bytes, not records.

The libraries are loaded when the first batch needs one: a broker passes most batches on as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from klamm.protocol.records.batch import BytesLike, Codec


def compress(codec: Codec, data: BytesLike, level: int | None = None) -> bytes:
    """level None is Kafka's default for the codec; snappy has no levels."""
    from klamm.protocol.records.compression import codecs

    return codecs.compress(codec, data, level)


def decompress(codec: Codec, data: BytesLike, max_size: int) -> bytes:
    """CorruptFrame if the data is not what the codec writes, or holds more than max_size bytes."""
    from klamm.protocol.records.compression import codecs

    return codecs.decompress(codec, data, max_size)
