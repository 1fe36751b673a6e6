"""The codecs: what is written is read, and nothing a peer sends costs more memory than the cap allows."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import Codec
from klamm.protocol.records.compression import compress, decompress

CODECS = [codec for codec in Codec if codec is not Codec.NONE]
SIZES = [0, 1, 100, 32 * 1024, 64 * 1024, 64 * 1024 + 1, 1_000_000]
MIB = 1024 * 1024
XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def some_data(size: int) -> bytes:
    """Half noise, half repetition."""
    noise = Random(size).randbytes(size // 2)
    return noise + b"again and " * ((size - len(noise)) // 10) + b"x" * ((size - len(noise)) % 10)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("size", SIZES)
def test_what_was_compressed_comes_back(codec, size):
    data = some_data(size)

    assert decompress(codec, compress(codec, data), max_size=size) == data


@given(data=st.binary(max_size=5000), codec=st.sampled_from(Codec))
def test_any_bytes_come_back(data, codec):
    assert decompress(codec, memoryview(compress(codec, bytearray(data))), len(data)) == data


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("size", [1, 100, 64 * 1024, 1_000_000])
def test_one_byte_more_than_the_cap_is_refused(codec, size):
    compressed = compress(codec, some_data(size))

    with pytest.raises(CorruptFrame):
        decompress(codec, compressed, max_size=size - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_every_prefix_is_corrupt(codec):
    compressed = compress(codec, some_data(300))
    whole_blocks = {len(XERIAL_HEADER)} if codec is Codec.SNAPPY else set()

    for size in set(range(len(compressed))) - whole_blocks:
        with pytest.raises(CorruptFrame):
            decompress(codec, compressed[:size], MIB)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("garbage", [b"\x00", b"\xff" * 40])
def test_garbage_behind_the_data_is_corrupt(codec, garbage):
    with pytest.raises(CorruptFrame):
        decompress(codec, compress(codec, b"data") + garbage, MIB)


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(max_size=200))
def test_noise_is_corrupt_or_by_chance_right(codec, data):
    with suppress(CorruptFrame):
        assert len(decompress(codec, data, max_size=1000)) <= 1000


@pytest.mark.parametrize("level", [None, -1, 1, 6, 9])
def test_gzip_takes_every_level(level):
    data = some_data(5000)

    assert gzip.decompress(compress(Codec.GZIP, data, level)) == data


@pytest.mark.parametrize("level", [None, 1, 9, 17])
def test_lz4_takes_every_level(level):
    data = some_data(5000)

    assert lz4.frame.decompress(compress(Codec.LZ4, data, level)) == data


@pytest.mark.parametrize("level", [None, -7, 1, 3, 22])
def test_zstd_takes_every_level(level):
    data = some_data(5000)

    assert zstandard.decompress(compress(Codec.ZSTD, data, level)) == data


def test_lz4_frame_is_one_that_java_accepts():
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, some_data(200_000)))

    assert not info["block_linked"]
    assert not info["content_checksum"]
    assert info["block_size"] == 64 * 1024
    assert info["content_size"] == 0


def test_gzip_members_are_one_stream():
    assert decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"two"), 7) == b"one two"


def test_snappy_is_read_without_framing():
    data = some_data(100_000)

    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data)), len(data)) == data


def test_snappy_streams_may_follow_one_another():
    streams = compress(Codec.SNAPPY, b"one ") + compress(Codec.SNAPPY, b"two")

    assert decompress(Codec.SNAPPY, streams, 7) == b"one two"


@pytest.mark.parametrize(
    "blocks",
    [
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff\x00",
        b"\x00\x00\x00\x05\xff\xff\xff\xff\x07",
        b"\x00\x00\x00\x06\xff\xff\xff\xff\x0f\x00",
    ],
)
def test_snappy_blocks_that_lie_about_their_length_are_corrupt(blocks):
    for data in (XERIAL_HEADER + blocks, blocks):
        with pytest.raises(CorruptFrame):
            decompress(Codec.SNAPPY, data, 2**40)


def test_zstd_with_the_largest_window_is_read_whole():
    for size in (0, 1, 70_000, 10 * MIB):
        data = some_data(size)

        assert decompress(Codec.ZSTD, zstd_of_unknown_size(data), max_size=size) == data


def test_zstd_with_the_largest_window_is_corrupt_when_cut_or_too_long():
    frame = zstd_of_unknown_size(some_data(300))

    for data in (*(frame[:size] for size in range(len(frame))), frame + b"\x00", frame + frame):
        with pytest.raises(CorruptFrame):
            decompress(Codec.ZSTD, data, MIB)


def test_empty_zstd_frame_hides_nothing_behind_it():
    empty = compress(Codec.ZSTD, b"")

    assert decompress(Codec.ZSTD, empty, 0) == b""
    for data in (empty * 2, empty + bytes(100)):
        with pytest.raises(CorruptFrame):
            decompress(Codec.ZSTD, data, 0)


def raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def lz4_of_large_blocks(data: bytes) -> bytes:
    return lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX4MB)


def zstd_of_unknown_size(data: bytes) -> bytes:
    """As Java's stream writes it at level 22: the window is the largest there is."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=27, write_checksum=True
    )
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return stream.compress(data) + stream.flush()


CAP = 32 * MIB
TOO_MUCH = 8 * CAP
BOMBS: dict[str, tuple[Codec, Callable[[], bytes]]] = {
    "gzip": (Codec.GZIP, lambda: compress(Codec.GZIP, bytes(TOO_MUCH))),
    "xerial snappy": (Codec.SNAPPY, lambda: compress(Codec.SNAPPY, bytes(TOO_MUCH))),
    "raw snappy": (Codec.SNAPPY, lambda: raw_snappy(bytes(TOO_MUCH))),
    "lz4": (Codec.LZ4, lambda: compress(Codec.LZ4, bytes(TOO_MUCH))),
    "lz4 of large blocks": (Codec.LZ4, lambda: lz4_of_large_blocks(bytes(TOO_MUCH))),
    "zstd": (Codec.ZSTD, lambda: compress(Codec.ZSTD, bytes(TOO_MUCH))),
    "zstd of unknown size": (Codec.ZSTD, lambda: zstd_of_unknown_size(bytes(TOO_MUCH))),
    # These stay within the cap until they turn out to be cut off.
    "zstd that is cut off": (Codec.ZSTD, lambda: compress(Codec.ZSTD, bytes(CAP))[:-1]),
    "zstd of unknown size that is cut off": (
        Codec.ZSTD,
        lambda: zstd_of_unknown_size(bytes(CAP))[:-1],
    ),
    "gzip that is cut off": (Codec.GZIP, lambda: compress(Codec.GZIP, bytes(CAP))[:-1]),
    "lz4 that is cut off": (Codec.LZ4, lambda: lz4_of_large_blocks(bytes(CAP))[:-1]),
}

# In a process of its own: in ours, freed memory would be used again and hide what was taken.
MEASURE = """
import sys
from pathlib import Path
from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import Codec
from klamm.protocol.records.compression import compress, decompress

def memory_of(what):
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(what)) * 1024

codec, cap, data = Codec(int(sys.argv[1])), int(sys.argv[2]), sys.stdin.buffer.read()
decompress(codec, compress(codec, b"load the library"), 100)
before = memory_of("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak is noted anew from here on
try:
    outcome = len(decompress(codec, data, cap))
except CorruptFrame:
    outcome = "corrupt"
print(outcome, memory_of("VmHWM") - before)
"""
# Besides the cap: an eighth of spare room, and the decoder's own state, a window or a block.
LIMIT = CAP * 9 // 8 + 9 * MIB


def measure(codec: Codec, data: bytes) -> tuple[str, int]:
    """What came of decompressing the data, and the memory it took at most."""
    command = [sys.executable, "-c", MEASURE, str(int(codec)), str(CAP)]
    answer = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    outcome, peak = answer.decode().split()
    return outcome, int(peak)


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_refused_within_the_memory_of_the_cap(name):
    codec, arm = BOMBS[name]

    outcome, peak = measure(codec, arm())

    assert outcome == "corrupt"
    assert peak < LIMIT


@pytest.mark.parametrize(
    ("codec", "pack"),
    [*((codec, partial(compress, codec)) for codec in CODECS), (Codec.ZSTD, zstd_of_unknown_size)],
)
def test_data_as_large_as_the_cap_is_held_once(codec, pack):
    outcome, peak = measure(codec, pack(bytes(CAP)))

    assert outcome == str(CAP)
    assert CAP * 9 // 10 < peak < LIMIT
