"""Topics as tests ask for them, and as they get them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from klamm.testing.kit.expect import Expectation
    from klamm.testing.kit.kafka import Kafka
    from klamm.testing.kit.records import Item, Record

# {"orders": 3}, {"orders": {"partitions": 3, "cleanup.policy": "compact"}}, ["orders"], [NewTopic("orders")]
Topics = Mapping[str, "int | Mapping[str, object]"] | Iterable["str | NewTopic"]
BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Configs have Kafka's names."""

    name: str
    partitions: int = 1
    replicas: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)


def new_topics(topics: Topics) -> list[NewTopic]:
    if isinstance(topics, str):
        return [NewTopic(topics)]
    if not isinstance(topics, Mapping):
        return [each if isinstance(each, NewTopic) else NewTopic(each) for each in topics]
    return [_new_topic(name, asked) for name, asked in topics.items()]


def _new_topic(name: str, asked: int | Mapping[str, object]) -> NewTopic:
    if isinstance(asked, int):
        return NewTopic(name, partitions=asked)
    rest = dict(asked)
    partitions, replicas = rest.pop("partitions", 1), rest.pop("replicas", BROKER_DEFAULT)
    return NewTopic(name, int(str(partitions)), int(str(replicas)), texts(rest))


def texts(settings: Mapping[str, object]) -> dict[str, str]:
    """As they stand in a properties file."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }


class Topic(str):
    """A name, so that any client takes it; and what a test does with its topic."""

    _kafka: Kafka
    __slots__ = ("_kafka",)

    @classmethod
    def at(cls, kafka: Kafka, name: str) -> Self:
        topic = cls(name)
        topic._kafka = kafka
        return topic

    @property
    def name(self) -> str:
        return str(self)

    def produce(self, items: Iterable[Item], **options: Any) -> list[Record]:
        return self._kafka.produce(self, items, **options)

    def records(self, **options: Any) -> list[Record]:
        return self._kafka.records(self, **options)

    def expect(self) -> Expectation:
        return self._kafka.expect(self)

    def delete(self) -> None:
        self._kafka.delete_topic(self)
