"""The four decompressors: bytes or CorruptFrame, and never more than they may give."""

from collections.abc import Sequence
from functools import partial

from fuzz.target import Target
from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import Codec
from klamm.protocol.records.compression import compress, decompress

_MOST = 1 << 20


def _decompress(codec: Codec, data: bytes) -> None:
    try:
        output = decompress(codec, data, _MOST)
    except CorruptFrame:
        return
    assert len(output) <= _MOST


def _seeds(codec: Codec) -> Sequence[bytes]:
    texts = (b"", b"a", b"abc" * 100, bytes(range(256)) * 300, bytes(_MOST + 1))
    return [compress(codec, text) for text in texts]


TARGETS = tuple(
    Target(codec.name.lower(), partial(_decompress, codec), partial(_seeds, codec))
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
)
