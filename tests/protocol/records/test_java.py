"""Java reads what we write. Needs Java and Kafka's jars, and is skipped where they cannot be had."""

import pytest

from klamm.protocol.records.batch import Codec
from klamm.protocol.records.builder import rewrite_codec
from protocol.records.record_vectors import record_batches, record_control
from protocol.records.samples import FOLDER, JAVA_PROGRAM, SAMPLES, describe
from support import kafka_jars

pytestmark = pytest.mark.oracle


def test_java_reads_our_batches_under_every_codec():
    ours = [sample.build(codec) for sample in SAMPLES for codec in Codec]

    answers = kafka_jars.run_source(
        JAVA_PROGRAM, "read", stdin="".join(f"{batch.hex()}\n" for batch in ours)
    )

    assert answers.splitlines() == [describe(batch) for batch in ours]


@pytest.mark.parametrize(
    ("codec", "level"),
    [(Codec.GZIP, 1), (Codec.GZIP, 9), (Codec.LZ4, 1), (Codec.LZ4, 17), (Codec.ZSTD, 22)],
)
def test_java_reads_our_batches_at_other_levels(codec, level):
    ours = [rewrite_codec(sample.build(), codec, level) for sample in SAMPLES]

    answers = kafka_jars.run_source(
        JAVA_PROGRAM, "read", stdin="".join(f"{batch.hex()}\n" for batch in ours)
    )

    assert answers.splitlines() == [describe(batch) for batch in ours]


def test_vectors_are_what_java_writes_today():
    """The codecs' own bytes depend on the versions of Java and its libraries, so they are left out."""
    assert _plain(record_batches()) == _plain((FOLDER / "batches.txt").read_text())
    assert record_control() == (FOLDER / "control.txt").read_text()


def _plain(text: str) -> str:
    names = [sample.name for sample in SAMPLES if sample.codec is Codec.NONE]
    return "\n\n".join(part for part in text.split("\n\n") if part.split("\n")[0] in names)
