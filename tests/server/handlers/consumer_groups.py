"""Short ways to say what tests of consumer groups (KIP-848) ask again and again."""

from typing import Any

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from klamm.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from server.asking import error
from server.wire_client import WireClient
from support.patience import eventually

SETTINGS = {"offsets.topic.num.partitions": 3, "group.consumer.assignment.interval.ms": 0}


def beat(
    client: WireClient, group: str, member_id: str, epoch: int, version: int = 1, **more: Any
) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member_id, member_epoch=epoch, **more
    )
    return client.ask(request, version)


def join(
    client: WireClient, group: str, topic: str, version: int = 1, member_id: str = "ann"
) -> Any:
    facts: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "topic_partitions": []}
    return beat(client, group, member_id, 0, version, subscribed_topic_names=[topic], **facts)


def describe(client: WireClient, *groups: str, version: int = 1, **more: Any) -> list[Any]:
    request = ConsumerGroupDescribeRequest(group_ids=list(groups), **more)
    answer: list[Any] = client.ask(request, version).groups
    return answer


def find_coordinator(client: WireClient) -> None:
    def look() -> None:
        found = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["any"]))
        assert error(found.coordinators[0].error_code) is ErrorCode.NONE
        for name in ("a", "b", "c"):
            (group,) = describe(client, name)
            assert error(group.error_code) is ErrorCode.GROUP_ID_NOT_FOUND

    eventually(look)
