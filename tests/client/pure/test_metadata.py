"""What answers to Metadata do to the view of the cluster."""

from klamm.base.errors import ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.client.environment import Address
from klamm.client.metadata import ClusterView, Node
from klamm.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

OLD, NEW = Uuid(b"o" * 16), Uuid(b"n" * 16)


def topic(
    name: str = "t", *, leader: int = 1, epoch: int = 0, topic_id: Uuid = OLD
) -> MetadataResponseTopic:
    part = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return MetadataResponseTopic(name=name, topic_id=topic_id, partitions=[part])


def view_of(*answers: MetadataResponse, is_complete: bool = False) -> ClusterView:
    view = ClusterView()
    for answer in answers:
        view = view.absorb(answer, is_complete=is_complete)
    return view


def leader_of(view: ClusterView) -> int | None:
    part = view.partition(TopicPartition("t", 0))
    return part.leader if part else None


def test_newer_leader_replaces_the_older_one_and_not_the_other_way_round() -> None:
    first = MetadataResponse(topics=[topic(leader=1, epoch=5)])
    newer = MetadataResponse(topics=[topic(leader=2, epoch=6)])

    assert leader_of(view_of(first, newer)) == 2
    assert leader_of(view_of(newer, first)) == 2


def test_topic_that_was_made_anew_begins_at_a_low_epoch() -> None:
    old = MetadataResponse(topics=[topic(leader=1, epoch=5, topic_id=OLD)])
    new = MetadataResponse(topics=[topic(leader=2, epoch=0, topic_id=NEW)])

    view = view_of(old, new)

    assert (leader_of(view), view.name_of(NEW), view.name_of(OLD)) == (2, "t", None)


def test_topic_that_is_gone_is_forgotten_and_the_reason_kept() -> None:
    gone = MetadataResponseTopic(name="t", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    view = view_of(MetadataResponse(topics=[topic()]), MetadataResponse(topics=[gone]))

    assert ("t" in view.topics, view.errors) == (False, {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


def test_hint_of_a_newer_leader_is_taken_and_an_old_or_useless_one_is_not() -> None:
    partition = TopicPartition("t", 0)
    view = view_of(MetadataResponse(topics=[topic(leader=1, epoch=5)]))
    node = Node(2, Address("two", 2), None)

    assert leader_of(view.with_leader(partition, 2, 6, [node])) == 2
    assert view.with_leader(partition, 2, 5, [node]) is view
    assert view.with_leader(partition, 2, 6, []) is view
    assert view.with_leader(TopicPartition("other", 0), 2, 6, [node]) is view


def test_answer_about_some_topics_leaves_the_others() -> None:
    answers = [MetadataResponse(topics=[topic(name)]) for name in ("a", "b")]

    assert set(view_of(*answers).topics) == {"a", "b"}
    assert set(view_of(*answers, is_complete=True).topics) == {"b"}
