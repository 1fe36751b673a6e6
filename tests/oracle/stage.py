"""A broker in a known state, to be asked questions that do not depend on which broker it is."""

from functools import partial
from typing import Any

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.apis import API_BY_NAME
from oracle.cases.case import FRESH, Ask, Earlier, Id, batch, create, produce
from support.patience import eventually
from support.plain_messages import build, plain
from support.raw_client import ConnectionClosed, RawClient

CLOSED = {"the broker": "closed the connection"}


class Stage:
    """One of the two brokers."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._ids: dict[str, Uuid] = {}

    def ask(self, ask: Ask, *, version: int | None = None, fresh: str, earlier: Any = None) -> Any:
        """The plain answer; CLOSED when the broker hung up."""
        api = API_BY_NAME[ask.api]
        version = api.highest_stable if version is None else version
        request = build(api.request, self._filled_in(ask.values, fresh, earlier or {}))
        with RawClient(self.address) as client:
            try:
                answer = plain(client.ask(ask.api, version, request), version)
            except ConnectionClosed:
                return CLOSED
        if ask.api == "create_topics" and not ask.values.get("validate_only"):
            self._wait_for([topic["name"] for topic in answer["topics"] if not topic["error_code"]])
        return answer

    def topic_id(self, topic: str) -> Uuid:
        if topic not in self._ids:
            answer = self._metadata(topic)
            self._ids[topic] = answer["topic_id"]
        return self._ids[topic]

    def _filled_in(self, values: Any, fresh: str, earlier: dict[str, Any]) -> Any:
        match values:
            case dict():
                return {
                    key: self._filled_in(value, fresh, earlier) for key, value in values.items()
                }
            case list():
                return [self._filled_in(value, fresh, earlier) for value in values]
            case str():
                return values.replace(FRESH, fresh)
            case Id(topic):
                return self.topic_id(topic.replace(FRESH, fresh))
            case Earlier(path):
                return _at(path, earlier)
        return values

    def _wait_for(self, topics: list[str]) -> None:
        # Kafka's controller has answered; its broker may learn of it a moment later.
        def look(name: str) -> None:
            assert self._metadata(name)["error_code"] == 0

        for name in topics:
            eventually(partial(look, name))

    def _metadata(self, topic: str) -> dict[str, Any]:
        values = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        answer = self.ask(Ask("metadata", values), fresh="")
        found: dict[str, Any] = answer["topics"][0]
        return found


def _at(path: str, answer: Any) -> Any:
    for step in path.split("."):
        answer = answer[int(step) if step.isdigit() else step]
    return answer


def prepare(stage: Stage) -> None:
    """The state that questions may count on.

    full has ten records in two batches (timestamps 1000 to 1004, and 2000 to 2004), empty has none, three has three
    partitions, deleted has lost its first five records.
    """
    for ask in (
        create("empty"),
        create("full"),
        create("deleted"),
        create("three", 3),
        create("compacted", cleanup_policy="compact"),
        create("small", max_message_bytes="200"),
        create("append-time", message_timestamp_type="LogAppendTime"),
        *(
            produce(batch(5, first_timestamp=first), topic)
            for topic in ("full", "deleted")
            for first in (1_000, 2_000)
        ),
        _delete_records("deleted", 5),
    ):
        stage.ask(ask, fresh="")
    eventually(partial(_assert_has_producer_ids, stage))
    for kind in (0, 1):
        eventually(partial(_assert_has_coordinator, stage, kind))


def _assert_has_producer_ids(stage: Stage) -> None:
    """Kafka's broker asks its controller for a block of ids when the first client wants one, and that one waits."""
    values = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    assert stage.ask(Ask("init_producer_id", values), fresh="")["error_code"] == 0


def _assert_has_coordinator(stage: Stage, kind: int) -> None:
    """Kafka creates the topic when it is asked for the first time, and loads it a moment later."""
    values = {"key_type": kind, "coordinator_keys": ["any"]}
    (found,) = stage.ask(Ask("find_coordinator", values), fresh="")["coordinators"]
    assert found["error_code"] == 0
    if kind == 1:
        values = {"transactional_id": "any", "transaction_timeout_ms": 60_000}
        assert stage.ask(Ask("init_producer_id", values), fresh="")["error_code"] == 0
    else:
        (deleted,) = stage.ask(Ask("delete_groups", {"groups_names": ["any"]}), fresh="")["results"]
        assert deleted["error_code"] == ErrorCode.GROUP_ID_NOT_FOUND


def _delete_records(topic: str, offset: int) -> Ask:
    partitions = [{"partition_index": 0, "offset": offset}]
    return Ask(
        "delete_records",
        {"topics": [{"name": topic, "partitions": partitions}], "timeout_ms": 5_000},
    )
