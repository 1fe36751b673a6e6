"""The primitives below the compiled codecs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.protocol import wire


def uvarint(value: int) -> bytes:
    out = bytearray()
    wire.put_uvarint(out, value)
    return bytes(out)


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_a_varint_is_read_back_as_it_was_written(value: int) -> None:
    encoded = uvarint(value)

    assert wire.read_uvarint(b"\xff" + encoded + b"\xff", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (16383, "ff7f"), (2**31 - 1, "ffffffff07")],
)
def test_a_varint_has_its_low_bits_first(value: int, encoded: str) -> None:
    assert uvarint(value).hex() == encoded


def test_a_varint_of_more_than_five_bytes_is_refused() -> None:
    with pytest.raises(CorruptFrame, match="five bytes"):
        wire.read_uvarint(b"\x80\x80\x80\x80\x80\x01", 0)


def test_tagged_fields_that_nobody_knows_are_passed_over() -> None:
    two_fields = bytes.fromhex("02 00 03 616263 8501 00")

    assert wire.skip_tags(two_fields + b"!", 1, two_fields[0])[0] == len(two_fields)


def test_where_there_are_no_tagged_fields_nothing_is_skipped() -> None:
    assert wire.skip_tags(b"\x00rest", 1, 0)[0] == 1


def test_tagged_fields_that_nobody_knows_are_not_read_without_end() -> None:
    many = uvarint(200_000) + b"\x7f\0" * 200_000

    with pytest.raises(CorruptFrame, match="too many tagged fields"):
        wire.skip_tags(many, 1, many[0])


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param("ffffffff0f", id="more fields than bytes"),
        pytest.param("01 00 05 6162", id="a value longer than the frame"),
        pytest.param("02 00 00 01", id="a field without a size"),
        pytest.param("80", id="a count that does not end"),
    ],
)
def test_tagged_fields_that_do_not_fit_are_refused(frame: str) -> None:
    data = bytes.fromhex(frame)

    with pytest.raises(CorruptFrame):
        wire.skip_tags(data, 1, data[0])


def test_a_tagged_field_is_its_tag_its_size_and_its_value() -> None:
    out = bytearray()

    wire.put_tagged_field(out, 200, bytearray(b"value"))

    assert out == b"\xc8\x01\x05value"
    assert wire.tag_header(out, 0) == (200, 3, 8)
