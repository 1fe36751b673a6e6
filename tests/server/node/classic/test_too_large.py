"""What one client asks to be written down and is too large for a batch: its own affair, and nobody else's."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.coordinator.placement import partition_of
from klamm.protocol.messages.delete_groups import DeleteGroupsRequest
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import JoinGroupRequestProtocol
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from server.asking import Topic, error
from server.conftest import Connect, MakeTopic, set_config
from server.handlers import consumer_groups
from server.handlers.classic_groups import (
    METADATA,
    SETTINGS,
    a_join,
    a_sync,
    join,
    stable,
    wait_for_state,
)
from server.wire_client import WireClient

_TOO_LARGE = bytes(2_000_000)


def neighbour(group: str) -> str:
    """Another group of the same shard."""
    count = int(SETTINGS["offsets.topic.num.partitions"])
    names = (f"{group}-{number}" for number in range(100))
    return next(n for n in names if partition_of(n, count) == partition_of(group, count))


def a_waiting_member(client: WireClient, other: WireClient, group: str) -> None:
    """Waits in a round for a member that is alive and does not come."""
    stable(other, group)
    waiting = client.ask(a_join(group)).member_id
    client.send(a_join(group, waiting))
    wait_for_state(other, group, "PreparingRebalance")


def is_still_waiting(client: WireClient, other: WireClient, group: str) -> bool:
    wait_for_state(other, group, "PreparingRebalance")
    client.socket.setblocking(False)
    try:
        return not client.socket.recv(1)
    except BlockingIOError:
        return True
    finally:
        client.socket.settimeout(20)


def test_an_assignment_that_cannot_be_written_is_told_to_its_leader_alone(
    connect: Connect, new_name: str
) -> None:
    waiting, other, greedy = connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    group = neighbour(new_name)
    member = join(greedy, group).member_id

    answer = greedy.ask(a_sync(group, member, 1, assignments={member: _TOO_LARGE}))

    assert error(answer.error_code) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert is_still_waiting(waiting, other, new_name)
    # It may come again with less.
    again = greedy.ask(a_sync(group, member, 1, assignments={member: b"less"}))
    assert (error(again.error_code), again.assignment) == (ErrorCode.NONE, b"less")


def test_a_commit_that_cannot_be_written_is_told_to_its_member_alone(
    connect: Connect, new_name: str, make_topic: MakeTopic
) -> None:
    waiting, other, greedy = connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    topic = make_topic(partitions=1)
    group = neighbour(new_name)
    member = stable(greedy, group)
    metadata = "x" * 4_000
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=1,
        member_id=member,
        topics=[
            OffsetCommitRequestTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=at, committed_metadata=metadata
                    )
                    for at in range(400)
                ],
            )
        ],
    )

    answer = greedy.ask(request, 8)

    codes = {error(each.error_code) for each in answer.topics[0].partitions}
    assert codes == {ErrorCode.INVALID_COMMIT_OFFSET_SIZE}
    assert is_still_waiting(waiting, other, new_name)
    beat = HeartbeatRequest(group_id=group, generation_id=1, member_id=member)
    assert error(greedy.ask(beat).error_code) is ErrorCode.NONE


@pytest.mark.parametrize("count", range(9_000, 13_000, 500))
def test_a_commit_that_just_fits_or_just_does_not_is_its_members_affair(
    connect: Connect, new_name: str, make_topic: MakeTopic, count: int
) -> None:
    waiting, other, many = connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    topic = make_topic(partitions=1)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    named = OffsetCommitRequestTopic(name=topic.name, partitions=[partition] * count)

    answer = many.ask(OffsetCommitRequest(group_id=neighbour(new_name), topics=[named]), 8)

    codes = {error(each.error_code) for each in answer.topics[0].partitions}
    assert codes in ({ErrorCode.NONE}, {ErrorCode.INVALID_COMMIT_OFFSET_SIZE})
    assert is_still_waiting(waiting, other, new_name)


def test_a_group_with_more_offsets_than_fit_into_a_batch_stays_and_nobody_else_notices(
    connect: Connect, new_name: str, make_topic: MakeTopic
) -> None:
    waiting, other, admin = connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    topic = make_topic(partitions=30)
    group = neighbour(new_name)
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        for index in range(30)
    ]
    named = OffsetCommitRequestTopic(name=topic.name, partitions=partitions)
    admin.ask(OffsetCommitRequest(group_id=group, topics=[named]), 8)

    def delete() -> ErrorCode:
        (result,) = admin.ask(DeleteGroupsRequest(groups_names=[group])).results
        return error(result.error_code)

    offsets = Topic("__consumer_offsets", ZERO_UUID)
    set_config(admin, offsets, "max.message.bytes", "1500")
    refused = delete()
    set_config(admin, offsets, "max.message.bytes", None)

    assert refused is ErrorCode.UNKNOWN_SERVER_ERROR
    assert is_still_waiting(waiting, other, new_name)
    assert delete() is ErrorCode.NONE


def test_a_static_member_that_comes_back_with_too_much_does_not_take_its_place(
    connect: Connect, new_name: str
) -> None:
    waiting, other, old, greedy = connect(), connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    group = neighbour(new_name)
    member = stable(old, group, group_instance_id="one")
    protocols = [JoinGroupRequestProtocol(name="range", metadata=METADATA + _TOO_LARGE)]

    answer = greedy.ask(a_join(group, group_instance_id="one", protocols=protocols))

    assert error(answer.error_code) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert is_still_waiting(waiting, other, new_name)
    beat = HeartbeatRequest(
        group_id=group, generation_id=1, member_id=member, group_instance_id="one"
    )
    assert error(old.ask(beat).error_code) is ErrorCode.NONE


@pytest.mark.parametrize("is_new", [True, False])
def test_a_subscription_that_cannot_be_written_is_told_to_its_consumer_alone(
    connect: Connect, new_name: str, is_new: bool
) -> None:
    waiting, other, greedy = connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    group = neighbour(new_name)
    epoch = 0 if is_new else consumer_groups.join(greedy, group, "clicks").member_epoch
    topics = [f"{number}".rjust(200, "x") for number in range(8_000)]

    answer = consumer_groups.beat(
        greedy,
        group,
        "ann",
        epoch,
        rebalance_timeout_ms=60_000,
        topic_partitions=[],
        subscribed_topic_names=topics,
    )

    assert error(answer.error_code) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert is_still_waiting(waiting, other, new_name)
    # It may come again with less.
    again = consumer_groups.join(greedy, group, "clicks")
    assert error(again.error_code) is ErrorCode.NONE


def test_a_classic_member_with_too_much_stays_out_of_a_consumer_group(
    connect: Connect, new_name: str
) -> None:
    waiting, other, consumer, greedy = connect(), connect(), connect(), connect()
    a_waiting_member(waiting, other, new_name)
    group = neighbour(new_name)
    epoch = consumer_groups.join(consumer, group, "clicks").member_epoch
    protocols = [JoinGroupRequestProtocol(name="range", metadata=METADATA + _TOO_LARGE)]
    given = greedy.ask(a_join(group, protocols=protocols)).member_id

    answer = greedy.ask(a_join(group, given, protocols=protocols))

    assert error(answer.error_code) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert is_still_waiting(waiting, other, new_name)
    lives = consumer_groups.beat(consumer, group, "ann", epoch)
    assert (error(lives.error_code), lives.member_epoch) == (ErrorCode.NONE, epoch)
