"""Plain heartbeats and commits take a straight path, which answers exactly what the handlers would."""

from collections.abc import Iterator
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from klamm.server.network.outgoing import Answer
from klamm.server.straight.commit import StraightCommit
from klamm.server.straight.heartbeat import StraightHeartbeat
from server.asking import NO_TOPIC, Topic, error
from server.conftest import Connect, MakeTopic, delete_topic
from server.handlers.classic_groups import a_join, stable, wait_for_state
from server.transacting import fetch_offset
from server.wire_client import WireClient, request_frame

HEARTBEATS, STRAIGHT_HEARTBEATS = range(5), range(3, 5)
COMMITS, STRAIGHT_COMMITS = range(2, 11), range(8, 11)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Answer | None]:
    """What the straight paths answered; None where they left a request to its handler."""
    seen: list[Answer | None] = []
    for path in (StraightHeartbeat, StraightCommit):

        def watched(*arguments: Any, answer: Any = path.answer) -> Answer | None:
            seen.append(answer(*arguments))
            return seen[-1]

        monkeypatch.setattr(path, "answer", watched)
    return seen


def a_commit(
    group: str,
    member: str,
    topic: Topic,
    *partitions: int,
    generation: int = 1,
    offset: int = 5,
    metadata: str | None = "",
    instance: str | None = None,
) -> OffsetCommitRequest:
    asked = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=metadata
        )
        for index in partitions or (0,)
    ]
    return OffsetCommitRequest(
        group_id=group,
        member_id=member,
        generation_id_or_member_epoch=generation,
        group_instance_id=instance,
        topics=[OffsetCommitRequestTopic(name=topic.name, topic_id=topic.id, partitions=asked)],
    )


def heartbeats(group: str, member: str) -> Iterator[HeartbeatRequest]:
    for name, who, generation in [
        (group, member, 1),
        (group, member, 2),
        (group, member, -1),
        (group, "nobody", 1),
        (group, "", 1),
        (group, "x" * 200, 1),
        ("nothing", member, 1),
        ("", member, 1),
        ("g" * 200, member, 1),
    ]:
        yield HeartbeatRequest(group_id=name, generation_id=generation, member_id=who)


def commits(group: str, member: str, topic: Topic) -> Iterator[OffsetCommitRequest]:
    yield a_commit(group, member, topic)
    yield a_commit(group, member, topic, 1, metadata="so far")
    yield a_commit(group, member, topic, metadata=None)
    yield a_commit(group, member, topic, metadata="m" * 200)
    yield a_commit(group, member, topic, metadata="m" * 5_000)
    yield a_commit(group, member, topic, 0, 1)
    yield a_commit(group, member, topic, 2)
    yield a_commit(group, member, topic, -1)
    yield a_commit(group, member, NO_TOPIC)
    yield a_commit(group, member, topic, generation=2)
    yield a_commit(group, member, topic, generation=-1)
    yield a_commit(group, "nobody", topic)
    yield a_commit(group, "", topic, generation=-1)
    yield a_commit("nothing", member, topic)
    yield a_commit("", "", topic, generation=-1)
    yield a_commit("g" * 200, member, topic)


def raw_answers(client: WireClient, requests: Iterator[Any], version: int) -> list[bytes]:
    answers = []
    for request in requests:
        client.send_frame(request_frame(request, version))
        answers.append(client.receive_frame())
    return answers


@pytest.mark.parametrize("version", HEARTBEATS)
def test_both_paths_give_the_same_answer_to_a_heartbeat(
    client: WireClient, new_name: str, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    member = stable(client, new_name)

    by_either = raw_answers(client, heartbeats(new_name, member), version)
    assert by_either == raw_answers(client, heartbeats(new_name, member), version)
    monkeypatch.setattr(StraightHeartbeat, "answer", lambda *_: None)
    by_handler = raw_answers(client, heartbeats(new_name, member), version)

    assert by_either == by_handler


@pytest.mark.parametrize("version", COMMITS)
def test_both_paths_give_the_same_answer_to_a_commit(
    client: WireClient,
    make_topic: MakeTopic,
    new_name: str,
    monkeypatch: pytest.MonkeyPatch,
    version: int,
) -> None:
    topic, member = make_topic(2), stable(client, new_name)

    by_either = raw_answers(client, commits(new_name, member, topic), version)
    monkeypatch.setattr(StraightCommit, "answer", lambda *_: None)
    by_handler = raw_answers(client, commits(new_name, member, topic), version)

    assert by_either == by_handler


@pytest.mark.parametrize("version", HEARTBEATS)
def test_the_usual_heartbeat_takes_the_straight_path(
    client: WireClient, new_name: str, answered: list[Answer | None], version: int
) -> None:
    member = stable(client, new_name)

    request = HeartbeatRequest(group_id=new_name, generation_id=1, member_id=member)
    answer = client.ask(request, version)

    assert error(answer.error_code) is ErrorCode.NONE
    assert [each is not None for each in answered[-1:]] == [version in STRAIGHT_HEARTBEATS]


@pytest.mark.parametrize("version", COMMITS)
def test_the_usual_commit_takes_the_straight_path_and_is_stored(
    client: WireClient, topic: Topic, new_name: str, answered: list[Answer | None], version: int
) -> None:
    member = stable(client, new_name)

    answer = client.ask(a_commit(new_name, member, topic, offset=40 + version), version)

    assert error(answer.topics[0].partitions[0].error_code) is ErrorCode.NONE
    assert [each is not None for each in answered[-1:]] == [version in STRAIGHT_COMMITS]
    assert fetch_offset(client, new_name, topic.name) == (ErrorCode.NONE, 40 + version)


def test_who_must_join_again_is_told_so(
    client: WireClient, connect: Connect, new_name: str
) -> None:
    member = stable(client, new_name)
    request = HeartbeatRequest(group_id=new_name, generation_id=1, member_id=member)
    assert error(client.ask(request).error_code) is ErrorCode.NONE
    another = connect()
    answer = another.ask(a_join(new_name))
    another.send(a_join(new_name, answer.member_id))
    wait_for_state(client, new_name, "PreparingRebalance")

    beat = client.ask(request)

    assert error(beat.error_code) is ErrorCode.REBALANCE_IN_PROGRESS


def test_who_is_no_longer_a_member_is_told_so(client: WireClient, new_name: str) -> None:
    member = stable(client, new_name)
    beat = HeartbeatRequest(group_id=new_name, generation_id=1, member_id=member)
    assert error(client.ask(beat).error_code) is ErrorCode.NONE
    client.ask(LeaveGroupRequest(group_id=new_name, members=[MemberIdentity(member_id=member)]))

    assert error(client.ask(beat).error_code) is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_are_served_by_the_handler(
    client: WireClient, topic: Topic, new_name: str, answered: list[Answer | None]
) -> None:
    member = stable(client, new_name, group_instance_id="one")
    beat = HeartbeatRequest(
        group_id=new_name, generation_id=1, member_id=member, group_instance_id="one"
    )

    answers = [client.ask(beat), client.ask(a_commit(new_name, member, topic, instance="one"))]

    assert error(answers[0].error_code) is ErrorCode.NONE
    assert error(answers[1].topics[0].partitions[0].error_code) is ErrorCode.NONE
    assert answered[-2:] == [None, None]


def test_offset_of_a_topic_that_was_deleted_is_refused(
    client: WireClient, make_topic: MakeTopic, new_name: str
) -> None:
    topic, member = make_topic(), stable(client, new_name)
    client.ask(a_commit(new_name, member, topic))
    delete_topic(client, topic)

    answer = client.ask(a_commit(new_name, member, topic))

    refused = answer.topics[0].partitions[0].error_code
    assert error(refused) is ErrorCode.UNKNOWN_TOPIC_ID
