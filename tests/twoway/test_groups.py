"""Groups of every kind go from klamm to Kafka and back: their members live on, and nobody reads a record twice."""

import re
import shutil
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from confluent_kafka import Consumer, TopicPartition

from klamm.base.errors import ErrorCode
from support.kafka_jars import java_tool
from support.patience import eventually
from twoway.asking import PATIENCE_SECONDS, Asking
from twoway.handover import CHANGES, PATIENT, Handover, Scene

pytestmark = pytest.mark.oracle

CLASSIC, CONSUMER = "classic", "consumer"
TEXT = "half of it, ½"


class Member:
    """A real consumer, and what happened to it."""

    def __init__(self, address: str, group: str, protocol: str, **options: str | int) -> None:
        self.offsets: list[int] = []
        self.rebalances: list[str] = []
        settings: dict[str, Any] = {
            "bootstrap.servers": address,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **PATIENT,
            **{key.replace("_", "."): value for key, value in options.items()},
        }
        if protocol == CLASSIC:
            settings |= {"session.timeout.ms": 60_000, "heartbeat.interval.ms": 500}
        self.consumer = Consumer(settings)

    def subscribe(self, *topics: str) -> None:
        self.consumer.subscribe(
            list(topics),
            on_assign=lambda *_: self.rebalances.append("assigned"),
            on_revoke=lambda *_: self.rebalances.append("revoked"),
            on_lost=lambda *_: self.rebalances.append("lost"),
        )

    def read(self, count: int) -> None:
        """That many more records."""
        wanted = len(self.offsets) + count

        def poll() -> None:
            message = self.consumer.poll(1)
            if message is not None and message.error() is None:
                self.offsets.append(message.offset() or 0)
            assert len(self.offsets) == wanted

        eventually(poll, seconds=PATIENCE_SECONDS)

    def commit(self, topic: str, text: str = "") -> None:
        at = TopicPartition(topic, 0, self.offsets[-1] + 1, metadata=text)
        (done,) = self.consumer.commit(offsets=[at], asynchronous=False)
        assert done.error is None

    @property
    def partitions(self) -> set[tuple[str, int]]:
        return {(each.topic, each.partition) for each in self.consumer.assignment()}

    def close(self) -> None:
        self.consumer.close()


class GroupScene(Scene):
    protocol: ClassVar[str] = CLASSIC
    seen_before: Any
    seen_after: Any

    def member(self, asking: Asking, **options: str | int) -> Member:
        member = Member(asking.address, self.name, self.protocol, **options)
        self.clients.callback(member.close)
        return member


class LiveClassicMember(GroupScene):
    """It reads five records at one broker and the rest at the other, and knows of no change."""

    title = "live-classic"

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking)
        self.write(asking, self.topic, range(10))
        self.one = self.member(asking)
        self.one.subscribe(self.topic)
        self.one.read(5)
        self.one.commit(self.topic, TEXT)
        self.id_before = self.one.consumer.memberid()
        self.seen_before = asking.group(self.name)

    def after(self, asking: Asking) -> None:
        self.seen_after = asking.group(self.name)
        self.write(asking, self.topic, range(10, 15))
        self.one.read(10)
        self.one.commit(self.topic)
        self.id_after = self.one.consumer.memberid()
        self.rebalances = list(self.one.rebalances)
        self.committed = asking.offsets(self.name)


class LiveConsumerMember(LiveClassicMember):
    title = "live-consumer"
    protocol = CONSUMER


class ClassicSuccessor(GroupScene):
    """One member reads, commits and leaves; at the other broker another one goes on."""

    title = "successor-classic"

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking)
        self.write(asking, self.topic, range(10))
        self.first = self.member(asking)
        self.first.subscribe(self.topic)
        self.first.read(5)
        self.first.commit(self.topic, TEXT)
        self.first.close()
        self.seen_before = asking.group(self.name)

    def after(self, asking: Asking) -> None:
        self.seen_after = asking.group(self.name)
        self.second = self.member(asking)
        self.second.subscribe(self.topic)
        self.second.read(5)


class ConsumerSuccessor(ClassicSuccessor):
    title = "successor-consumer"
    protocol = CONSUMER


class ClassicStaticMember(GroupScene):
    """It goes away without leaving, and comes back under its name at the other broker."""

    title = "static-classic"

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking)
        self.write(asking, self.topic, range(10))
        self.first = self.member(asking, group_instance_id="ann")
        self.first.subscribe(self.topic)
        self.first.read(5)
        self.first.commit(self.topic, TEXT)
        self.first.close()
        self.seen_before = asking.group(self.name)

    def after(self, asking: Asking) -> None:
        self.seen_after = asking.group(self.name)
        self.second = self.member(asking, group_instance_id="ann")
        self.second.subscribe(self.topic)
        self.second.read(5)
        self.seen_at_last = asking.group(self.name)


class ConsumerStaticMember(ClassicStaticMember):
    title = "static-consumer"
    protocol = CONSUMER


class SeveralMembers(GroupScene):
    """Three members share seven partitions of two topics. At the other broker one leaves, and two have it all."""

    title = "several"
    protocol = CONSUMER

    def before(self, asking: Asking) -> None:
        topics = self.make_topic(asking, "-a", 4), self.make_topic(asking, "-b", 3)
        self.wanted = {(topics[0], each) for each in range(4)}
        self.wanted |= {(topics[1], each) for each in range(3)}
        self.members = [self.member(asking) for _ in range(3)]
        for each in self.members:
            each.subscribe(*topics)
        self._wait_until_shared(asking, self.members)
        self.seen_before = asking.group(self.name)

    def after(self, asking: Asking) -> None:
        self.seen_after = asking.group(self.name)
        first, *rest = self.members
        for each in rest:
            each.consumer.poll(0.1)
        first.close()
        self._wait_until_shared(asking, rest)
        self.shares = [each.partitions for each in rest]

    def _wait_until_shared(self, asking: Asking, members: list[Member]) -> None:
        def look() -> None:
            for each in members:
                each.consumer.poll(0.1)
            owned = sorted(place for each in members for place in each.partitions)
            assert owned == sorted(self.wanted)
            assert all(each.partitions for each in members)
            (described,) = asking.group(self.name)["consumer"]
            assert described["group_state"] == "Stable"
            assert len(described["members"]) == len(members)

        eventually(look, seconds=PATIENCE_SECONDS)


class MixedMembers(GroupScene):
    """A group in the middle of its way from the old protocol to the new one: a member of each."""

    title = "mixed"

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking, partitions=2)
        self.members = [
            Member(asking.address, self.name, protocol) for protocol in (CLASSIC, CONSUMER)
        ]
        for each in self.members:
            self.clients.callback(each.close)
            each.subscribe(self.topic)
            each.consumer.poll(1)
        eventually(lambda: self._look(asking), seconds=PATIENCE_SECONDS)
        self.seen_before = asking.group(self.name)

    def _look(self, asking: Asking) -> None:
        for each in self.members:
            each.consumer.poll(0.1)
        assert [len(each.partitions) for each in self.members] == [1, 1]
        (described,) = asking.group(self.name)["consumer"]
        assert described["group_state"] == "Stable"

    def after(self, asking: Asking) -> None:
        self.seen_after = asking.group(self.name)
        for partition in range(2):
            self.write(asking, self.topic, range(3), partition)
        for each in self.members:
            each.read(3)
            each.consumer.commit(asynchronous=False)
        self.committed = asking.offsets(self.name)


class RegexMember(GroupScene):
    """It has subscribed to a pattern, which the broker resolves."""

    title = "regex"
    protocol = CONSUMER

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking, "-matching")
        self.write(asking, self.topic, range(5))
        self.one = self.member(asking)
        self.one.subscribe(f"^{self.name}-m.*")
        self.one.read(5)
        self.seen_before = asking.group(self.name)

    def after(self, asking: Asking) -> None:
        self.seen_after = asking.group(self.name)
        self.write(asking, self.topic, range(5, 10))
        self.one.read(5)
        self.one.commit(self.topic)
        self.rebalances = list(self.one.rebalances)


class OffsetsAlone(GroupScene):
    """Offsets of somebody who was never a member, one of them deleted, and a group that is deleted as a whole."""

    title = "simple"

    def before(self, asking: Asking) -> None:
        self.topic = self.make_topic(asking, partitions=3)
        self.deleted = f"{self.name}-deleted"
        for partition in range(3):
            self.write(asking, self.topic, range(9), partition)
            asking.commit(self.name, self.topic, 1, partition=partition)
            asking.commit(self.name, self.topic, 3 + partition, TEXT, partition)
            asking.commit(self.deleted, self.topic, 7, partition=partition)
        gone = [{"name": self.topic, "partitions": [{"partition_index": 1}]}]
        asking.ask("offset_delete", 0, group_id=self.name, topics=gone)
        asking.ask("delete_groups", 2, groups_names=[self.deleted])
        self.seen_before = [asking.group(each) for each in (self.name, self.deleted)]

    def after(self, asking: Asking) -> None:
        self.seen_after = [asking.group(each) for each in (self.name, self.deleted)]


CAST = (
    LiveClassicMember,
    LiveConsumerMember,
    ClassicSuccessor,
    ConsumerSuccessor,
    ClassicStaticMember,
    ConsumerStaticMember,
    SeveralMembers,
    MixedMembers,
    RegexMember,
    OffsetsAlone,
)


@pytest.fixture(scope="module")
def handover(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handover]:
    path = tmp_path_factory.mktemp("groups")
    yield Handover(path, CAST)
    shutil.rmtree(path)


@pytest.fixture(params=CHANGES.values(), ids=list(CHANGES))
def change(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("kind", CAST, ids=lambda kind: str(kind.title))
def test_group_is_described_as_the_last_broker_described_it(
    handover: Handover, change: int, kind: type[GroupScene]
) -> None:
    scene = handover.scene(change, kind)

    assert scene.seen_after == scene.seen_before


@pytest.mark.parametrize("kind", [LiveClassicMember, LiveConsumerMember])
def test_live_member_misses_no_record_and_reads_none_twice(
    handover: Handover, change: int, kind: type[LiveClassicMember]
) -> None:
    scene = handover.scene(change, kind)

    assert scene.one.offsets == list(range(15))
    assert scene.committed == {(scene.topic, 0): (15, -1, "", ErrorCode.NONE)}


@pytest.mark.parametrize("kind", [LiveClassicMember, LiveConsumerMember])
def test_live_member_keeps_its_identity_and_its_partitions(
    handover: Handover, change: int, kind: type[LiveClassicMember]
) -> None:
    scene = handover.scene(change, kind)

    assert scene.id_after == scene.id_before
    assert scene.rebalances == ["assigned"]


@pytest.mark.parametrize("kind", [ClassicSuccessor, ConsumerSuccessor])
def test_next_member_begins_where_the_last_one_committed(
    handover: Handover, change: int, kind: type[ClassicSuccessor]
) -> None:
    scene = handover.scene(change, kind)

    (offset, _, text, error) = scene.seen_after["offsets"][scene.topic, 0]
    assert (offset, text, error) == (5, TEXT, ErrorCode.NONE)
    assert scene.second.offsets == list(range(5, 10))


@pytest.mark.parametrize("kind", [ClassicStaticMember, ConsumerStaticMember])
def test_static_member_comes_back_under_its_name_without_a_rebalance(
    handover: Handover, change: int, kind: type[ClassicStaticMember]
) -> None:
    scene = handover.scene(change, kind)

    assert scene.second.offsets == list(range(5, 10))
    facet, name = (
        ("classic", "group_instance_id")
        if scene.protocol == CLASSIC
        else ("consumer", "instance_id")
    )
    (before,), (after,) = scene.seen_before[facet], scene.seen_at_last[facet]
    assert [member[name] for member in before["members"]] == ["ann"]
    assert [member[name] for member in after["members"]] == ["ann"]
    assert after["group_state"] == "Stable"
    assert after.get("group_epoch") == before.get("group_epoch")


def test_partitions_of_a_member_that_leaves_go_to_the_others(
    handover: Handover, change: int
) -> None:
    scene = handover.scene(change, SeveralMembers)

    left, right = scene.shares
    assert (left | right, left & right) == (scene.wanted, set())
    assert abs(len(left) - len(right)) == 1
    assert "lost" not in [event for each in scene.members for event in each.rebalances]


def test_members_of_both_protocols_in_one_group_read_on(handover: Handover, change: int) -> None:
    scene = handover.scene(change, MixedMembers)

    (described,) = scene.seen_after["consumer"]
    assert sorted(member["member_type"] for member in described["members"]) == [0, 1]
    assert [each.offsets for each in scene.members] == [[0, 1, 2], [0, 1, 2]]
    assert {place: offset for place, (offset, *_) in scene.committed.items()} == {
        (scene.topic, 0): 3,
        (scene.topic, 1): 3,
    }


def test_member_with_a_pattern_reads_on(handover: Handover, change: int) -> None:
    scene = handover.scene(change, RegexMember)

    assert scene.one.offsets == list(range(10))
    assert scene.rebalances == ["assigned"]


def test_what_was_deleted_stays_deleted(handover: Handover, change: int) -> None:
    scene = handover.scene(change, OffsetsAlone)

    kept, deleted = scene.seen_after
    assert {place: offset for place, (offset, *_) in kept["offsets"].items()} == {
        (scene.topic, 0): 3,
        (scene.topic, 2): 5,
    }
    assert (deleted["listed"], deleted["offsets"]) == ([], {})


def test_every_broker_compacted_what_the_others_wrote(handover: Handover) -> None:
    far = [clean["__consumer_offsets"] for clean in handover.clean_up_to]

    assert far == sorted(set(far))


def test_kafkas_tool_reads_every_record_of_the_groups(handover: Handover) -> None:
    files = sorted(map(str, handover.data.glob("__consumer_offsets-*/*.log")))
    printed = java_tool("DumpLogSegments", "--offsets-decoder", "--files", ",".join(files))

    records = [line for line in printed.splitlines() if line.startswith("| offset:")]
    kinds = [re.search(r'key: {"type":"(\d+)"', record) for record in records]
    # Offsets, classic groups, the parts of consumer groups, patterns.
    found = {kind[1] if kind else None for kind in kinds}
    assert found >= {"1", "2", "3", "5", "6", "7", "8", "16"}
    assert None not in found
    assert "skipping" not in printed


def test_neither_broker_finds_anything_to_complain_about(handover: Handover) -> None:
    assert handover.complaints == []
