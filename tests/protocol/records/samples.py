"""Batches that both sides know: as arguments of our builder, and as the text that RecordBatches.java reads and writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from klamm.protocol.records.batch import BytesLike, Codec, read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records

FOLDER = Path(__file__).parent / "vectors"
JAVA_PROGRAM = Path(__file__).parents[2] / "java" / "RecordBatches.java"
LINE = 100
T = 1_700_000_000_000


@dataclass(frozen=True)
class Sample:
    """records carry the offsets and times that a reader of the batch must find."""

    name: str
    records: list[Record]
    base_offset: int = 0
    leader_epoch: int = -1
    codec: Codec = Codec.NONE
    producer: tuple[int, int, int] = field(default=(-1, -1, -1))
    transactional: bool = False
    append_time: int | None = None

    def build(self, codec: Codec | None = None) -> bytearray:
        producer_id, producer_epoch, base_sequence = self.producer
        return build_batch(
            self.records,
            base_offset=self.base_offset,
            leader_epoch=self.leader_epoch,
            codec=self.codec if codec is None else codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=self.transactional,
            append_time=self.append_time,
        )

    def describe(self) -> str:
        """As RecordBatches.java describes it."""
        flags = "t" if self.transactional else "-"
        time = -1 if self.append_time is None else self.append_time
        place = f"{self.codec.name.lower()} {self.base_offset} {self.leader_epoch}"
        producer = "{} {} {}".format(*self.producer)
        return f"{place} {producer} {flags} {time} {_describe_records(self.records)}"


def describe(batch: BytesLike) -> str:
    """The same words, from our reading of the bytes."""
    header = read_header(batch)
    flags = ("t" if header.is_transactional else "") + ("c" if header.is_control else "")
    time = header.max_timestamp if header.is_log_append_time else -1
    place = f"{header.codec.name.lower()} {header.base_offset} {header.leader_epoch}"
    producer = f"{header.producer_id} {header.producer_epoch} {header.base_sequence}"
    return f"{place} {producer} {flags or '-'} {time} {_describe_records(read_records(batch))}"


def _describe_records(records: Iterable[Record]) -> str:
    return " ".join(
        ",".join(
            [
                f"{record.offset},{record.timestamp},{_hex(record.key)},{_hex(record.value)}",
                *(f"{_hex(name.encode())}={_hex(value)}" for name, value in record.headers),
            ]
        )
        for record in records
    )


def _hex(data: bytes | None) -> str:
    return "~" if data is None else data.hex()


def a_few(base_offset: int = 0) -> list[Record]:
    return [
        Record(base_offset, T, b"key", b"value"),
        Record(base_offset + 1, T + 5, None, b"no key"),
        Record(
            base_offset + 2, T + 3, b"no value", None, [("h1", b"x"), ("h2", None), ("grün", b"")]
        ),
        Record(base_offset + 3, T - 100_000, b"", b"before the first"),
    ]


def wide() -> list[Record]:
    """Lengths, counts and deltas that take two bytes and three."""
    return [
        Record(0, T, b"k" * 300, b"v" * 9000, [("name" * 20, b"w" * 20)] * 70),
        Record(1, T + 86_400_000),
    ]


def many() -> list[Record]:
    """More than 63, so that deltas take two bytes."""
    return [Record(i, T + 7 * i, b"key %d" % (i % 10), b"some value %d" % i) for i in range(200)]


def large() -> list[Record]:
    """More than a block of snappy (32 KB) and of LZ4 (64 KB), and short when compressed."""
    return [Record(i, T, b"%d" % i, b"abcdefgh" * 6000) for i in range(3)]


SAMPLES = [
    Sample("one", [Record(0, T, b"key", b"value")]),
    Sample("without_timestamp", [Record(0, -1, None, b"value")]),
    Sample("a_few", a_few()),
    Sample("wide", wide()),
    Sample("many", many()),
    Sample("placed", a_few(1 << 42), base_offset=1 << 42, leader_epoch=7),
    Sample("idempotent", a_few(), producer=(4001, 3, 17)),
    Sample("transactional", a_few(), producer=(4001, 3, 17), transactional=True),
    Sample("append_time", [Record(i, T, b"k", b"v") for i in range(3)], append_time=T),
    *(Sample(f"many_{c.name.lower()}", many(), codec=c) for c in Codec if c),
    *(Sample(f"large_{c.name.lower()}", large(), codec=c) for c in Codec if c),
    *(Sample(f"wide_{c.name.lower()}", wide(), codec=c) for c in Codec if c),
]


def read_vectors(name: str) -> dict[str, bytes]:
    """A file of vectors: a name at the start of a line, then its bytes as indented lines of hex."""
    vectors: dict[str, str] = {}
    current = ""
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if line.startswith(" "):
            vectors[current] += line.strip()
        elif line and not line.startswith("#"):
            current = line
            vectors[current] = ""
    return {name: bytes.fromhex(text) for name, text in vectors.items()}


def dump_vectors(title: str, vectors: dict[str, str]) -> str:
    lines = [
        f"# {title}",
        "# Recorded by tests/protocol/records/record_vectors.py from Kafka's own classes.",
    ]
    for name, text in vectors.items():
        lines += ["", name]
        lines += ["    " + text[at : at + LINE - 4] for at in range(0, len(text), LINE - 4)]
    return "\n".join(lines) + "\n"
