"""klamm produce and klamm consume, through a broker and back."""

from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Message

from cli.commands import Klamm
from klamm.cli.consume import table_line

# With acks=all librdkafka spends half a second on a producer id; only the first test needs one.
QUICK = ("-a", "1")


def test_lines_come_back_in_order(ask: Klamm, topic: str) -> None:
    sent = ask("produce", topic, "-p", "1", stdin=b"one\ntwo\n\nfour")

    expected = {"topic": topic, "partition": 1, "records": 4, "first_offset": 0, "last_offset": 3}
    assert (sent.code, sent.rows) == (0, [expected])
    assert ask("consume", topic, "-e", "-f", "%o=%s\\n").out == b"0=one\n1=two\n2=\n3=four\n"


def test_records_are_json_objects_in_a_pipe(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-k", "k", "-H", "a=1", "-H", "b=x=y", "-p", "0", stdin=b"v\n")

    row = ask("consume", topic, "-e").rows[0]

    assert row.pop("timestamp") > 1_600_000_000_000
    assert row == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "key": "k",
        "value": "v",
        "headers": [{"key": "a", "value": "1"}, {"key": "b", "value": "x=y"}],
    }


def test_separator_splits_key_from_value_once(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-K", "\\t", "-p", "0", stdin=b"a\t1\nb\t2\t3\nno separator\n")

    read = ask("consume", topic, "-e", "-f", "%k|%s|%K\\n").text

    assert read == "a|1|1\nb|2\t3|1\n|no separator|-1\n"


def test_key_decides_the_partition_as_in_java(ask: Klamm, topic: str) -> None:
    # Java's murmur2: of two partitions, "a" and "c" go to 0, "d" goes to 1.
    ask("produce", topic, *QUICK, "-K", ":", stdin=b"a:1\nc:2\nd:3\n")

    read = ask("consume", topic, "-e", "-f", "%p%k\\n").text

    assert sorted(read.split()) == ["0a", "0c", "1d"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_brings_the_records_back(ask: Klamm, topic: str, codec: str) -> None:
    lines = [f"line {number % 7}".encode() for number in range(300)]
    sent = ask("produce", topic, *QUICK, "-p", "0", "-z", codec, stdin=b"\n".join(lines))

    assert sent.rows[0]["records"] == 300
    assert ask("consume", topic, "-e", "-f", "%s\\n").out.splitlines() == lines


def test_without_acks_offsets_are_not_known(ask: Klamm, topic: str) -> None:
    sent = ask("produce", topic, "-a", "0", "-p", "0", stdin=b"x\n")

    assert sent.rows == [{"topic": topic, "partition": 0, "records": 1}]


def test_files_are_read_by_line_or_whole(ask: Klamm, topic: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"1\n2\n")
    second.write_bytes(b"3\n4")

    ask("produce", topic, *QUICK, str(first), str(second), "-p", "0")
    ask("produce", topic, *QUICK, str(first), str(second), "-p", "0", "--whole")

    assert ask("consume", topic, "-e", "-f", "<%s>").out == b"<1><2><3><4><1\n2\n><3\n4>"


def test_empty_value_can_be_a_tombstone(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-k", "gone", "-Z", "-p", "0", stdin=b"\n")

    assert ask("consume", topic, "-e", "-f", "%k %S").text == "gone -1"


def test_what_consume_prints_produce_takes(ask: Klamm, topic: str, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\x00\xfe")
    ask("produce", topic, *QUICK, str(binary), "-k", "k", "-H", "h=1", "-w", "-p", "0")
    ask("produce", topic, *QUICK, "-Z", "-p", "0", stdin=b"\n")
    before = ask("consume", topic, "-p", "0", "-e")

    ask("produce", topic, *QUICK, "--json", "-p", "1", stdin=before.out)

    after = ask("consume", topic, "-p", "1", "-e").rows
    assert after == [{**row, "partition": 1} for row in before.rows]


def test_json_values_that_are_not_text_are_sent_as_json(ask: Klamm, topic: str) -> None:
    lines = b'{"value": {"a": [1, 2]}}\n{"value": 7, "headers": {"h": "x"}, "timestamp": 1000}\n'
    ask("produce", topic, *QUICK, "--json", "-p", "0", stdin=lines)

    read = ask("consume", topic, "-e", "-f", "%s %h\\n").text

    assert read == '{"a":[1,2]} \n7 h=x\n'
    assert ask("consume", topic, "-e").rows[1]["timestamp"] == 1000


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1]",
        b'{"headers": [1]}',
        b'{"timestamp": "x"}',
        b'{"value": {"base64": "%"}}',
    ],
)
def test_bad_json_is_wrong_usage_and_keeps_what_went_before(
    ask: Klamm, topic: str, line: bytes
) -> None:
    sent = ask("produce", topic, *QUICK, "--json", "-p", "0", stdin=b'{"value": "good"}\n' + line)

    assert sent.code == 2
    assert sent.rows[0]["records"] == 1


def test_partition_that_is_not_there_is_an_error(ask: Klamm, topic: str) -> None:
    sent = ask("produce", topic, *QUICK, "-p", "9", stdin=b"x\n")
    read = ask("consume", topic, "-p", "9", "-e")

    assert (sent.code, read.code) == (1, 1)
    assert "1 of 1 records did not reach" in sent.err
    assert "has no partition 9" in read.err


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ("beginning", "01234"),
        ("2", "234"),
        ("-2", "34"),
        ("+1", "1234"),
        ("1:3", "12"),
        (":2", "01"),
        ("-3:end", "234"),
        ("@1000", "1234"),
        ("@1000:@3000", "12"),
        ("end", ""),
    ],
)
def test_offset_says_where_to_read(ask: Klamm, topic: str, offset: str, expected: str) -> None:
    # Times are in ms since 1970; ten digits and less would be seconds, so these stand for 1000 s and so on.
    rows = [f'{{"value": "{n}", "timestamp": {n * 1_000_000}}}' for n in range(5)]
    ask(
        "produce",
        topic,
        "--json",
        "-p",
        "0",
        stdin="\n".join(rows).replace(": 0}", ": 1}").encode(),
    )

    assert ask("consume", topic, "-p", "0", "-e", "-o", offset, "-f", "%s").text == expected


def test_range_ends_by_itself(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-p", "0", stdin=b"0\n1\n2\n")

    assert ask("consume", topic, "-p", "0", "-o", "0:2", "-f", "%s").text == "01"


def test_count_stops_the_reading(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-p", "0", stdin=b"0\n1\n2\n")

    assert ask("consume", topic, "-n", "2", "-f", "%s").text == "01"
    assert ask("consume", topic, "-n", "0").out == b""


def test_start_outside_the_log_moves_to_its_edge_and_says_so(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-p", "0", stdin=b"0\n")

    read = ask("consume", topic, "-p", "0", "-e", "-o", "50")

    assert (read.code, read.out) == (0, b"")
    assert f"{topic}-0 holds offsets 0 to 1: reading from 1 instead of 50" in read.err


def test_output_and_offset_share_the_letter_o(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-p", "0", stdin=b"old\nnew [red]\n")

    table = ask("consume", topic, "-e", "-o", "table", "-o", "-1").text.splitlines()
    twice = ask("consume", topic, "-o", "1", "-o", "2")

    assert table[0].split() == ["partition", "offset", "time", "key", "value"]
    assert table[1].startswith(f"{topic}-0")
    assert table[1].endswith("new [red]")
    assert twice.code == 2


@pytest.mark.parametrize("text", ["%q", "100%", "%"])
def test_unknown_field_of_a_format_is_wrong_usage(klamm: Klamm, text: str) -> None:
    refused = klamm("consume", "any", "-f", text)

    assert refused.code == 2
    assert "%t %p %o" in refused.err


def test_format_knows_escapes_and_lengths(ask: Klamm, topic: str) -> None:
    ask("produce", topic, *QUICK, "-k", "key", "-H", "h=1", "-p", "0", stdin=b"value\n")

    read = ask("consume", topic, "-e", "-f", "%t\\t%p\\x7c%o %K:%k %S:%s %h 100%%\\n").text

    assert read == f"{topic}\t0|0 3:key 5:value h=1 100%\n"


def test_unknown_topic_cannot_be_read(ask: Klamm, new_name: str) -> None:
    read = ask("consume", new_name, "-e")

    assert (read.code, read.out) == (1, b"")
    assert "UNKNOWN_TOPIC_OR_PART" in read.err


def test_record_that_is_too_large_does_not_stop_the_others(ask: Klamm, topic: str) -> None:
    lines = b"before\n" + b"x" * 2_000_000 + b"\nafter\n"

    sent = ask("produce", topic, *QUICK, "-p", "0", stdin=lines)

    expected = {"topic": topic, "partition": 0, "records": 2, "first_offset": 0, "last_offset": 1}
    assert (sent.code, sent.rows) == (1, [expected])
    assert "1 of 3 records did not reach topic" in sent.err
    assert "-X message.max.bytes" in sent.err
    assert ask("consume", topic, "-e", "-f", "%s\\n").out == b"before\nafter\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[1,2]", "it is JSON, but not an object"),
        ("7", "it is JSON, but not an object"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "recursion"),
        ('{"timestamp": 99999999999999999999}', "the timestamp is not a number of milliseconds"),
        ('{"timestamp": -5}', "the timestamp is not a number of milliseconds"),
        ('{"timestamp": 1e999}', "the timestamp is not a number of milliseconds"),
        ('{"timestamp": "soon"}', "the timestamp is not a number of milliseconds"),
        ('{"headers": 7}', "headers are"),
        ('{"headers": ["h"]}', "headers are"),
        ('{"headers": [{"value": 1}]}', "headers are"),
        ('{"value": {"base64": "?"}}', "base64"),
    ],
)
def test_line_that_is_no_record_in_json_says_why(ask: Klamm, line: str, why: str) -> None:
    answer = ask("produce", "any", *QUICK, "--json", stdin=line.encode())

    assert (answer.code, answer.out) == (2, b"")
    assert f"is not a record in JSON: {why}".lower() in answer.err.lower() or why in answer.err


def test_time_that_no_calendar_has_is_shown_as_it_is() -> None:
    class Record:
        def topic(self) -> str:
            return "t"

        def partition(self) -> int:
            return 0

        def offset(self) -> int:
            return 7

        def timestamp(self) -> tuple[int, int]:
            return 1, 2**62

        def key(self) -> None:
            return None

        value = key

    line = table_line(cast("Message", Record()))

    assert line.split()[:3] == [b"t-0", b"7", str(2**62).encode()]


@pytest.mark.parametrize(
    "arguments", [("consume", ""), ("consume", "t", "-g", ""), ("produce", "")]
)
def test_empty_name_is_wrong_usage(ask: Klamm, arguments: tuple[str, ...]) -> None:
    answer = ask(*arguments)

    assert (answer.code, answer.out) == (2, b"")
    assert "cannot be empty" in answer.err
