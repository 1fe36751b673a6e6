"""Short ways to say what tests of classic groups ask again and again."""

from typing import Any

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_groups import DescribeGroupsRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from klamm.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from server.asking import error
from server.wire_client import WireClient
from support.patience import eventually

# A subscription to nothing, in the first version. Kafka's coordinator reads it, and fails where it cannot.
METADATA = bytes(6) + b"\xff\xff\xff\xff"
SETTINGS = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 3}


def find_coordinator(client: WireClient) -> None:
    def look() -> None:
        found = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["any"]))
        assert error(found.coordinators[0].error_code) is ErrorCode.NONE
        beat = client.ask(HeartbeatRequest(group_id="any", generation_id=0, member_id="x"))
        assert error(beat.error_code) is ErrorCode.UNKNOWN_MEMBER_ID

    eventually(look)


def a_join(group: str, member_id: str = "", **more: Any) -> JoinGroupRequest:
    facts = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=METADATA)],
    }
    return JoinGroupRequest(group_id=group, member_id=member_id, **{**facts, **more})


def a_sync(group: str, member_id: str, generation: int, **more: Any) -> SyncGroupRequest:
    assignments = more.pop("assignments", {})
    facts = {"protocol_type": "consumer", "protocol_name": "range", **more}
    return SyncGroupRequest(
        group_id=group,
        member_id=member_id,
        generation_id=generation,
        assignments=[
            SyncGroupRequestAssignment(member_id=m, assignment=a) for m, a in assignments.items()
        ],
        **facts,
    )


def join(client: WireClient, group: str, version: int = 9, **more: Any) -> JoinGroupResponse:
    """Joins as a new member, with as many requests as the version asks for."""
    answer = client.ask(a_join(group, **more), version)
    if error(answer.error_code) is ErrorCode.MEMBER_ID_REQUIRED:
        answer = client.ask(a_join(group, answer.member_id, **more), version)
    assert isinstance(answer, JoinGroupResponse)
    return answer


def stable(client: WireClient, group: str, **more: Any) -> str:
    """A group of one member, which it gives."""
    member_id = join(client, group, **more).member_id
    instance = more.get("group_instance_id")
    given = {member_id: b"assignment"}
    answer = client.ask(a_sync(group, member_id, 1, assignments=given, group_instance_id=instance))
    assert error(answer.error_code) is ErrorCode.NONE
    return member_id


def wait_for_state(client: WireClient, group: str, state: str) -> None:
    def look() -> None:
        (described,) = client.ask(DescribeGroupsRequest(groups=[group])).groups
        assert described.group_state == state

    eventually(look)
