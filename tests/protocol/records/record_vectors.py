"""Records the vectors anew: `python tests/protocol/records/record_vectors.py`.

Asks Kafka's own Java classes (tests/java/RecordBatches.java) for the samples' bytes. Needed only when the
samples change or Kafka has a new version.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))  # as pytest does it by the setting `pythonpath`

from protocol.records.samples import FOLDER, JAVA_PROGRAM, SAMPLES, dump_vectors  # noqa: E402
from support import kafka_jars  # noqa: E402


def record_batches() -> str:
    asked = "".join(f"{sample.describe()}\n" for sample in SAMPLES)
    answers = kafka_jars.run_source(JAVA_PROGRAM, "write", stdin=asked).splitlines()
    names = [sample.name for sample in SAMPLES]
    return dump_vectors("Record batches.", dict(zip(names, answers, strict=True)))


def record_control() -> str:
    answers = kafka_jars.run_source(JAVA_PROGRAM, "control").splitlines()
    return dump_vectors("Control batches.", dict(line.split(" ") for line in answers))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "batches.txt").write_text(record_batches())
    (FOLDER / "control.txt").write_text(record_control())
