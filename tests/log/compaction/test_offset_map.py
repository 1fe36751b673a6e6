"""The map of keys against a dict."""

from hypothesis import given
from hypothesis import strategies as st

from klamm.log.compaction.offset_map import NOWHERE, SLOT_BYTES, OffsetMap


def a_map(slots: int = 1024, most_keys: int = 1 << 20) -> OffsetMap:
    return OffsetMap(most_keys=most_keys, max_bytes=slots * SLOT_BYTES)


def test_last_offset_of_a_key_wins() -> None:
    offsets = a_map()

    offsets.put_all([(0, b"a"), (1, b"b"), (2, b"a")], start=0)

    assert (offsets.get(b"a"), offsets.get(b"b"), offsets.get(b"c")) == (2, 1, NOWHERE)
    assert offsets.count == 2


def test_records_without_a_key_and_those_before_the_start_are_passed_over() -> None:
    offsets = a_map()

    offsets.put_all([(4, b"early"), (5, None), (6, b"")], start=5)

    assert (offsets.get(b"early"), offsets.get(b""), offsets.count) == (NOWHERE, 6, 1)


def test_it_says_when_keys_do_not_fit_and_keeps_those_that_did() -> None:
    offsets = a_map(slots=4)

    assert not offsets.put_all([(number, b"%d" % number) for number in range(4)], start=0)

    assert [offsets.get(b"%d" % number) for number in range(4)] == [0, 1, 2, NOWHERE]


def test_known_keys_are_refused_too_once_it_is_full() -> None:
    """As in Kafka: where the map ends depends on the records alone, not on what is in them."""
    offsets = a_map(slots=4)

    assert offsets.put_all([(0, b"a"), (1, b"b"), (2, b"c")], start=0)
    assert not offsets.put_all([(3, b"a")], start=0)


def test_memory_follows_the_number_of_keys_up_to_the_limit() -> None:
    small = OffsetMap(most_keys=10, max_bytes=1 << 30)
    large = OffsetMap(most_keys=1 << 40, max_bytes=1000 * SLOT_BYTES)

    assert (small.slots, large.slots) == (32, 512)


@given(st.lists(st.binary(max_size=3), max_size=300))
def test_it_answers_as_a_dict_does(keys: list[bytes]) -> None:
    offsets = a_map(slots=512)

    assert offsets.put_all(enumerate(keys), start=0)

    expected = {key: number for number, key in enumerate(keys)}
    assert {key: offsets.get(key) for key in expected} == expected
    assert offsets.count == len(expected)
