"""What coordinators are asked for, in raw requests, so that klamm's and Kafka's answers can be held side by side."""

from collections.abc import Callable
from typing import Any

from klamm.base.errors import ErrorCode
from klamm.protocol.apis import API_BY_NAME
from support.patience import eventually
from support.plain_messages import build, plain
from support.raw_client import ConnectionClosed, RawClient

PATIENCE_SECONDS = 60
GROUP, TRANSACTION = 0, 1
# A broker that has just begun says these for a moment.
NOT_YET = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
# And this until the markers of the last transaction are written.
STILL_ENDING = {*NOT_YET, ErrorCode.CONCURRENT_TRANSACTIONS}


class Asking:
    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, api: str, version: int, wait_out: set[ErrorCode] = NOT_YET, **values: Any) -> Any:
        """The answer as plain data, asked for again while it is one of those that pass."""
        request = build(API_BY_NAME[api].request, values)

        def attempt() -> Any:
            with RawClient(self.address) as client:
                answer = plain(client.ask(api, version, request), version)
            assert not _errors(answer) & wait_out, answer
            return answer

        return eventually(
            lambda: _as_failure(attempt), seconds=PATIENCE_SECONDS, failures=AssertionError
        )

    def find_coordinator(self, name: str, kind: int) -> None:
        """The topic that the coordinator keeps its records in is there afterwards."""
        self.ask("find_coordinator", 4, key_type=kind, coordinator_keys=[name])

    # Groups

    def group(self, name: str) -> dict[str, Any]:
        """All there is to know about a group."""
        classic = self.ask("describe_groups", 6, groups=[name])["groups"]
        consumer = self.ask("consumer_group_describe", 1, group_ids=[name])["groups"]
        # A broker that is not asked for a group of its own lists those that it has loaded.
        listed = self.ask("list_groups", 5)["groups"]
        for each in (*classic, *consumer):
            each["members"].sort(key=lambda member: member["member_id"])
            # What it says where there is no such group, or none of this kind, is not the directory's business.
            each.pop("error_message")
        return {
            "listed": [each for each in listed if each["group_id"] == name],
            "classic": classic,
            "consumer": [_in_order(each) for each in consumer],
            "offsets": self.offsets(name),
        }

    def offsets(self, group: str, *, is_stable: bool = False) -> dict[tuple[str, int], Any]:
        """The offset, its leader epoch, its text and the error of each partition."""
        wanted = [{"group_id": group, "topics": None}]
        (answer,) = self.ask("offset_fetch", 9, groups=wanted, require_stable=is_stable)["groups"]
        assert answer["error_code"] == 0, answer
        return {
            (topic["name"], each["partition_index"]): (
                each["committed_offset"],
                each["committed_leader_epoch"],
                # librdkafka counts the zero behind a text.
                each["metadata"].rstrip("\0"),
                ErrorCode(each["error_code"]),
            )
            for topic in answer["topics"]
            for each in topic["partitions"]
        }

    def commit(
        self, group: str, topic: str, offset: int, text: str = "", partition: int = 0
    ) -> None:
        """As somebody who is not a member."""
        wanted = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": 0,
            "committed_metadata": text,
        }
        topics = [{"name": topic, "partitions": [wanted]}]
        answer = self.ask("offset_commit", 9, group_id=group, topics=topics)
        assert _errors(answer) == {0}, answer

    # Transactions

    def transaction(self, name: str) -> dict[str, Any]:
        (answer,) = self.ask("describe_transactions", 0, transactional_ids=[name])[
            "transaction_states"
        ]
        # Kafka tells of partitions in the order of its hash tables.
        answer["topics"].sort(key=lambda topic: topic["topic"])
        for topic in answer["topics"]:
            topic["partitions"].sort()
        return dict(answer)

    def state(self, name: str) -> str:
        return str(self.transaction(name)["transaction_state"])

    def ends(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """The last stable offset and the high watermark."""

        def end(isolation: int) -> int:
            wanted = [{"partition_index": partition, "timestamp": -1}]
            topics = [{"name": topic, "partitions": wanted}]
            answer = self.ask(
                "list_offsets", 6, replica_id=-1, isolation_level=isolation, topics=topics
            )
            return int(answer["topics"][0]["partitions"][0]["offset"])

        return end(1), end(0)


def _in_order(group: dict[str, Any]) -> dict[str, Any]:
    """Kafka tells of topics in the order of its hash tables."""
    for member in group["members"]:
        member["subscribed_topic_names"].sort()
        for assignment in (member["assignment"], member["target_assignment"]):
            assignment["topic_partitions"].sort(key=lambda topic: topic["topic_name"])
    return group


def _as_failure(attempt: Callable[[], Any]) -> Any:
    try:
        return attempt()
    except (ConnectionClosed, OSError) as e:
        raise AssertionError(f"no answer: {e!r}") from e


def _errors(answer: Any) -> set[int]:
    """All error codes anywhere in an answer."""
    if isinstance(answer, dict):
        found = {answer["error_code"]} if "error_code" in answer else set()
        return found.union(*map(_errors, answer.values()))
    return set().union(*map(_errors, answer)) if isinstance(answer, list) else set()
