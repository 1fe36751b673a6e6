"""Clients that live on while one broker ends and the other begins to serve the same directory at the same address.

A scene is one such client, or a few. It plays its first half at one broker and its second half at the next. All scenes
of a handover share the brokers; what goes wrong in one is kept for its own test, and the others go on.
"""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, TypeVar

from confluent_kafka.admin import AdminClient, NewTopic

from klamm.protocol.records.reader import Record
from support import tools
from support.brokers import CLUSTER_ID, Broker, start_kafka, start_klamm, write_kafka_config
from twoway.asking import GROUP, PATIENCE_SECONDS, TRANSACTION, Asking
from twoway.home import HARMLESS, SETTINGS
from twoway.picture import TOPIC
from twoway.writing import QUIET, Writer

BROKERS = ("klamm", "kafka", "klamm", "kafka", "klamm")
# How each of them ends.
IS_KILLED = (False, False, True, True, False)
# The changes between them, by name.
CHANGES = {
    "from klamm to kafka": 0,
    "from kafka to klamm": 1,
    "from killed klamm to kafka": 2,
    "from killed kafka to klamm": 3,
}
INTERNAL = ("__consumer_offsets", "__transaction_state")
# They are rolled and compacted all the time.
RESTLESS = {"segment.ms": "300", "min.cleanable.dirty.ratio": "0.01"}
# Members of consumer groups hear soon of what they have to do.
LIVELY = {
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
}
COMPLAINT = re.compile(
    r"^Traceback .*(?:\n +.*)*\n.*|^.*\b(?:WARN|WARNING|ERROR|FATAL)\b.*", re.MULTILINE
)
# What Kafka says when it writes markers before its own listener is up, and when it is asked for the coordinator before
# it has read which topics there are.
EARLY = re.compile(
    r"\[TransactionCoordinator id=1\] Connection to node 1 .* could not be established"
    "|Auto topic creation failed for __.* with error 'TOPIC_ALREADY_EXISTS'"
)
# A client finds the next broker soon, and nobody is missed meanwhile.
PATIENT = {
    **QUIET,
    "reconnect.backoff.max.ms": 300,
    "topic.metadata.refresh.interval.ms": 2_000,
}


class Scene:
    """`name` is no other scene's: it begins the names of its topics, groups and transactions."""

    title: ClassVar[str]

    def __init__(self, change: int) -> None:
        self.name = f"{self.title}-{change}"
        self.failure: Exception | None = None
        # Closed when the scene is over, however it ended.
        self.clients = ExitStack()

    def before(self, asking: Asking) -> None:
        """At the broker that is going to end."""

    def between(self, home: Path) -> None:
        """Nobody serves the directory."""

    def after(self, asking: Asking) -> None:
        """At the broker that came after it."""

    # What scenes need

    def make_topic(self, asking: Asking, suffix: str = "", partitions: int = 1) -> str:
        topic = f"{self.name}{suffix}"
        admin = AdminClient({"bootstrap.servers": asking.address, **QUIET})
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE_SECONDS)
        for partition in range(partitions):
            asking.ends(topic, partition)
        return topic

    def write(self, asking: Asking, topic: str, numbers: Sequence[int], partition: int = 0) -> None:
        records = [Record(value=b"%d" % number) for number in numbers]
        Writer().at(asking.address).write(topic, records, partition=partition)


T = TypeVar("T")
SceneT = TypeVar("SceneT", bound=Scene)


class Handover:
    def __init__(
        self, path: Path, cast: Sequence[type[Scene]], brokers: Sequence[str] = BROKERS
    ) -> None:
        self.data = path / "data"
        self.played: dict[tuple[int, type[Scene]], Scene] = {}
        # What each broker printed, and how far the cleaner had come when it ended.
        self.outputs: list[tuple[str, str]] = []
        self.clean_up_to: list[dict[str, int]] = []
        self._path = path
        # Overdue transactions are looked for as seldom as Kafka does by itself: one that Kafka aborts before its own
        # listener is up may never get its markers.
        self._config = write_kafka_config(path, {**SETTINGS, **LIVELY})
        klamm = Path(sys.executable).with_name("klamm")
        tools.run([klamm, "storage", "format", "-t", CLUSTER_ID, "-c", self._config])
        scenes: list[Scene] = []
        for number, name in enumerate(brokers):
            is_last = number == len(brokers) - 1
            scenes = self._stage(number, name, scenes, () if is_last else cast)

    def _stage(
        self, number: int, name: str, scenes: list[Scene], cast: Sequence[type[Scene]]
    ) -> list[Scene]:
        """The second halves of these scenes, and the first halves of the next ones."""
        for scene in scenes:
            _play(scene, scene.between, self._path)
        broker = self._start(name)
        try:
            asking = Asking(broker.address)
            if number == 0:
                _make_internal_topics(asking)
            for scene in scenes:
                _play(scene, scene.after, asking)
                scene.clients.close()
            following = [each(number) for each in cast]
            for scene in following:
                self.played[number, type(scene)] = scene
                _play(scene, scene.before, asking)
        finally:
            self._end(broker, is_killed=IS_KILLED[number])
        self.outputs.append((name, broker.output()))
        (self._path / "stderr").unlink()
        self.clean_up_to.append(_clean_up_to(self.data))
        return following

    def _start(self, name: str) -> Broker:
        if name == "klamm":
            return start_klamm(home=self._path, config=self._config)
        return start_kafka(home=self._path, with_log=True)

    def _end(self, broker: Broker, *, is_killed: bool) -> None:
        if is_killed:
            broker.kill()
        else:
            # Java ends by the signal, after its shutdown hooks.
            assert broker.stop(keep=True) in (0, 143), broker.output()

    def scene(self, change: int, kind: type[SceneT]) -> SceneT:
        scene = self.played[change, kind]
        if scene.failure is not None:
            raise scene.failure
        assert isinstance(scene, kind)
        return scene

    @property
    def complaints(self) -> list[str]:
        """What either broker found worth a warning, without what Kafka says of directories that are all its own."""
        return [
            f"{name}: {each}"
            for name, output in self.outputs
            for each in COMPLAINT.findall(output)
            if not HARMLESS.search(each) and not EARLY.search(each)
        ]


def _play(scene: Scene, half: Callable[[T], None], at: T) -> None:
    if scene.failure is None:
        try:
            half(at)
        except Exception as e:  # noqa: BLE001 - whatever it is, its test will show it
            scene.failure = e


def _make_internal_topics(asking: Asking) -> None:
    asking.find_coordinator("any", GROUP)
    asking.find_coordinator("any", TRANSACTION)
    writer = Writer().at(asking.address)
    for topic in INTERNAL:
        for key, value in RESTLESS.items():
            writer.set_config(TOPIC, topic, key, value)


def _clean_up_to(data: Path) -> dict[str, int]:
    """By topic: the sum of the offsets of its partitions below which everything is compacted."""
    checkpoint = data / "cleaner-offset-checkpoint"
    lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    found = dict.fromkeys(INTERNAL, 0)
    for topic, _, offset in (line.rsplit(" ", 2) for line in lines):
        if topic in found:
            found[topic] += int(offset)
    return found
