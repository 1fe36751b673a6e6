"""Damaged requests: a decoder gives a message or `CorruptFrame`, and never more memory than the frame justifies.

The frames are those of the golden vectors. `KLAMM_MUTATIONS=1000000` asks for more of them than a usual run,
`KLAMM_SEED` for others.
"""

import os
import random
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from golden import vector_files
from golden.kafka_json import message_classes
from klamm.base.errors import CorruptFrame
from klamm.base.ids import ZERO_UUID
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decode, decoder, encode
from klamm.protocol.declare import WireType, schema_of
from klamm.protocol.messages.delete_groups import DeleteGroupsRequest

MUTATIONS = int(os.environ.get("KLAMM_MUTATIONS", "50000"))
SEED = int(os.environ.get("KLAMM_SEED", "1"))
KIB = 1024
MEMORY_PER_FRAME_BYTE = 4
# What decoding costs whatever the frame: the message itself, its empty lists, the error and its text.
MEMORY_AT_LEAST = 4 * KIB


class Frame(NamedTuple):
    cls: type[Any]
    version: int
    data: bytes


@cache
def request_frames() -> list[Frame]:
    return [
        Frame(message_classes()[name], vector.version, vector.data)
        for name in vector_files.message_names()
        if name.endswith("Request") or name == "RequestHeader"
        for vector in vector_files.load(name).vectors
    ]


HUGE = (
    b"\x7f\xff",
    b"\x7f\xff\xff\xff",
    b"\x00\x0f\xff\xff",
    b"\xff\xff\xff\xff\x07",  # the largest signed number as a varint
    b"\xff\xff\xff\xff\xff\xff",  # a varint without an end
    b"\x80\x80\x04",
)


def flip_bits(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] ^= rng.randrange(1, 256)


def blow_up_a_length(data: bytearray, at: int, rng: random.Random) -> None:
    huge = rng.choice(HUGE)
    data[at : at + len(huge)] = huge


def make_negative(data: bytearray, at: int, rng: random.Random) -> None:
    width = rng.choice((1, 2, 4))
    data[at : at + width] = b"\xff" * (width - 1) + bytes([rng.randrange(0x80, 0x100)])


def cut_off(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at:]


def insert_noise(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = rng.randbytes(rng.randrange(1, 9))


def leave_out(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at : at + rng.randrange(1, 9)]


def repeat_a_part(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = data[at : at + rng.randrange(1, 65)]


Mutation = Callable[[bytearray, int, random.Random], None]
MUTATIONS_BY_WEIGHT: tuple[Mutation, ...] = (
    *(flip_bits,) * 4,
    *(blow_up_a_length,) * 4,
    make_negative,
    cut_off,
    insert_noise,
    leave_out,
    repeat_a_part,
)


def mutated_frames(count: int) -> Iterator[Frame]:
    """Each frame in turn, damaged in one to three places."""
    rng = random.Random(SEED)
    frames = [frame for frame in request_frames() if frame.data]
    for number in range(count):
        frame = frames[number % len(frames)]
        data = bytearray(frame.data)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            if data:
                rng.choice(MUTATIONS_BY_WEIGHT)(data, rng.randrange(len(data)), rng)
        yield frame._replace(data=bytes(data))


def describe(frame: Frame) -> str:
    return f"{frame.cls.__name__} v{frame.version} {frame.data.hex()}"


def is_corrupt(frame: Frame) -> bool:
    try:
        decode(frame.cls, frame.version, frame.data)
    except CorruptFrame:
        return True
    except Exception as problem:
        problem.add_note(describe(frame))
        raise
    return False


def test_damaged_requests_are_messages_or_corrupt_frames_and_nothing_else() -> None:
    corrupt = sum(map(is_corrupt, mutated_frames(MUTATIONS)))

    # Both must be common, or the mutations miss one of the two paths.
    assert MUTATIONS * 0.2 < corrupt < MUTATIONS * 0.9


def peak_memory(frame: Frame, *, room: int) -> int:
    """The most memory that was in use while the frame was decoded, counted from before it was."""
    decode_frame = decoder(frame.cls, frame.version)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        message = decode_frame(frame.data, 0, room)
    except CorruptFrame as error:
        message = error.args
    peak = tracemalloc.get_traced_memory()[1]
    del message
    return peak - before


@pytest.fixture
def traced_memory() -> Iterator[None]:
    # All that is made only once is made before anything is counted.
    for frame in request_frames() + dense_frames():
        decoder(frame.cls, frame.version)
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced_memory")
def test_damaged_requests_cost_little_memory() -> None:
    for frame in mutated_frames(5_000):
        allowed = MEMORY_PER_FRAME_BYTE * len(frame.data) + MEMORY_AT_LEAST

        assert peak_memory(frame, room=0) <= allowed, describe(frame)


def dense_messages(cls: type[Any], version: int, count: int) -> Iterator[Any]:
    """For each array in a message, however deep: the message with `count` of the smallest elements in it."""
    for field in schema_of(cls).fields:
        if field.is_in(version):
            for value in dense_values(field.type, version, count):
                yield cls(**{field.name: value})


def dense_values(wire: WireType, version: int, count: int) -> Iterator[Any]:
    if wire.struct is not None:
        yield from dense_messages(wire.struct, version, count)
    elif wire.element is not None:
        yield [smallest(wire.element) for _ in range(count)]
        yield from ([value] for value in dense_values(wire.element, version, count))


def smallest(wire: WireType) -> Any:
    if wire.struct is not None:
        return wire.struct()
    return {"string": "", "uuid": ZERO_UUID}.get(wire.name, 0)


def test_text_in_wide_letters_is_kept_within_the_room() -> None:
    # Four bytes for each letter in memory, one for most of them on the wire.
    groups = DeleteGroupsRequest(groups_names=["a" * 17 + "\N{GRINNING FACE}"] * 1_000)
    data = encode(groups, 2)

    with pytest.raises(CorruptFrame):
        decode(DeleteGroupsRequest, 2, data, room=0)
    assert decode(DeleteGroupsRequest, 2, data) == groups


@cache
def dense_frames() -> list[Frame]:
    return [
        Frame(api.request, api.highest, encode(message, api.highest))
        for api in APIS.values()
        for count in (300, 3_000)
        for message in dense_messages(api.request, api.highest, count)
    ]


@pytest.mark.usefixtures("traced_memory")
@pytest.mark.parametrize("room", [0, 256 * KIB])
def test_arrays_of_the_smallest_elements_are_kept_within_the_room(room: int) -> None:
    for frame in dense_frames():
        allowed = max(room, MEMORY_PER_FRAME_BYTE * len(frame.data)) + MEMORY_AT_LEAST

        assert peak_memory(frame, room=room) <= allowed, describe(frame)[:80]
