"""One data directory and one server.properties for two brokers that take turns: klamm and Apache Kafka."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.brokers import Broker, start_kafka, start_klamm, write_kafka_config
from support.patience import eventually
from twoway import picture
from twoway.picture import Picture

PATIENCE_SECONDS = 60
SETTINGS: dict[str, object] = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 2,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": False,
    # Small enough that every stage takes snapshots of the metadata and drops old ones.
    "metadata.log.max.record.bytes.between.snapshots": 2_000,
    "metadata.max.retention.bytes": 5_000,
    # What is done by the clock is done at once.
    "log.cleaner.backoff.ms": 100,
    "log.initial.task.delay.ms": 300,
    "log.retention.check.interval.ms": 300,
    "log.flush.start.offset.checkpoint.interval.ms": 300,
    "log.flush.scheduler.interval.ms": 300,
}
# What Kafka also says of directories that are its own: when it starts, when a topic gets a partition, when it stops.
HARMLESS = re.compile(
    "Performing controller activation"
    "|Expected partition .* to exist, but it was missing. Creating"
    "|Attempting to close NetworkClient that has already been closed"
)


@dataclass(slots=True)
class Stage:
    """What one broker showed when it took the directory over and when it gave it away, and what it logged."""

    broker: str
    opening: Picture
    closing: Picture
    output: str

    @property
    def complaints(self) -> list[str]:
        lines = self.output.splitlines()
        found = [line for line in lines if re.search(r"\b(WARN|WARNING|ERROR|FATAL)\b", line)]
        return [line for line in found if not HARMLESS.search(line)]


class Home:
    def __init__(self, path: Path, *directories: str) -> None:
        self.path = path
        self.directories = [path / name for name in directories]
        dirs = ",".join(map(str, self.directories))
        self.config = write_kafka_config(path, {**SETTINGS, "log.dirs": dirs})
        self.stages: list[Stage] = []

    def klamm(self, live: Callable[[str], None], *, is_killed: bool = False) -> None:
        """klamm serves the directory for the time of one call, which gets its address."""
        self._stage(
            "klamm", lambda: start_klamm(home=self.path, config=self.config), live, is_killed
        )

    def kafka(self, live: Callable[[str], None], *, is_killed: bool = False) -> None:
        self._stage("kafka", lambda: start_kafka(home=self.path, with_log=True), live, is_killed)

    def _stage(
        self,
        name: str,
        start: Callable[[], Broker],
        live: Callable[[str], None],
        is_killed: bool,
    ) -> None:
        output = self.path / "stderr"
        before = len(output.read_text(errors="replace")) if output.exists() else 0
        with _running(start(), is_killed=is_killed) as broker:
            opening = _patient_picture(broker.address)
            live(broker.address)
            closing = _settled_picture(broker.address)
        text = output.read_text(errors="replace")[before:]
        self.stages.append(Stage(name, opening, closing, text))

    def save(self, name: str) -> Path:
        """A copy of the directories as they are now, for later questions."""
        for directory in self.directories:
            shutil.copytree(directory, self.path / name / directory.name)
        return self.path / name

    def folder(self, partition: str) -> Path:
        (found,) = (each / partition for each in self.directories if (each / partition).exists())
        return found

    def wait_until_compacted(self, topic: str) -> None:
        """Until everything but the active segment is clean."""
        folder = self.folder(f"{topic}-0")

        def look() -> None:
            active = max(int(path.stem) for path in folder.glob("*.log"))
            checkpoint = folder.parent / "cleaner-offset-checkpoint"
            assert checkpoint.exists()
            assert f"{topic} 0 {active}" in checkpoint.read_text().splitlines()

        eventually(look, seconds=PATIENCE_SECONDS)

    def wait_until_log_start_is_kept(self, topic: str, offset: int) -> None:
        """Until no segment below the offset is left, and a file says that the log begins there."""
        folder = self.folder(f"{topic}-0")

        def look() -> None:
            assert not (folder / f"{0:020d}.log").exists()
            checkpoint = folder.parent / "log-start-offset-checkpoint"
            assert checkpoint.exists()
            assert f"{topic} 0 {offset}" in checkpoint.read_text().splitlines()

        eventually(look, seconds=PATIENCE_SECONDS)


def _patient_picture(address: str) -> Picture:
    """A broker listens before it leads all of its partitions, and tells of a topic before it has it."""
    return eventually(lambda: picture.take(address), seconds=PATIENCE_SECONDS)


def _settled_picture(address: str) -> Picture:
    """Kafka writes the end of a transaction after its producer was told that it ended."""
    last = _patient_picture(address)

    def look_again() -> Picture:
        nonlocal last
        before, last = last, _patient_picture(address)
        assert last == before
        return last

    return eventually(look_again, seconds=PATIENCE_SECONDS)


@contextmanager
def _running(broker: Broker, *, is_killed: bool) -> Iterator[Broker]:
    try:
        yield broker
    except BaseException:
        broker.kill()
        raise
    if is_killed:
        broker.kill()
    else:
        code = broker.stop(keep=True)
        # Java ends by the signal, after its shutdown hooks.
        assert code in (0, 143), f"ended with {code}:\n{broker.output()}"
