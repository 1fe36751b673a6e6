"""compress() and decompress(): the four codecs behind two functions, with Kafka's default levels.

Whatever a peer sends, decompress() answers with bytes or CorruptFrame. It holds at most max_size bytes of output,
the spare eighth by which a growing buffer may be larger, and some MiB of a decoder's own.
"""

from __future__ import annotations

import zlib

import lz4.frame
import zstandard

from klamm.protocol.records.batch import BytesLike, Codec
from klamm.protocol.records.compression import snappy, streams, zstd

_GZIP_WBITS = 31
_GZIP_LEVEL = -1
_ZSTD_LEVEL = 3
# Kafka's default level means "the fast compressor"; every other one asks for the high compression mode.
_LZ4_LEVEL = 9
_LZ4_FAST = 0


def compress(codec: Codec, data: BytesLike, level: int | None = None) -> bytes:
    """level None is Kafka's default for the codec; snappy has no levels."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return zlib.compress(data, _GZIP_LEVEL if level is None else level, wbits=_GZIP_WBITS)
        case Codec.SNAPPY:
            return snappy.compress(data)
        case Codec.LZ4:
            return _compress_lz4(data, level)
        case Codec.ZSTD:
            return zstandard.ZstdCompressor(_ZSTD_LEVEL if level is None else level).compress(data)


def _compress_lz4(data: BytesLike, level: int | None) -> bytes:
    # Java reads only frames whose blocks do not depend on each other, and itself writes blocks of 64 KB.
    frame: bytes = lz4.frame.compress(
        data,
        compression_level=_LZ4_FAST if level in (None, _LZ4_LEVEL) else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return frame


def decompress(codec: Codec, data: BytesLike, max_size: int) -> bytes:
    """CorruptFrame if the data is not what the codec writes, or holds more than max_size bytes."""
    view = memoryview(data)
    match codec:
        case Codec.NONE:
            return streams.collect([bytes(view)], max_size)
        case Codec.GZIP:
            return streams.collect(streams.gzip_pieces(view), max_size)
        case Codec.SNAPPY:
            return snappy.decompress(view, max_size)
        case Codec.LZ4:
            return streams.collect(streams.lz4_pieces(view), max_size)
        case Codec.ZSTD:
            return zstd.decompress(view, max_size)
