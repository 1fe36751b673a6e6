"""The notation for questions: what is asked of both brokers, and in which versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from klamm.base.ids import Uuid
from klamm.protocol.apis import API_BY_NAME
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record

# In any string of a request this stands for a name that no other question uses.
FRESH = "{fresh}"
UNKNOWN_ID = Uuid(b"nobody knows me!")


@dataclass(frozen=True, slots=True)
class Id:
    """Stands for the id that the broker gave to a topic."""

    topic: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """Stands for a field of the answer before, found by names and numbers with dots between them."""

    path: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; without a version of its own it is sent in the newest."""

    api: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A request in all its versions, with what is done before it and looked at after it.

    `ignoring` names fields of the answers before, but not of those after.
    """

    name: str
    ask: Ask
    before: tuple[Ask, ...] = ()
    after: tuple[Ask, ...] = ()
    since: int = 0
    until: int = 99
    ignoring: frozenset[str] = frozenset()

    def versions(self) -> range:
        api = API_BY_NAME[self.ask.api]
        return range(max(api.lowest, self.since), min(api.highest_stable, self.until) + 1)


def case(
    api: str,
    name: str,
    values: dict[str, Any],
    *,
    before: Sequence[Ask] = (),
    after: Sequence[Ask] = (),
    since: int = 0,
    until: int = 99,
    ignoring: Sequence[str] = (),
) -> Case:
    return Case(
        name, Ask(api, values), tuple(before), tuple(after), since, until, frozenset(ignoring)
    )


def batch(count: int = 1, *, first_timestamp: int = 1_000, size: int = 10, **options: Any) -> bytes:
    """A record batch whose timestamps rise by a millisecond."""
    records = [Record(0, first_timestamp + n, b"key %d" % n, b"v" * size, []) for n in range(count)]
    return bytes(build_batch(records, **options))


def create(name: str = FRESH, partitions: int = 1, **configs: str) -> Ask:
    """Makes a topic, before or after the question proper."""
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [
            {"name": key.replace("_", "."), "value": value} for key, value in configs.items()
        ],
    }
    return Ask("create_topics", {"topics": [topic]})


def produce(records: bytes, topic: str = FRESH, *, acks: int = -1) -> Ask:
    return Ask("produce", to_partition(records, topic, acks=acks))


def to_partition(
    records: bytes | None, topic: str = FRESH, *, acks: int = -1, partition: int = 0, **more: Any
) -> dict[str, Any]:
    """The values of a Produce request for one partition."""
    data = {"index": partition, "records": records}
    named = {"name": topic, "topic_id": Id(topic), "partition_data": [data]}
    return {"acks": acks, "timeout_ms": 5_000, "topic_data": [named], **more}
