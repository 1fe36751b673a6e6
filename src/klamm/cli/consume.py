"""`klamm consume`: print the records of topics, from and to where one likes; or, with -g, as a member of a group."""

from __future__ import annotations

import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Bootstrap,
    ClientSettings,
    Cluster,
    Properties,
    check_names,
    command_group,
    explain,
    partitions_of,
    run_typer,
)
from klamm.cli.group import consume as membership
from klamm.cli.offsets import BEGINNING, END, Range, Span, parse_range, resolve
from klamm.cli.output import (
    CommandError,
    Format,
    Json,
    UsageError,
    flush,
    format_or_default,
    json_line,
    notice,
    unescape,
    write,
)

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

app = command_group("Print the records of a topic.")
Printer: TypeAlias = "Callable[[Message], bytes]"

# One call into librdkafka brings up to this many records; printing is then flushed once.
RECORDS_PER_CALL = 1_000


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "consume", arguments)


HELP = """Print records, and wait for more until Ctrl-C.

\b
-o takes a format and an offset, in two -o if you want both:
  json, table         how to print [default: table on a terminal, else json]
  beginning           from the first record [default]; also: start
  end                 only what comes from now on
  42, -5, +5          that offset; the last five of each partition; five after the first
  @1700000000000      from that time on; also @2024-05-01T10:00 (UTC) and @-1h (s, m, h, d)
  A:B, :B             from A up to, but not including, B, then stop
\b
-g reads as a member of a group: its partitions, from where the group stopped, and commits what was printed. There
-o beginning [default] or end says where to begin with what the group has never read.
\b
-f prints bytes as they are, without a newline of its own:
  %t topic  %p partition  %o offset  %T timestamp in ms  %k key  %s value  %h headers
  %K and %S length of key and value, -1 for null  %% a percent sign  \\n \\t \\r \\0 \\x1f
"""


@app.command(help=HELP)
def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="Topics, by name.")],
    o: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--offset",
            "--output",
            metavar="OFFSET|json|table",
            help="Where from, and how to print.",
        ),
    ] = None,
    partitions: Annotated[
        list[str] | None, typer.Option("--partitions", "-p", metavar="N[,N...]", help="Only these.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Read as a member of this group.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=0, max=INT64_MAX, help="Stop after N.")
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit", "-e", help="Stop when all is read.")
    ] = False,
    format_text: Annotated[
        str | None, typer.Option("--format", "-f", help="As kcat: '%o %k %s\\n'.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", "-J", help="The same as -o json.")] = False,
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="Open and aborted transactions too.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
) -> None:
    check_names("topic", topics)
    check_names("group", [] if group is None else [group])
    output, offset = split_o([*(o or []), *(["json"] if as_json else [])])
    printer = choose_printer(format_text, output)
    wanted = parse_range(offset, now_ms=int(time.time() * 1000))
    begin = None if group is None else _group_begin(wanted, partitions)
    cluster = Cluster.at(bootstrap, properties)
    admin = cluster.admin()
    if group is not None and begin is not None:
        for topic in topics:
            partitions_of(admin, topic)
        settings = membership.settings(group, begin=begin, uncommitted=uncommitted)
        with _consumer(cluster, settings, may_wait=not exit_at_end) as consumer:
            batches = membership.member_batches(consumer, topics, stop_at_end=exit_at_end)
            commit = partial(membership.commit, consumer)
            print_batches(batches, printer, count=count, printed=commit)
        return
    places = [
        place
        for topic in dict.fromkeys(topics)
        for place in _chosen(partitions_of(admin, topic), partitions)
    ]
    spans = resolve(admin, places, wanted, committed=not uncommitted, stop_at_end=exit_at_end)
    may_wait = any(span.end is None for span in spans.values())
    with _consumer(cluster, _settings(uncommitted=uncommitted), may_wait=may_wait) as consumer:
        print_batches(read_batches(consumer, spans), printer, count=count)


@contextmanager
def _consumer(cluster: Cluster, settings: ClientSettings, *, may_wait: bool) -> Iterator[Consumer]:
    consumer = cluster.consumer(settings, wait_for_cluster if may_wait else give_up_on_cluster)
    try:
        yield consumer
    except KeyboardInterrupt:
        # The usual way to end a consumer, so not a failure.
        pass
    finally:
        consumer.close()


def _group_begin(wanted: Range, partitions: Sequence[str] | None) -> str:
    """What a member may choose: only where to begin, and only if the group has not read the partition before."""
    begins = {BEGINNING: "earliest", END: "latest"}
    if partitions is not None or wanted.end is not None or wanted.start not in begins:
        raise UsageError(
            "a member of a group reads what it is assigned, from where the group stopped",
            hint="-g without -p, and -o beginning or end; `klamm group reset-offsets` moves a group",
        )
    return begins[wanted.start]


def choose_printer(format_text: str | None, output: Format | None) -> Printer:
    if format_text is None:
        return json_record if format_or_default(output) is Format.JSON else table_line
    if output is not None:
        raise UsageError("-f is a format of its own", hint="leave out -o json or -o table")
    return compile_format(format_text)


def split_o(values: Sequence[str]) -> tuple[Format | None, str]:
    """-o is the offset in kcat and rpk and the output format everywhere in klamm; no word can be both."""
    formats = [Format(value) for value in values if value in set(Format)]
    offsets = [value for value in values if value not in set(Format)]
    if len(set(formats)) > 1 or len(offsets) > 1:
        raise UsageError("-o is given twice for the same thing", why=", ".join(values))
    return (formats[0] if formats else None), (offsets[0] if offsets else "beginning")


def _chosen(places: Sequence[TopicPartition], texts: Sequence[str] | None) -> list[TopicPartition]:
    if texts is None:
        return list(places)
    try:
        numbers = {int(number) for text in texts for number in text.split(",")}
    except ValueError as error:
        raise UsageError(
            f"-p {' '.join(texts)!r} is not a list of partitions", hint="-p 0,2"
        ) from error
    topic = places[0].topic
    if missing := numbers - {place.partition for place in places}:
        listed = ", ".join(map(str, sorted(missing)))
        raise CommandError(
            f"topic {topic} has no partition {listed}", hint=f"klamm topic describe {topic}"
        )
    return [place for place in places if place.partition in numbers]


def _settings(*, uncommitted: bool) -> dict[str, str | int | float | bool]:
    return {
        # librdkafka wants a name even of a consumer that never joins; with assign() it is not used.
        "group.id": "klamm-cli",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        # Bounds the wait for the sign that a partition has nothing more.
        "fetch.wait.max.ms": 100,
        "isolation.level": "read_uncommitted" if uncommitted else "read_committed",
    }


def print_batches(
    batches: Iterable[list[Message]],
    printer: Printer,
    *,
    count: int | None = None,
    printed: Callable[[list[Message]], None] | None = None,
) -> None:
    """Print until `count` records are out, there are no more, or someone stops us. `printed` hears what is out."""
    left = count
    if left == 0:
        return
    if printer is table_line:
        write(TABLE_HEADER)
    for batch in batches:
        wanted = batch[:left]
        write(b"".join(map(printer, wanted)))
        flush()
        if printed is not None:
            printed(wanted)
        if left is not None:
            left -= len(wanted)
            if not left:
                return


def read_batches(consumer: Consumer, spans: dict[TopicPartition, Span]) -> Iterator[list[Message]]:
    from confluent_kafka import TopicPartition as ClientPartition

    unfinished = {place: span for place, span in spans.items() if not span.is_empty}
    consumer.assign([ClientPartition(*place, span.start) for place, span in unfinished.items()])
    while unfinished:
        # One record as soon as there is one, and with it those that have come meanwhile.
        first = consumer.poll(0.2)
        if first is None:
            continue
        batch = []
        for message in [first, *consumer.consume(RECORDS_PER_CALL, timeout=0)]:
            place = TopicPartition(message.topic() or "", message.partition() or 0)
            span = unfinished.get(place)
            if message.error() is not None:
                _raise_unless_end_of_partition(message)
            elif span is not None and not _is_past(span, message.offset()):
                batch.append(message)
            if span is not None and _is_finished(span, message):
                del unfinished[place]
                consumer.pause([ClientPartition(*place)])
        if batch:
            yield batch


def _is_past(span: Span, offset: int | None) -> bool:
    return span.end is not None and (offset or 0) >= span.end


def _is_finished(span: Span, message: Message) -> bool:
    # An error here is the end of the partition, which tells the offset after the last record. It can be the only sign
    # that a span is read, where the span ends in offsets that are never delivered (markers, compacted keys).
    following = (message.offset() or 0) + (0 if message.error() is not None else 1)
    return _is_past(span, following)


def _raise_unless_end_of_partition(message: Message) -> None:
    error = message.error()
    if error is not None and error.name() != "_PARTITION_EOF":
        raise explain("reading stopped", error)


def wait_for_cluster(error: KafkaError) -> None:
    """Who follows a topic wants to see what comes after a restart, too: the client connects again by itself."""
    if error.name() == "_ALL_BROKERS_DOWN":
        notice("klamm: the cluster is gone; waiting for it to come back")


def give_up_on_cluster(error: KafkaError) -> None:
    """Who reads up to an end, often a script, would wait for nobody knows how long."""
    if error.name() == "_ALL_BROKERS_DOWN":
        raise explain("reading stopped", error)


def json_record(message: Message) -> bytes:
    return json_line(
        {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": _timestamp(message),
            "key": json_text(message.key()),
            "value": json_text(message.value()),
            "headers": [
                {"key": key, "value": json_text(value)} for key, value in _headers(message)
            ],
        }
    )


def json_text(data: bytes | None) -> Json:
    """Text where it is text; otherwise an object that `produce --json` turns back into the same bytes."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


TABLE_HEADER = f"{'partition':<20} {'offset':>10}  {'time':<23}  {'key':<16}  value\n".encode()


def table_line(message: Message) -> bytes:
    """One line per record with fixed columns: a stream has no end at which widths could be known."""
    timestamp = _timestamp(message)
    moment = "-" if timestamp is None else _moment(timestamp)
    place = f"{message.topic()}-{message.partition()}"
    columns = f"{place:<20} {message.offset():>10}  {moment:<23}  {_printable(message.key()):<16}  "
    return f"{columns}{_printable(message.value())}\n".encode()


def _moment(timestamp: int) -> str:
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError):
        # Beyond the year 9999: whoever wrote it had other units, and sees them here.
        return str(timestamp)
    return moment.isoformat(" ", "milliseconds").removesuffix("+00:00")


def _printable(data: bytes | None) -> str:
    if data is None:
        return "-"
    text = data.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _timestamp(message: Message) -> int | None:
    kind, timestamp = message.timestamp()
    return timestamp if kind else None


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [(key, value.encode() if isinstance(value, str) else value) for key, value in pairs]


def _header_list(message: Message) -> bytes:
    return b",".join(
        key.encode() + b"=" + (b"NULL" if value is None else value)
        for key, value in _headers(message)
    )


def _length(data: bytes | None) -> bytes:
    return b"-1" if data is None else str(len(data)).encode()


FIELDS: dict[str, Printer] = {
    "%t": lambda message: (message.topic() or "").encode(),
    "%p": lambda message: str(message.partition()).encode(),
    "%o": lambda message: str(message.offset()).encode(),
    "%T": lambda message: str(message.timestamp()[1]).encode(),
    "%k": lambda message: message.key() or b"",
    "%s": lambda message: message.value() or b"",
    "%h": _header_list,
    "%K": lambda message: _length(message.key()),
    "%S": lambda message: _length(message.value()),
    "%%": lambda message: b"%",
}


def compile_format(text: str) -> Printer:
    parts: list[Printer] = []
    for piece in re.split("(%.?)", text):
        if piece in FIELDS:
            parts.append(FIELDS[piece])
        elif piece.startswith("%"):
            raise UsageError(f"{piece!r} is not a field of -f", hint=" ".join(FIELDS))
        else:
            parts.append(_literal(unescape(piece)))
    return lambda message: b"".join([part(message) for part in parts])


def _literal(data: bytes) -> Printer:
    return lambda message: data
