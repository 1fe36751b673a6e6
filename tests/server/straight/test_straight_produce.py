"""The straight path answers exactly what the handler would: the same bytes to the same requests, one after another."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.log.log import Log
from klamm.protocol.messages.produce import ProduceRequest
from klamm.protocol.records.batch import Codec
from klamm.server.network.outgoing import Answer
from klamm.server.straight.produce import StraightProduce
from server.asking import (
    NO_TOPIC,
    Topic,
    a_batch,
    a_fetch,
    a_produce,
    a_produce_of,
    append,
    fetched,
    offset_at,
)
from server.conftest import MakeTopic, create_topic, delete_topic, set_config
from server.running_node import RunningNode
from server.wire_client import WireClient, request_frame
from support.patience import eventually

pytestmark = pytest.mark.usefixtures("node")

VERSIONS = range(3, 14)
STRAIGHT = range(9, 14)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Answer | None]:
    """What the straight path answered; None where it left a request to the handler."""
    seen: list[Answer | None] = []
    answer = StraightProduce.answer

    def watched(*arguments: Any) -> Answer | None:
        seen.append(answer(*arguments))
        return seen[-1]

    monkeypatch.setattr(StraightProduce, "answer", watched)
    return seen


def with_damage(batch: bytearray) -> bytearray:
    batch[-1] ^= 1
    return batch


def idempotent(sequence: int, epoch: int = 0) -> bytearray:
    return a_batch(b"x", producer_id=7, producer_epoch=epoch, base_sequence=sequence)


Requests = Callable[[Topic], Iterator[ProduceRequest]]


def one_batch(topic: Topic) -> Iterator[ProduceRequest]:
    yield a_produce(topic, a_batch(b"one"), acks=1)
    yield a_produce(topic, a_batch(b"two", b"three"), acks=-1)
    yield a_produce(topic, a_batch(b"compressed" * 50, codec=Codec.LZ4), partition=1)
    yield a_produce(topic, a_batch(b"large" * 50_000), partition=1)


def unknown_places(topic: Topic) -> Iterator[ProduceRequest]:
    yield a_produce(NO_TOPIC, a_batch())
    yield a_produce(topic, a_batch(), partition=2)
    yield a_produce(topic, a_batch(), partition=-1)
    yield a_produce(topic, a_batch(), partition=2**31 - 1)


def bad_batches(topic: Topic) -> Iterator[ProduceRequest]:
    yield a_produce(topic, with_damage(a_batch()))
    yield a_produce(topic, b"")
    yield a_produce(topic, None)
    yield a_produce(topic, b"abc")
    yield a_produce(topic, a_batch()[:-1])
    yield a_produce(topic, a_batch() + a_batch())
    yield a_produce(topic, a_batch() + b"x")
    yield a_produce(topic, a_batch(base_offset=3))
    yield a_produce(topic, a_batch(b"x" * 2_000_000))


def duplicates_and_gaps(topic: Topic) -> Iterator[ProduceRequest]:
    yield a_produce(topic, idempotent(0))
    yield a_produce(topic, idempotent(0))
    yield a_produce(topic, idempotent(2))
    yield a_produce(topic, idempotent(1))
    yield a_produce(topic, idempotent(0, epoch=1))
    yield a_produce(topic, idempotent(2, epoch=0))
    yield a_produce(topic, idempotent(-1))


def odd_acks(topic: Topic) -> Iterator[ProduceRequest]:
    for acks in (2, -2, 100, -(2**15), 2**15 - 1):
        yield a_produce(topic, a_batch(), acks=acks)


def transactions(topic: Topic) -> Iterator[ProduceRequest]:
    batch = a_batch(transactional=True, producer_id=8, producer_epoch=0, base_sequence=0)
    yield a_produce(topic, batch)
    yield a_produce(topic, batch, transactional_id="some")
    yield a_produce(topic, a_batch(), transactional_id="some")
    yield a_produce(topic, a_batch(), transactional_id="")


def many_or_none(topic: Topic) -> Iterator[ProduceRequest]:
    yield a_produce_of()
    yield a_produce_of((topic, []))
    yield a_produce_of((topic, [(0, a_batch()), (1, a_batch(b"y", b"z"))]))
    yield a_produce_of((topic, [(1, a_batch()), (5, a_batch())]), (NO_TOPIC, [(0, a_batch())]))
    yield a_produce_of((NO_TOPIC, [(0, a_batch())]), (topic, [(0, with_damage(a_batch()))]))


def several_partitions(topic: Topic) -> Iterator[ProduceRequest]:
    yield a_produce_of((topic, [(0, idempotent(0)), (1, idempotent(0))]), acks=-1)
    yield a_produce_of((topic, [(1, idempotent(0)), (0, idempotent(1))]))
    yield a_produce_of((topic, [(0, idempotent(9)), (1, a_batch())]))
    yield a_produce_of((topic, [(0, a_batch()), (1, with_damage(a_batch())), (0, a_batch(b"y"))]))
    yield a_produce_of((topic, [(0, a_batch(b"large" * 50_000)), (1, a_batch(b"x" * 2_000_000))]))
    yield a_produce_of((topic, [(0, a_batch()), (2, a_batch())]))
    yield a_produce_of((topic, [(0, a_batch()), (1, None)]))
    yield a_produce_of((topic, [(0, a_batch()), (1, bytearray(b"abc"))]))
    yield a_produce_of((topic, [(0, a_batch()), (1, a_batch())]), acks=2)
    yield a_produce_of((topic, [(n % 2, a_batch()) for n in range(126)]))
    yield a_produce_of((topic, [(n % 2, a_batch()) for n in range(127)]))
    transactional = a_batch(transactional=True, producer_id=8, producer_epoch=0, base_sequence=0)
    yield a_produce_of((topic, [(0, a_batch()), (1, transactional)]))


def answers(client: WireClient, topic: Topic, requests: Requests, version: int) -> list[bytes]:
    """The raw answers, with the topic's name and id taken out so that two topics can be compared."""
    raw = []
    for request in requests(topic):
        client.send_frame(request_frame(request, version))
        raw.append(client.receive_frame())
    return [
        frame.replace(topic.name.encode(), b"<name>").replace(topic.id, b"<id>") for frame in raw
    ]


@pytest.mark.parametrize(
    "requests",
    [
        one_batch,
        unknown_places,
        bad_batches,
        duplicates_and_gaps,
        odd_acks,
        transactions,
        many_or_none,
        several_partitions,
    ],
)
def test_both_paths_give_the_same_answer(
    client: WireClient, make_topic: MakeTopic, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, long_way = make_topic(2), make_topic(2)

    by_either = {v: answers(client, straight, requests, v) for v in VERSIONS}
    monkeypatch.setattr(StraightProduce, "answer", lambda *_: None)
    by_handler = {v: answers(client, long_way, requests, v) for v in VERSIONS}

    assert by_either == by_handler
    for partition in (0, 1):
        assert fetched(client, straight, partition=partition, max_bytes=1 << 30) == fetched(
            client, long_way, partition=partition, max_bytes=1 << 30
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_the_usual_request_takes_the_straight_path(
    client: WireClient, topic: Topic, answered: list[Answer | None], version: int
) -> None:
    client.ask(a_produce(topic, a_batch()), version)

    assert [answer is not None for answer in answered] == [version in STRAIGHT]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("second", [a_batch(), with_damage(a_batch())], ids=["good", "refused"])
def test_several_partitions_take_the_straight_path_even_if_one_is_refused(
    client: WireClient,
    make_topic: MakeTopic,
    answered: list[Answer | None],
    version: int,
    second: bytearray,
) -> None:
    topic = make_topic(2)

    client.ask(a_produce_of((topic, [(0, a_batch()), (1, second)])), version)

    assert [answer is not None for answer in answered] == [version in STRAIGHT]
    assert offset_at(client, topic, -1) == 1


def test_a_client_without_a_name_is_served_by_the_handler(
    client: WireClient, topic: Topic, answered: list[Answer | None]
) -> None:
    client.client_id = None

    assert append(client, topic, b"x") == 0
    assert answered == [None]


def test_a_topic_made_again_under_its_name_gets_what_is_sent_to_it(
    client: WireClient, make_topic: MakeTopic
) -> None:
    old = make_topic()
    client.ask(a_produce(old, a_batch(b"old")), 12)
    delete_topic(client, old)
    new = create_topic(client, old.name)

    client.ask(a_produce(new, a_batch(b"new")), 12)
    to_the_old_id = client.ask(a_produce(old, a_batch(b"lost")), 13)

    assert fetched(client, new) == [b"new"]
    assert to_the_old_id.responses[0].partition_responses[0].error_code == 100


def test_several_partitions_of_a_topic_made_again_get_what_is_sent_to_them(
    client: WireClient, make_topic: MakeTopic
) -> None:
    old = make_topic(2)
    client.ask(a_produce_of((old, [(0, a_batch(b"old")), (1, a_batch(b"old"))])), 12)
    delete_topic(client, old)
    new = create_topic(client, old.name, 2)

    client.ask(a_produce_of((new, [(0, a_batch(b"new")), (1, a_batch(b"new"))])), 12)
    to_the_old_id = client.ask(a_produce_of((old, [(0, a_batch()), (1, a_batch())])), 13)

    assert fetched(client, new) == [b"new"]
    assert [each.error_code for each in to_the_old_id.responses[0].partition_responses] == [100] * 2


def until_parked(node: RunningNode, count: int) -> None:
    def look() -> None:
        assert node.call(lambda: len(node.node.broker.fetches)) == count

    eventually(look)


def test_a_fetch_that_waits_is_given_what_comes_to_one_of_several_partitions(
    client: WireClient, make_topic: MakeTopic, node: RunningNode
) -> None:
    topic = make_topic(2)
    with WireClient(node.address) as reader:
        reader.send_frame(request_frame(a_fetch(topic, max_wait_ms=30_000), 12))
        until_parked(node, 1)

        client.ask(a_produce_of((topic, [(0, a_batch(b"x")), (1, a_batch(b"y"))])))

        assert b"x" in reader.receive_frame()


def test_settings_that_change_hold_for_the_next_batch(
    client: WireClient, topic: Topic, answered: list[Answer | None]
) -> None:
    append(client, topic, b"x" * 1000)
    set_config(client, topic, "max.message.bytes", "500")

    refused = client.ask(a_produce(topic, a_batch(b"x" * 1000)))

    assert refused.responses[0].partition_responses[0].error_code == 10
    assert offset_at(client, topic, -1) == 1
    assert [answer is not None for answer in answered] == [True, False]


@pytest.mark.parametrize("version", [8, 12])
def test_a_bug_that_hits_one_batch_is_told_for_that_one_and_the_others_are_acknowledged(
    client: WireClient, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    topic = make_topic(partitions=3)
    whole = Log.append

    def broken(self: Log, *args: Any, **kwargs: Any) -> object:
        if self.directory.endswith(f"{topic.name}-1"):
            raise RuntimeError("a bug")
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(Log, "append", broken)
    request = a_produce_of((topic, [(index, a_batch(b"x")) for index in range(3)]), acks=-1)

    (answer,) = client.ask(request, version).responses

    assert [(each.index, each.error_code) for each in answer.partition_responses] == [
        (0, 0),
        (1, ErrorCode.UNKNOWN_SERVER_ERROR),
        (2, 0),
    ]
    monkeypatch.undo()
    assert append(client, topic, b"y") == 1
