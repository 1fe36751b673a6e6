"""Fetch sessions over the wire (KIP-227): a client names its partitions once and hears only of those with news."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, ForgottenTopic
from server.asking import NO_TOPIC, Topic, a_fetch, a_fetch_of, append, values_in
from server.conftest import MakeTopic
from server.wire_client import WireClient

FULL = 0
FINAL = -1


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    return make_topic(3)


def asked(*indexes: int, offset: int = 0, max_bytes: int = 10_000) -> list[FetchPartition]:
    return [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
        for index in indexes
    ]


def open_session(client: WireClient, topic: Topic, version: int | None = None) -> int:
    answer = client.ask(a_fetch_of([(topic, asked(0, 1, 2))], session_epoch=FULL), version)
    assert (answer.error_code, heard_of(answer)) == (0, [0, 1, 2])
    assert answer.session_id > 0
    return int(answer.session_id)


def go_on(
    client: WireClient, session: int, epoch: int, *, version: int | None = None, **request: Any
) -> Any:
    return client.ask(
        FetchRequest(session_id=session, session_epoch=epoch, min_bytes=1, **request), version
    )


def heard_of(answer: Any) -> list[int]:
    return [p.partition_index for topic in answer.responses for p in topic.partitions]


@pytest.mark.parametrize("version", range(7, 19))
def test_only_partitions_with_news_are_answered(
    client: WireClient, topic: Topic, version: int
) -> None:
    session = open_session(client, topic, version)

    silence = go_on(client, session, 1, version=version)
    append(client, topic, b"news", partition=1)
    news = go_on(client, session, 2, version=version)

    assert (silence.error_code, silence.session_id, heard_of(silence)) == (0, session, [])
    assert (news.session_id, heard_of(news)) == (session, [1])
    assert values_in(news.responses[0].partitions[0].records) == [b"news"]


def test_a_partition_with_unread_records_is_answered_again(
    client: WireClient, topic: Topic
) -> None:
    session = open_session(client, topic)
    append(client, topic, b"news", partition=1)
    assert heard_of(go_on(client, session, 1)) == [1]

    assert heard_of(go_on(client, session, 2)) == [1]


def test_a_partition_moves_on_when_the_client_says_so(client: WireClient, topic: Topic) -> None:
    session = open_session(client, topic)
    append(client, topic, b"news", partition=1)
    assert heard_of(go_on(client, session, 1)) == [1]

    moved = a_fetch_of([(topic, asked(1, offset=1))], session_id=session, session_epoch=2)

    assert heard_of(client.ask(moved)) == []


def test_a_forgotten_partition_is_not_heard_of_again(client: WireClient, topic: Topic) -> None:
    session = open_session(client, topic)
    forgotten = ForgottenTopic(topic=topic.name, topic_id=topic.id, partitions=[1])
    go_on(client, session, 1, forgotten_topics_data=[forgotten])

    append(client, topic, b"unheard", partition=1)
    append(client, topic, b"news", partition=2)

    assert heard_of(go_on(client, session, 2)) == [2]


def test_a_session_without_partitions_is_closed(client: WireClient, topic: Topic) -> None:
    session = open_session(client, topic)
    forgotten = ForgottenTopic(topic=topic.name, topic_id=topic.id, partitions=[0, 1, 2])

    last = go_on(client, session, 1, forgotten_topics_data=[forgotten])
    after = go_on(client, session, 2)

    assert (last.error_code, last.session_id, heard_of(last)) == (0, 0, [])
    assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_wrong_epoch_is_refused_and_changes_nothing(client: WireClient, topic: Topic) -> None:
    session = open_session(client, topic)

    ahead = go_on(client, session, 7)
    right = go_on(client, session, 1)

    assert (ahead.error_code, ahead.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    assert (right.error_code, right.session_id) == (0, session)


@pytest.mark.parametrize("session", [0, 1, 12_345])
def test_an_unknown_session_is_refused(client: WireClient, session: int) -> None:
    assert go_on(client, session, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix_in_a_session(client: WireClient, topic: Topic) -> None:
    session = open_session(client, topic, 13)
    by_name = a_fetch_of([(topic, asked(0))], session_id=session, session_epoch=1)

    assert client.ask(by_name, 12).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_full_fetch_replaces_the_session_it_names(client: WireClient, topic: Topic) -> None:
    old = open_session(client, topic)

    again = client.ask(a_fetch_of([(topic, asked(1))], session_id=old, session_epoch=FULL))

    assert again.session_id not in (0, old)
    assert go_on(client, old, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_final_epoch_reads_once_more_and_ends_the_session(
    client: WireClient, topic: Topic
) -> None:
    session = open_session(client, topic)

    last = client.ask(a_fetch_of([(topic, asked(0))], session_id=session, session_epoch=FINAL))

    assert (last.error_code, last.session_id, heard_of(last)) == (0, 0, [0])
    assert go_on(client, session, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("version", [12, 18])
def test_an_unknown_topic_stays_in_the_session_and_is_told_each_time(
    client: WireClient, version: int
) -> None:
    opened = client.ask(a_fetch(NO_TOPIC, session_epoch=FULL), version)

    again = go_on(client, opened.session_id, 1, version=version)

    code = ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for answer in (opened, again):
        assert [p.error_code for t in answer.responses for p in t.partitions] == [code]


def test_who_was_served_queues_up_behind_the_others(client: WireClient, topic: Topic) -> None:
    session = open_session(client, topic)
    for index in range(3):
        append(client, topic, b"v" * 100, partition=index)

    served = [heard_of_data(go_on(client, session, epoch, max_bytes=1)) for epoch in (1, 2, 3)]

    assert served == [[0], [1], [2]]


def heard_of_data(answer: Any) -> list[int]:
    return [
        p.partition_index for topic in answer.responses for p in topic.partitions if len(p.records)
    ]
