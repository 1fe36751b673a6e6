"""`klamm produce`: lines of stdin or files, or JSON objects, become records."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, BinaryIO, TypeAlias

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT32_MAX,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
    command_group,
    explain,
    key_values,
    run_typer,
)
from klamm.cli.output import Json, Row, UsageError, show, unescape

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

app = command_group("Send records from stdin or files.")
Headers: TypeAlias = list[tuple[str, str | bytes | None]]

# How long a record may try before it counts as lost; librdkafka's five minutes are too long for a person.
DELIVERY_TIMEOUT_MS = 30_000
# With acks=0 the broker never says where it put a record.
UNKNOWN_OFFSET = -1


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    ALL = "all"
    LEADER = "1"
    NONE = "0"


@dataclass(frozen=True, slots=True)
class NewRecord:
    key: bytes | None
    value: bytes | None
    headers: Headers = field(default_factory=list)
    partition: int = -1
    timestamp_ms: int = 0


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "produce", arguments)


@app.command()
def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where to.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Read these and not stdin; - is stdin."),
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="A key for every record.")] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--key-separator",
            "-K",
            metavar="TEXT",
            help="Lines are KEY, TEXT, VALUE; \\t is a tab.",
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="KEY=VALUE", help="For every record; repeatable."),
    ] = None,
    partition: Annotated[
        int,
        typer.Option(
            "--partition", "-p", min=-1, max=INT32_MAX, help="-1: by the key's hash, or spread."
        ),
    ] = -1,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.NONE,
    acks: Annotated[Acks, typer.Option("--acks", "-a", help="Who must store it first.")] = Acks.ALL,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", "-J", help="Lines are JSON objects, as `consume -o json` prints them."
        ),
    ] = False,
    whole: Annotated[bool, typer.Option("--whole", "-w", help="A file is one record.")] = False,
    null: Annotated[
        bool, typer.Option("--null", "-Z", help="Send an empty value as null.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Send records, and print which offsets they got.

    With --json a line has key, value, headers and timestamp, all optional, and whatever else is there is ignored. A
    value that is not text is sent as JSON, {"base64": "..."} as bytes, null as a tombstone.
    """
    if as_json and (separator is not None or whole):
        raise UsageError("--json brings its own keys and borders", hint="leave out -K and -w")
    if separator == "":
        raise UsageError("--key-separator is empty", hint="--key-separator : or \\t")
    check_names("topic", [topic])
    headers: Headers = list(key_values(header, option="--header").items())
    template = NewRecord(key.encode() if key is not None else None, None, headers, partition)
    chunks = read_files(files or ["-"]) if whole else read_lines(files or ["-"])
    if as_json:
        records = (parse_json(chunk, template) for chunk in chunks)
    else:
        records = (parse_line(chunk, template, separator, null=null) for chunk in chunks)
    producer = Cluster.at(bootstrap, properties).producer(_settings(acks, compression))
    deliveries = Deliveries(topic)
    try:
        send(producer, topic, records, deliveries)
    finally:
        show(deliveries.rows(), output)
    deliveries.check()


def _settings(acks: Acks, compression: Compression) -> dict[str, str | int | float | bool]:
    return {
        "acks": acks.value,
        # Where it can be: a retry then neither doubles nor reorders records. (librdkafka takes half a second to get
        # its producer id; with --acks 1 it does not ask for one.)
        "enable.idempotence": acks is Acks.ALL,
        "compression.type": compression.value,
        # As Java's producer: a key lands in the same partition, whoever sends it.
        "partitioner": "murmur2_random",
        "message.timeout.ms": DELIVERY_TIMEOUT_MS,
        "linger.ms": 5,
    }


def read_lines(names: Iterable[str]) -> Iterator[bytes]:
    for name in names:
        with _opened(name) as file:
            yield from (line.removesuffix(b"\n") for line in file)


def read_files(names: Iterable[str]) -> Iterator[bytes]:
    for name in names:
        with _opened(name) as file:
            yield file.read()


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(name, "rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{name} cannot be read", why=error.strerror or "") from error


def parse_line(line: bytes, template: NewRecord, separator: str | None, *, null: bool) -> NewRecord:
    key, value = template.key, line
    if separator is not None:
        before, found, after = line.partition(unescape(separator))
        # As kcat: a line without the separator is all value.
        key, value = (before, after) if found else (template.key, line)
    return replace(template, key=key, value=None if null and not value else value)


def parse_json(line: bytes, template: NewRecord) -> NewRecord:
    try:
        parsed = json.loads(line)
        if not isinstance(parsed, Mapping):
            raise ValueError("it is JSON, but not an object")
        return NewRecord(
            key=json_bytes(parsed["key"]) if "key" in parsed else template.key,
            value=json_bytes(parsed.get("value")),
            headers=[*template.headers, *_json_headers(parsed.get("headers"))],
            partition=template.partition,
            timestamp_ms=_json_timestamp(parsed.get("timestamp")),
        )
    except (ValueError, RecursionError) as error:
        shown = line[:60].decode(errors="replace")
        hint = '{"key": "k", "value": "v", "headers": {"h": "x"}, "timestamp": 1700000000000}'
        raise UsageError(f"{shown!r} is not a record in JSON", why=str(error), hint=hint) from error


def _json_headers(headers: Json) -> Headers:
    """An object, or a list as `consume` prints it, where a name may come twice."""
    if headers is None:
        return []
    if isinstance(headers, Mapping):
        return [(name, json_bytes(value)) for name, value in headers.items()]
    found: Headers = []
    for header in headers if isinstance(headers, list) else [headers]:
        if not isinstance(header, Mapping) or not isinstance(name := header.get("key"), str):
            raise ValueError('headers are {"NAME": VALUE}, or [{"key": "NAME", "value": VALUE}]')
        found.append((name, json_bytes(header.get("value"))))
    return found


def _json_timestamp(timestamp: Json) -> int:
    if timestamp is None:
        return 0
    if type(timestamp) is not int or not 0 <= timestamp <= INT64_MAX:
        raise ValueError("the timestamp is not a number of milliseconds since 1970")
    return timestamp


def json_bytes(value: Json) -> bytes | None:
    """The inverse of what `consume` prints."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        return b64decode(str(value["base64"]), validate=True)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Deliveries:
    """What became of the records: a count and a range of offsets per partition, and the first failure."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._offsets: dict[int, tuple[int, int, int]] = {}
        self._stored = 0
        self._failed = 0
        self._failure: KafkaError | None = None

    def report(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refuse(error)
            return
        self._stored += 1
        offset, partition = message.offset(), message.partition() or 0
        if offset is None:
            offset = UNKNOWN_OFFSET
        first, last, count = self._offsets.get(partition, (offset, offset, 0))
        self._offsets[partition] = (min(first, offset), max(last, offset), count + 1)

    def refuse(self, error: KafkaError) -> None:
        self._failed += 1
        self._failure = self._failure or error

    def rows(self) -> Iterator[Row]:
        for partition, (first, last, count) in sorted(self._offsets.items()):
            known: Row = (
                {"first_offset": first, "last_offset": last} if first != UNKNOWN_OFFSET else {}
            )
            yield {"topic": self._topic, "partition": partition, "records": count, **known}

    def check(self) -> None:
        if self._failure is not None:
            raise explain(
                f"{self._failed} of {self._failed + self._stored} records did not reach topic {self._topic}",
                self._failure,
            )


def send(
    producer: Producer, topic: str, records: Iterable[NewRecord], deliveries: Deliveries
) -> None:
    """Everything has an answer when this returns, also if reading the input failed half way."""
    try:
        for record in records:
            _enqueue(producer, topic, record, deliveries)
            producer.poll(0)
    finally:
        producer.flush(2 * DELIVERY_TIMEOUT_MS / 1000)


def _enqueue(producer: Producer, topic: str, record: NewRecord, deliveries: Deliveries) -> None:
    from confluent_kafka import KafkaException

    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=record.partition,
                timestamp=record.timestamp_ms,
                headers=record.headers,
                on_delivery=deliveries.report,
            )
            return
        except BufferError:
            # The queue is full: the disk or stdin is faster than the broker.
            producer.poll(0.1)
        except KafkaException as error:
            # The client itself refuses this one, a record that is too large for example; the others may still go.
            deliveries.refuse(error.args[0])
            return
