"""What the notation makes of a class."""

import copy
import pickle
import subprocess
import sys

import pytest

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int32,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    schema_of,
    struct,
)


@struct
class Inner:
    index: Int32 = -1
    names: Array[String] = []


@message(api_key=7, versions="2-9", flexible="6+")
class SampleRequest:
    """A sample."""

    name: String = "nobody"
    rack: NullableString = field(since=3, default=None)
    topic_id: Uuid = field(until=4, default=ZERO_UUID)
    inner: Inner = field(factory=Inner)
    cursor: Inner | None = None
    numbers: NullableArray[Int32] = field(nullable_since=5, default=[])
    inners: Array[Inner] = []
    flag: Bool = field(since=6, tag=2, default=True)


def test_fields_left_out_hold_their_defaults() -> None:
    made = SampleRequest(rack="r1")

    assert (made.name, made.rack, made.topic_id, made.flag) == ("nobody", "r1", ZERO_UUID, True)
    assert (made.inner, made.cursor, made.numbers) == (Inner(index=-1, names=[]), None, [])


def test_default_lists_and_structs_are_not_shared() -> None:
    first, second = SampleRequest(), SampleRequest()

    first.inners.append(Inner())
    first.inner.names.append("x")

    assert second == SampleRequest()


def test_an_explicit_none_stays_none() -> None:
    assert SampleRequest(numbers=None).numbers is None


def test_fields_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        SampleRequest("name")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unknown"):
        SampleRequest(unknown=1)  # type: ignore[call-arg]


def test_objects_have_slots_and_can_be_changed() -> None:
    made = SampleRequest()
    made.name = "other"

    assert made.name == "other"
    assert not hasattr(made, "__dict__")
    with pytest.raises(AttributeError):
        made.misspelt = 1  # type: ignore[attr-defined]


def test_objects_are_equal_when_all_fields_are() -> None:
    assert SampleRequest(name="a") == SampleRequest(name="a")
    assert SampleRequest(name="a") != SampleRequest(name="b")
    assert Inner() != "Inner()"  # type: ignore[comparison-overlap]


def test_objects_cannot_be_hashed_because_they_change() -> None:
    with pytest.raises(TypeError):
        hash(SampleRequest())


def test_objects_print_as_they_are_written() -> None:
    assert repr(Inner(index=3, names=["x"])) == "Inner(index=3, names=['x'])"


def test_objects_copy_and_pickle() -> None:
    made = SampleRequest(name="a", inner=Inner(index=3))

    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_the_class_keeps_its_name_and_its_sentence() -> None:
    assert SampleRequest.__doc__ == "A sample."
    assert SampleRequest.__qualname__ == "SampleRequest"
    assert SampleRequest.__module__ == __name__


def test_the_schema_says_what_was_declared() -> None:
    schema = schema_of(SampleRequest)

    assert (schema.name, schema.kind, schema.api_key) == ("SampleRequest", "request", 7)
    assert (schema.versions, schema.flexible_since) == ((2, 9), 6)
    assert [f.name for f in schema.fields if f.is_in(5)] == [
        "name",
        "rack",
        "inner",
        "cursor",
        "numbers",
        "inners",
    ]


def test_types_are_read_from_the_annotations() -> None:
    types = {f.name: f.type for f in schema_of(SampleRequest).fields}

    assert {name: wire.name for name, wire in types.items()} == {
        "name": "string",
        "rack": "string",
        "topic_id": "uuid",
        "inner": "struct",
        "cursor": "struct",
        "numbers": "array",
        "inners": "array",
        "flag": "bool",
    }
    assert [name for name, wire in types.items() if wire.nullable] == ["rack", "cursor", "numbers"]
    assert types["inner"].struct is types["cursor"].struct is Inner
    assert types["inners"].element is not None
    assert types["inners"].element.struct is Inner


def test_a_field_is_nullable_from_the_version_it_names() -> None:
    numbers = next(f for f in schema_of(SampleRequest).fields if f.name == "numbers")

    assert [numbers.is_nullable_in(version) for version in (4, 5, 9)] == [False, True, True]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("VoteRequest", "request"),
        ("VoteResponse", "response"),
        ("RequestHeader", "header"),
        ("SnapshotHeaderRecord", "record"),
        ("OffsetCommitKey", "record"),
    ],
)
def test_the_kind_follows_from_the_name(name: str, kind: str) -> None:
    assert schema_of(message(versions="0")(type(name, (), {}))).kind == kind


def test_a_field_without_a_default_is_refused() -> None:
    class Careless:
        name: String

    with pytest.raises(TypeError, match=r"Careless\.name has no default"):
        struct(Careless)


def test_importing_one_message_imports_no_other_and_compiles_nothing() -> None:
    program = (
        "import sys, klamm.protocol.messages.metadata as m;"
        "loaded = [n for n in sys.modules if n.startswith('klamm.protocol.')];"
        "print(*sorted(loaded), m.MetadataRequest.__init__.__name__)"
    )

    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert output.split() == [
        "klamm.protocol.declare",
        "klamm.protocol.messages",
        "klamm.protocol.messages.metadata",
        "klamm.protocol.wire",
        "_first_init",
    ]
