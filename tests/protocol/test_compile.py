"""What compiled codecs write, and what they refuse to read."""

import linecache
import traceback
import tracemalloc

import pytest

from klamm.base.errors import CorruptFrame
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.compile import decode, decoder, encode, encoder, source
from klamm.protocol.declare import (
    Array,
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableArray,
    NullableBytes,
    NullableRecords,
    NullableString,
    String,
    UInt16,
    UInt32,
    field,
    message,
    struct,
)
from klamm.protocol.messages.headers import RequestHeader

OLD, FLEXIBLE = 0, 1


@struct
class Part:
    index: Int32 = 0
    label: NullableString = field(tag=0, default=None)


@message(versions="0-1", flexible="1+")
class Everything:
    a: Int8 = 0
    b: Int16 = 0
    c: Int32 = 0
    d: Int64 = 0
    e: UInt16 = 0
    f: UInt32 = 0
    g: Float64 = 0.0
    h: Bool = False
    id: Uuid = ZERO_UUID
    text: String = ""
    maybe_text: NullableString = None
    blob: Bytes = b""
    maybe_blob: NullableBytes = None
    records: NullableRecords = None
    numbers: Array[Int32] = []
    ids: Array[Uuid] = []
    words: NullableArray[String] = None
    part: Part = field(factory=Part)
    maybe_part: Part | None = None
    parts: Array[Part] = []


@message(versions="0-1", flexible="1+")
class Text:
    value: String = ""


@message(versions="0-1", flexible="1+")
class Blob:
    value: Bytes = b""


@message(versions="0-1", flexible="1+")
class Numbers:
    value: Array[Int32] = []


@message(versions="0-1", flexible="1+")
class Parts:
    value: Array[Part] = []


@message(versions="0-3", flexible="2+")
class Tagged:
    first: Int32 = field(since=2, tag=0, default=-1)
    second: Part = field(since=3, tag=1, factory=Part)
    third: NullableArray[Int32] = field(since=2, tag=5, default=[])
    maybe: Part | None = field(since=3, tag=6, default=None)


@message(versions="0-3")
class Ages:
    always: Int16 = 0
    middle: Int16 = field(since=1, until=2, default=7)
    late: NullableString = field(since=3, default="none")
    changed: NullableString = field(nullable_since=2, default="")


EVERYTHING = Everything(
    a=-1, b=-2, c=-3, d=-4, e=65535, f=2**32 - 1, g=1.5, h=True, id=Uuid(bytes(range(16))), text="é",
    maybe_text="x" * 200, blob=b"b", maybe_blob=b"", records=b"r" * 300, numbers=list(range(10)),
    ids=[ZERO_UUID], words=["", "w"], part=Part(index=1), maybe_part=Part(index=2, label="l"),
    parts=[Part(index=3), Part(index=4)],
)  # fmt: skip


class TestRoundTrips:
    @pytest.mark.parametrize("made", [Everything(), EVERYTHING], ids=["defaults", "values"])
    def test_what_was_written_is_read_back(self, made: Everything) -> None:
        assert decode(Everything, FLEXIBLE, encode(made, FLEXIBLE)) == made

    def test_old_versions_carry_everything_but_tagged_fields(self) -> None:
        read = decode(Everything, OLD, encode(EVERYTHING, OLD))

        assert read.maybe_part == Part(index=2, label=None)
        read.maybe_part = EVERYTHING.maybe_part
        assert read == EVERYTHING

    @pytest.mark.parametrize("version", [OLD, FLEXIBLE])
    def test_every_prefix_is_refused(self, version: int) -> None:
        data = encode(EVERYTHING, version)

        for size in range(len(data)):
            with pytest.raises(CorruptFrame):
                decode(Everything, version, data[:size])

    @pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
    def test_any_kind_of_bytes_can_be_read(self, make: type) -> None:
        assert decode(Everything, FLEXIBLE, make(encode(EVERYTHING, FLEXIBLE))) == EVERYTHING

    def test_a_decoder_starts_where_it_is_told_and_says_where_it_ended(self) -> None:
        data = b"???" + encode(Text(value="abc"), OLD) + b"!!"

        assert decoder(Text, OLD)(data, 3) == (Text(value="abc"), 8)

    def test_bytes_after_the_message_are_ignored(self) -> None:
        assert decode(Text, OLD, b"\0\1a" + b"more") == Text(value="a")

    def test_an_encoder_appends(self) -> None:
        out = bytearray(b"before")

        encoder(Text, OLD)(Text(value="a"), out)

        assert out == b"before\0\1a"

    def test_bytes_are_views_of_the_frame(self) -> None:
        data = bytearray(encode(Blob(value=b"abc"), OLD))
        read = decode(Blob, OLD, data)

        data[-1:] = b"C"

        assert read.value == b"abC"


class TestEncoding:
    def test_old_versions_have_lengths_of_fixed_width(self) -> None:
        assert encode(Text(value="ab"), OLD).hex(" ") == "00 02 61 62"
        assert encode(Blob(value=b"ab"), OLD).hex(" ") == "00 00 00 02 61 62"
        assert encode(Numbers(value=[5]), OLD).hex(" ") == "00 00 00 01 00 00 00 05"

    def test_flexible_versions_have_compact_lengths_and_end_in_tags(self) -> None:
        assert encode(Text(value="ab"), FLEXIBLE).hex(" ") == "03 61 62 00"
        assert encode(Blob(value=b"x" * 127), FLEXIBLE)[:2].hex(" ") == "80 01"
        assert encode(Numbers(value=[5]), FLEXIBLE).hex(" ") == "02 00 00 00 05 00"

    def test_every_struct_of_a_flexible_version_has_tags_of_its_own(self) -> None:
        parts = Parts(value=[Part(index=1), Part(index=2, label="x")])

        assert encode(parts, FLEXIBLE).hex(" ") == (
            "03  00 00 00 01 00  00 00 00 02 01 00 02 02 78  00".replace("  ", " ")
        )

    def test_the_client_id_keeps_its_old_encoding(self) -> None:
        header = RequestHeader(request_api_key=3, correlation_id=9, client_id="me")

        assert encode(header, 2).hex(" ") == "00 03 00 00 00 00 00 09 00 02 6d 65 00"

    def test_tagged_fields_are_left_out_while_they_hold_their_defaults(self) -> None:
        assert encode(Tagged(), 3) == b"\0"

    def test_tagged_fields_are_written_in_the_order_of_their_tags(self) -> None:
        tagged = Tagged(third=None, first=1, second=Part(index=2), maybe=Part())

        assert encode(tagged, 3).hex(" ") == (
            "04 00 04 00 00 00 01 01 05 00 00 00 02 00 05 01 00 06 06 01 00 00 00 00 00"
        )

    def test_a_tagged_struct_marks_null_with_zero_and_another_one_with_minus_one(self) -> None:
        assert decode(Tagged, 3, bytes.fromhex("01 06 01 00")) == Tagged(maybe=None)
        assert encode(Everything(), OLD)[-5:].hex(" ") == "ff 00 00 00 00"

    def test_a_version_carries_its_own_fields_only(self) -> None:
        ages = Ages(always=1, middle=2, late="z", changed="y")

        assert [encode(ages, version).hex() for version in range(4)] == [
            "0001" + "000179",
            "0001" + "0002" + "000179",
            "0001" + "0002" + "000179",
            "0001" + "00017a" + "000179",
        ]

    def test_fields_of_other_versions_are_read_as_their_defaults(self) -> None:
        assert decode(Ages, 0, bytes.fromhex("0001 000179")) == Ages(
            always=1, middle=7, late="none", changed="y"
        )

    @pytest.mark.parametrize("version", [OLD, FLEXIBLE])
    def test_a_string_that_is_too_long_is_not_written(self, version: int) -> None:
        encode(Text(value="x" * 32767), version)

        with pytest.raises(ValueError):
            encode(Text(value="x" * 32768), version)

    def test_a_number_that_does_not_fit_is_not_written(self) -> None:
        with pytest.raises(ValueError, match="Numbers v0"):
            encode(Numbers(value=[2**31]), OLD)

    def test_a_version_that_was_never_declared_is_refused(self) -> None:
        with pytest.raises(ValueError, match="Text has versions 0-1, not 2"):
            encoder(Text, 2)


class TestRefusals:
    @pytest.mark.parametrize(
        ("cls", "version", "frame"),
        [
            pytest.param(Text, OLD, "ffff", id="null string where null is not allowed"),
            pytest.param(Text, FLEXIBLE, "00 00", id="null compact string"),
            pytest.param(Text, OLD, "fffe 6162", id="string of negative length"),
            pytest.param(Text, OLD, "0003 6162", id="string longer than the frame"),
            pytest.param(Text, FLEXIBLE, "04 6162", id="compact string longer than the frame"),
            pytest.param(Text, OLD, "0002 c328", id="string that is not UTF-8"),
            pytest.param(Text, FLEXIBLE, "808080808001", id="length of six bytes"),
            pytest.param(Blob, OLD, "ffffffff", id="null bytes"),
            pytest.param(Blob, OLD, "fffffffe", id="bytes of negative length"),
            pytest.param(Blob, OLD, "7fffffff 00", id="bytes longer than the frame"),
            pytest.param(Numbers, OLD, "ffffffff", id="null array"),
            pytest.param(Numbers, OLD, "fffffffe", id="array of negative length"),
            pytest.param(Numbers, OLD, "7fffffff 00000000", id="more numbers than bytes"),
            pytest.param(Numbers, FLEXIBLE, "ffffffff07 00", id="more numbers than bytes, compact"),
            pytest.param(Parts, OLD, "00000002 00000000", id="more structs than bytes"),
            pytest.param(Ages, 1, "0001 0002 ffff", id="null before the version that allows it"),
            pytest.param(Text, FLEXIBLE, "01 7f 00 00", id="more tagged fields than bytes"),
            pytest.param(Text, FLEXIBLE, "01 01 00 05 61", id="unknown tagged field cut off"),
            pytest.param(
                Tagged, 3, "01 00 05 00000001 00", id="tagged value shorter than its size"
            ),
            pytest.param(Tagged, 3, "01 00 02 00000001", id="tagged value longer than its size"),
        ],
    )
    def test_nonsense_is_a_corrupt_frame(self, cls: type, version: int, frame: str) -> None:
        with pytest.raises(CorruptFrame):
            decode(cls, version, bytes.fromhex(frame))

    def test_a_compact_string_has_the_same_limit_as_an_old_one(self) -> None:
        limit = b"\x80\x80\x02" + b"x" * 32767 + b"\0"
        over = b"\x81\x80\x02" + b"x" * 32768 + b"\0"

        assert len(decode(Text, FLEXIBLE, limit).value) == 32767
        with pytest.raises(CorruptFrame):
            decode(Text, FLEXIBLE, over)

    def test_unknown_tagged_fields_are_skipped(self) -> None:
        frame = bytes.fromhex("02 61  02  07 03 616263  8002 00")

        assert decoder(Text, FLEXIBLE)(frame) == (Text(value="a"), len(frame))

    def test_tagged_fields_of_a_later_version_are_unknown(self) -> None:
        late = encode(Tagged(first=5, second=Part(index=1)), 3)

        assert decode(Tagged, 2, late) == Tagged(first=5)

    def test_the_message_says_which_field_was_wrong(self) -> None:
        with pytest.raises(CorruptFrame, match=r"Text\.value: length 3 at byte 2"):
            decode(Text, OLD, b"\0\3ab")


class TestRoom:
    """Small elements make large objects; their number is limited by what they would cost in memory."""

    DENSE = b"\0\1\x86\xa0" + bytes(4 * 100_000)  # 100,000 structs of four bytes each

    def test_a_frame_that_would_cost_too_much_memory_is_refused(self) -> None:
        with pytest.raises(CorruptFrame, match=r"Parts\.value: 100000 elements"):
            decode(Parts, OLD, self.DENSE, room=1024 * 1024)

    def test_refusing_costs_no_memory(self) -> None:
        decoder(Parts, OLD)
        tracemalloc.start()
        with pytest.raises(CorruptFrame):
            decode(Parts, OLD, self.DENSE, room=0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 64 * 1024

    def test_more_room_lets_it_pass(self) -> None:
        parts = decode(Parts, OLD, self.DENSE, room=64 * 1024 * 1024)

        assert len(parts.value) == 100_000

    def test_a_large_frame_brings_its_own_room(self) -> None:
        # The blob is most of the frame, so four times its size is enough for the structs beside it.
        frame = encode(Parts(value=[Part()] * 1000), OLD) + bytes(100_000)

        assert len(decode(Parts, OLD, frame, room=0).value) == 1000


class TestSource:
    def test_the_source_can_be_read(self) -> None:
        assert source(Text, OLD, "decode").startswith("def decode(data, at=0, room=_ROOM):")
        assert "message.value" in source(Text, FLEXIBLE, "encode")

    def test_fixed_fields_are_read_at_once_with_the_length_that_follows(self) -> None:
        assert "_unpack_bhiqHIdo16sB(data, at)" in source(Everything, FLEXIBLE, "decode")

    def test_tracebacks_show_the_compiled_line(self) -> None:
        with pytest.raises(AttributeError) as raised:
            encode(Text(value=None), OLD)  # type: ignore[arg-type]

        assert "value.encode()" in "".join(traceback.format_exception(raised.value))
        assert linecache.getline("<klamm encode Text v0>", 1) == "def encode(message, out):\n"

    def test_each_codec_is_compiled_once(self) -> None:
        assert encoder(Text, OLD) is encoder(Text, OLD)
        assert decoder(Text, OLD) is decoder(Text, OLD)
        assert decoder(Text, OLD) is not decoder(Text, FLEXIBLE)
