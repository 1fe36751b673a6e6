"""Sinks against what must be in them. A problem is one line."""

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fuzz.pipelines import formats, oracle
from fuzz.pipelines.drawing.case import Case
from fuzz.pipelines.drawing.sinks import ParquetPlan, SinkPlan, TablePlan, TopicPlan
from fuzz.pipelines.drawing.steps import Item
from fuzz.pipelines.oracle import Expected
from fuzz.pipelines.reading import Found, Headers, read_lag, read_parquet, read_table, read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T", bound=Hashable)
_SHOWN = 3


def problems(
    case: Case, spark: "SparkSession", bootstrap: str, warehouse: str, offsets: Mapping[int, int]
) -> list[str]:
    found = []
    for sink in case.sinks:
        expected = oracle.expected(case, sink)
        match sink:
            case TopicPlan():
                wrong = check_topic(sink, expected, read_topic(bootstrap, sink.topic))
            case TablePlan():
                wrong = check_table(sink, expected, read_table(spark, sink, warehouse))
            case ParquetPlan():
                wrong = check_rows(sink, expected, read_parquet(spark, sink))
        found += [f"{sink.label} from {case.view(sink.view)}: {each}" for each in wrong]
    if case.dead_letter is not None:
        letters = read_topic(bootstrap, case.dead_letter)
        found += [f"dead letters: {each}" for each in check_letters(case, letters, offsets)]
    return found + check_lag(case, bootstrap)


# Topics -------------------------------------------------------------------------------------------


def check_topic(sink: TopicPlan, expected: Expected, found: Sequence[Found]) -> list[str]:
    if sink.output != "append":
        return _check_last(sink, expected, [_loaded(each.value) for each in found])
    records = [(each.key, _canonical(sink, each.value, each.headers)) for each in found]
    must = [_record(sink, item) for item in expected.must]
    may = [_record(sink, item) for item in expected.may]
    wrong = _compare(records, must, may, may_repeat=not sink.is_exact)
    places: dict[bytes, set[int]] = defaultdict(set)
    for each in found:
        if each.key is not None:
            places[each.key].add(each.partition)
    wrong += [f"key {key!r} is in partitions {p}" for key, p in places.items() if len(p) > 1]
    if not wrong and expected.is_ordered and sink.is_exact:
        origins = [item.origin for item in expected.must]
        wrong = _check_order(records, list(zip(must, origins, strict=True)))
    return wrong


def _record(sink: TopicPlan, item: Item) -> tuple[bytes | None, bytes]:
    key = None if sink.key is None else sink.key.of(item.row)
    value = formats.encode(sink.format, sink.value_columns, item.row)
    headers = item.row[formats.HEADERS] if sink.has_headers else None
    return None if key is None else key.encode(), _canonical(sink, value, headers)


def _canonical(sink: TopicPlan, value: bytes | None, headers: Headers | None) -> bytes:
    """Value and headers as one."""
    assert value is not None
    whole = _text(json.loads(value)).encode() if sink.format == "json" else value
    return whole + repr(tuple(headers)).encode() if headers else whole


def _check_order(
    found: Sequence[tuple[bytes | None, bytes]],
    expected: Sequence[tuple[tuple[bytes | None, bytes], str]],
) -> list[str]:
    """Rows of a key that come from one partition of the source are in its order, whatever comes between them."""
    by_key: dict[bytes, list[bytes]] = defaultdict(list)
    for key, value in found:
        if key is not None:
            by_key[key].append(value)
    origins: dict[tuple[bytes | None, bytes], set[str]] = defaultdict(set)
    wanted: dict[tuple[bytes | None, str], list[bytes]] = defaultdict(list)
    for (key, value), origin in expected:
        origins[key, value].add(origin)
        wanted[key, origin].append(value)
    wrong = []
    for (key, origin), values in wanted.items():
        if key is None:
            continue
        # A row that two origins have alike tells nothing.
        mine = [v for v in by_key[key] if origins[key, v] == {origin}]
        values = [v for v in values if origins[key, v] == {origin}]
        if mine != values:
            place = next(i for i, (a, b) in enumerate(zip(mine, values, strict=True)) if a != b)
            wrong.append(
                f"order of key {key!r} from {origin}, row {place} of {len(values)}: "
                f"{mine[place]!r} in place of {values[place]!r}"
            )
    return wrong[:_SHOWN]


# Tables and files ---------------------------------------------------------------------------------


def check_table(sink: TablePlan, expected: Expected, found: list[dict[str, Any]]) -> list[str]:
    if not sink.is_upsert:
        return check_rows(sink, expected, found)
    if sink.output != "append":
        wrong = _check_last(sink, expected, found)
        return wrong or _check_once(sink, found)
    return _check_once(sink, found) or _check_upserted(sink, expected, found)


def check_rows(sink: SinkPlan, expected: Expected, found: list[dict[str, Any]]) -> list[str]:
    must = [_text(formats.plain(sink.columns, item.row)) for item in expected.must]
    may = [_text(formats.plain(sink.columns, item.row)) for item in expected.may]
    return _compare([_text(row) for row in found], must, may)


def _check_once(sink: SinkPlan, found: list[dict[str, Any]]) -> list[str]:
    counts = Counter(_key(sink, row) for row in found)
    return [f"key {key} has {count} rows" for key, count in counts.items() if count > 1][:_SHOWN]


def _check_upserted(sink: SinkPlan, expected: Expected, found: list[dict[str, Any]]) -> list[str]:
    """The last row of its key; of several origins, or without an order, one of them."""
    candidates: dict[str, dict[object, str]] = defaultdict(dict)
    for number, item in enumerate((*expected.must, *expected.may)):
        row = formats.plain(sink.columns, item.row)
        place = item.origin if expected.is_ordered else number
        candidates[_key(sink, row)][place] = _text(row)
    must = {_key(sink, formats.plain(sink.columns, item.row)) for item in expected.must}
    there = {_key(sink, row): _text(row) for row in found}
    wrong = [f"no row for {key}" for key in sorted(must - there.keys())]
    for key, is_there in there.items():
        possible = sorted(set(candidates[key].values()))
        if is_there not in possible:
            wrong.append(f"{is_there} where one of {possible[:_SHOWN]} should be")
    return wrong[:_SHOWN]


def _check_last(sink: SinkPlan, expected: Expected, found: list[dict[str, Any]]) -> list[str]:
    """Counts that change: what was written last of each key is the whole count."""
    wanted = {}
    for item in expected.must:
        row = formats.plain(sink.columns, item.row)
        wanted[_key(sink, row)] = _text(row)
    last = {_key(sink, row): _text(row) for row in found}
    return _compare(list(last.values()), list(wanted.values()), [])


# Dead letters -------------------------------------------------------------------------------------


def check_letters(case: Case, found: Sequence[Found], offsets: Mapping[int, int]) -> list[str]:
    def fact(letter: Found, name: str) -> str:
        return (dict(letter.headers)[f"klamm.{name}"] or b"").decode()

    there = [
        (each.key, each.value, fact(each, "check"), fact(each, "partition"), fact(each, "offset"))
        for each in found
        if fact(each, "topic") == case.sources[0].topic
    ]
    must = [
        (
            letter.record.key,
            letter.record.value,
            letter.check,
            str(letter.record.partition),
            str(offsets[id(letter.record)]),
        )
        for letter in oracle.letters(case)
    ]
    wrong = _compare(there, must, [])
    if wrong:
        return wrong
    by_key: dict[tuple[bytes | None, str], list[int]] = defaultdict(list)
    for key, _, _, partition, offset in there:
        by_key[key, partition].append(int(offset))
    return [
        f"order of key {key!r}: offsets {numbers}"
        for (key, _), numbers in by_key.items()
        if key is not None and numbers != sorted(numbers)
    ][:_SHOWN]


# The group ----------------------------------------------------------------------------------------


def check_lag(case: Case, bootstrap: str) -> list[str]:
    """All is processed, and the group says so. A driver that is killed may have had no time to tell."""
    if any(fault.is_a_kill for faults in case.faults for fault in faults):
        return []
    lags = {s.topic: read_lag(bootstrap, f"pipeline.{case.name}", s.topic) for s in case.sources}
    return [f"lag of {topic}: {lag}" for topic, lag in lags.items() if any(lag.values())]


# What all of them use -----------------------------------------------------------------------------


def _compare(
    found: Iterable[T], must: Iterable[T], may: Iterable[T], *, may_repeat: bool = False
) -> list[str]:
    there, wanted, allowed = Counter(found), Counter(must), Counter(may)
    lost = wanted - there
    more = there - wanted - allowed
    if may_repeat:
        more = Counter({each: n for each, n in more.items() if each not in wanted + allowed})
    unknown = sum(n for each, n in more.items() if each not in wanted)
    total = f"of {wanted.total()}: {lost.total()} lost, {more.total() - unknown} doubled, {unknown} wrong"
    if not lost and not more:
        return []
    shown = [f"lost {each}" for each in list(lost)[:_SHOWN]]
    shown += [f"too much {each}" for each in list(more)[:_SHOWN]]
    return [total, *shown]


def _key(sink: SinkPlan, row: Mapping[str, Any]) -> str:
    return _text({name: row.get(name) for name in sink.keys})


def _text(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def _loaded(value: bytes | None) -> dict[str, Any]:
    assert value is not None
    loaded: dict[str, Any] = json.loads(value)
    return loaded
