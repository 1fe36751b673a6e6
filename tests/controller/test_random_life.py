"""A controller through random lives of its brokers, held against what each replica really has.

A replica's log is a number here: how many records it holds. Records are committed when every member of the ISR has them and
the ISR is large enough. Whoever leads without a mark of recovery must have everything that was ever committed; and every
image must be one that the log alone would give.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.base.settings.broker import build_settings
from klamm.controller.controller import Controller
from klamm.controller.decision import Decision
from klamm.metadata import framing, snapshot
from klamm.metadata.features import LATEST, SUPPORTED
from klamm.metadata.image import ClusterImage, ConfigKey, PartitionImage
from klamm.metadata.replay import apply
from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
)
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.elect_leaders import ElectLeadersRequest
from klamm.protocol.messages.unregister_broker import UnregisterBrokerRequest

BROKERS = range(1, 6)
SESSION = 9_000


class Process:
    """A broker: what it has said and been told."""

    def __init__(self) -> None:
        self.is_up = False
        self.epoch = -1
        # As a clean stop leaves it on disk; a crash does not.
        self.epoch_of_clean_stop = -1
        self.incarnation = Uuid(bytes(16))
        self.wants_shutdown = False


class Life:
    def __init__(
        self,
        seed: int,
        level: int,
        *,
        is_elr_enabled: bool,
        min_isr: int,
        is_unclean_enabled: bool = False,
    ) -> None:
        self.chance = random.Random(seed)
        self.min_isr = min_isr
        self.is_elr_enabled = is_elr_enabled
        self.now = 0
        features = {**LATEST, "metadata.version": level}
        if not is_elr_enabled:
            del features["eligible.leader.replicas.version"]
        configs = {ConfigKey(4, ""): {"min.insync.replicas": str(min_isr)}}
        image = ClusterImage(cluster_id="cluster", offset=9, features=features, configs=configs)
        texts = {"process.roles": "controller", "node.id": "9", "log.dirs": "/data"}
        self.settings = build_settings(
            {
                **texts,
                "controller.listener.names": "CONTROLLER",
                "listeners": "CONTROLLER://:9093",
                "controller.quorum.voters": "9@localhost:9093",
                "min.insync.replicas": str(min_isr),
                "unclean.leader.election.enable": str(is_unclean_enabled).lower(),
            }
        )
        self.controller = Controller(image, self.settings, self.chance, self.at)
        self.processes = {each: Process() for each in BROKERS}
        # By topic, and by (topic, broker): records that were ever committed, and those that a replica holds.
        self.committed: dict[str, int] = {}
        self.held: dict[tuple[str, int], int] = {}
        # The last leader epoch in which somebody acted.
        self.epochs: dict[str, int] = {}
        self.topics = 0

    @property
    def at(self) -> Now:
        return Now(self.now, self.now)

    @property
    def image(self) -> ClusterImage:
        return self.controller.image

    # Deciding

    def decide(self, decision: Decision[Any]) -> Any:
        """What a driver does; and every image must be the one that others read from the log."""
        if decision.records:
            level = self.image.metadata_version
            read = [framing.decode(framing.encode(each, level)) for each in decision.records]
            before = self.image
            offset = before.offset + len(read)
            self.controller.image, _ = apply(before, read, offset=offset, epoch=1)
            for name, topic in self.image.topics_by_name.items():
                old = before.partition(name, 0)
                self._check(name, old, topic.partitions[0])
        return decision.reply

    def _check(self, name: str, old: PartitionImage | None, new: PartitionImage) -> None:
        assert new.leader == -1 or new.leader in new.isr
        assert set(new.isr) <= set(new.replicas)
        assert not set(new.isr) & set(new.elr)
        assert len(new.directories) == len(new.replicas)
        if old is None or old is new:
            return
        # Each record is one step; one decision may hold several.
        assert new.partition_epoch > old.partition_epoch
        is_same = new.leader == old.leader
        gone = set(old.replicas) - set(new.replicas)
        assert new.leader_epoch > old.leader_epoch or (is_same and not gone)
        if new.leader not in (-1, old.leader):
            broker = self.image.brokers[new.leader]
            assert broker.is_active

    def _leads(self, name: str, partition: PartitionImage) -> None:
        """It acts as the leader for the first time in its epoch: the others follow what it has."""
        if self.epochs.get(name) == partition.leader_epoch:
            return
        self.epochs[name] = partition.leader_epoch
        has = self.held.get((name, partition.leader), 0)
        # One that was alone has all there is, even after a crash.
        was_alone = len(partition.replicas) - len(partition.adding) <= 1
        is_sure = partition.leader_recovery_state == 0 and not was_alone
        # Without an ELR the last member of an ISR leads again even if it has crashed.
        if is_sure and self.is_elr_enabled:
            assert has >= self.committed[name], f"{name}: {partition} lost committed records"
        self.committed[name] = min(self.committed[name], has)
        for each in partition.replicas:
            key = (name, each)
            self.held[key] = min(self.held.get(key, 0), has)

    # What may happen

    def step(self) -> None:
        self.now += self.chance.choice((0, 100, 1_000, 3_000))
        kind = self.chance.choices(
            [
                self.start,
                self.crash,
                self.ask_to_stop,
                self.beat_all,
                self.lose_connection,
                self.wake,
                self.write,
                self.shrink,
                self.expand,
                self.move,
                self.elect,
                self.create,
                self.unregister,
                self.take_over,
            ],
            [6, 3, 2, 10, 3, 5, 12, 6, 10, 2, 2, 2, 0.3, 0.5],
        )[0]
        kind()

    def any_broker(self, *, is_up: bool) -> tuple[int, Process] | None:
        found = [(n, each) for n, each in self.processes.items() if each.is_up == is_up]
        return self.chance.choice(found) if found else None

    def start(self) -> None:
        if (found := self.any_broker(is_up=False)) is None:
            return
        number, process = found
        incarnation = Uuid(self.chance.randbytes(16))
        request = BrokerRegistrationRequest(
            broker_id=number,
            cluster_id="cluster",
            incarnation_id=incarnation,
            listeners=[],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED.items()
            ],
            rack=None,
            log_dirs=[Uuid(b"directory-%06d" % number)],
            previous_broker_epoch=process.epoch_of_clean_stop,
        )
        try:
            reply = self.decide(self.controller.register_broker(request, self.at))
        except ApiError as error:
            if error.code != ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                raise
            return
        process.is_up, process.wants_shutdown = True, False
        process.epoch, process.epoch_of_clean_stop = reply.broker_epoch, -1
        self.beat(number)

    def crash(self) -> None:
        """It may lose what it has not flushed, and nobody knows yet."""
        if found := self.any_broker(is_up=True):
            number, process = found
            process.is_up = False
            for key in self.held:
                if key[1] == number and self.chance.random() < 0.5:
                    self.held[key] = self.chance.randint(0, self.held[key])

    def ask_to_stop(self) -> None:
        if found := self.any_broker(is_up=True):
            found[1].wants_shutdown = True
            self.beat(found[0])

    def beat_all(self) -> None:
        for number, process in self.processes.items():
            if process.is_up:
                self.beat(number)

    def beat(self, number: int) -> None:
        process = self.processes[number]
        request = BrokerHeartbeatRequest(
            broker_id=number,
            broker_epoch=process.epoch,
            current_metadata_offset=self.image.offset,
            want_shut_down=process.wants_shutdown,
        )
        try:
            reply = self.decide(self.controller.heartbeat(request, self.at))
        except ApiError as error:
            if error.code != ErrorCode.STALE_BROKER_EPOCH:
                raise
            # It was unregistered: it starts anew.
            process.is_up = False
            return
        if reply.should_shut_down:
            process.is_up = False
            process.epoch_of_clean_stop = process.epoch

    def lose_connection(self) -> None:
        if found := self.any_broker(is_up=False):
            self.decide(self.controller.connection_lost(found[0], self.at))

    def wake(self) -> None:
        while self.controller.next_wake <= self.now:
            self.decide(self.controller.wake(self.at))

    def led(self) -> list[tuple[str, PartitionImage]]:
        """Partitions whose leader is alive and knows it."""
        found = [
            (name, topic.partitions[0])
            for name, topic in self.image.topics_by_name.items()
            if (process := self.processes.get(topic.partitions[0].leader)) is not None
            and process.is_up
            and self.image.brokers[topic.partitions[0].leader].epoch == process.epoch
        ]
        for name, partition in found:
            self._leads(name, partition)
        return found

    def write(self) -> None:
        for name, partition in self.led():
            least = min(self.min_isr, len(partition.replicas))
            are_alive = all(self.is_in_step(each) for each in partition.isr)
            if len(partition.isr) >= least and are_alive:
                end = self.held.get((name, partition.leader), 0) + 1
                self.committed[name] = end
                for each in partition.isr:
                    self.held[name, each] = end

    def is_in_step(self, number: int) -> bool:
        process = self.processes[number]
        broker = self.image.brokers.get(number)
        return process.is_up and broker is not None and broker.epoch == process.epoch

    def shrink(self) -> None:
        for name, partition in self.led():
            left = [each for each in partition.isr if self.is_in_step(each)]
            if self.chance.random() < 0.2:
                left = [partition.leader]
            self.alter(name, partition, left)

    def expand(self) -> None:
        for name, partition in self.led():
            wanted = list(partition.isr)
            for each in partition.replicas:
                if each not in wanted and self.is_in_step(each):
                    self.held[name, each] = self.held.get((name, partition.leader), 0)
                    wanted.append(each)
            self.alter(name, partition, wanted)

    def alter(self, name: str, partition: PartitionImage, isr: list[int]) -> None:
        late = self.chance.random() < 0.1
        wanted = AlterPartitionRequestPartitionData(
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch - (1 if late else 0),
            new_isr_with_epochs=[
                BrokerState(broker_id=each, broker_epoch=self.processes[each].epoch) for each in isr
            ],
        )
        topic = self.image.topics_by_name[name].topic_id
        request = AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=self.processes[partition.leader].epoch,
            topics=[AlterPartitionRequestTopicData(topic_id=topic, partitions=[wanted])],
        )
        reply = self.decide(self.controller.alter_partition(request, self.at))
        code = reply.topics[0].partitions[0].error_code
        assert not late or code != 0

    def move(self) -> None:
        if not self.image.topics_by_name:
            return
        name = self.chance.choice(list(self.image.topics_by_name))
        known = list(self.image.brokers)
        replicas: list[int] | None = self.chance.sample(known, min(len(known), 3))
        if self.chance.random() < 0.3 or not replicas:
            replicas = None
        partition = ReassignablePartition(partition_index=0, replicas=replicas)
        request = AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=name, partitions=[partition])]
        )
        self.decide(self.controller.alter_partition_reassignments(request, self.at))

    def elect(self) -> None:
        request = ElectLeadersRequest(election_type=0, topic_partitions=None)
        self.decide(self.controller.elect_leaders(request, self.at))

    def create(self) -> None:
        if self.topics < 6:
            self.topics += 1
            factor = self.chance.choice((1, 2, 3))
            name = f"topic-{self.topics}"
            self.committed[name] = 0
            topic = CreatableTopic(name=name, num_partitions=1, replication_factor=factor)
            self.decide(self.controller.create_topics(CreateTopicsRequest(topics=[topic]), self.at))

    def unregister(self) -> None:
        if self.image.brokers:
            number = self.chance.choice(list(self.image.brokers))
            request = UnregisterBrokerRequest(broker_id=number)
            self.decide(self.controller.unregister_broker(request, self.at))

    def take_over(self) -> None:
        """Another controller goes on from a snapshot."""
        data = snapshot.write(self.image, now=0)
        at = OffsetAndEpoch(self.image.offset + 1, 1)
        read = snapshot.read(data, at, cluster_id="cluster")
        assert read.topics_by_name == self.image.topics_by_name
        assert read.brokers == self.image.brokers
        self.controller = Controller(read, self.settings, self.chance, self.at)

    # The end

    def heal(self) -> None:
        """Everybody lives and is heard: each partition that can have a leader gets one."""
        for _ in range(8):
            for _ in BROKERS:
                self.lose_all()
                self.start()
            self.beat_all()
            self.expand()

    def lose_all(self) -> None:
        for number, process in self.processes.items():
            if not process.is_up:
                self.decide(self.controller.connection_lost(number, self.at))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    ("level", "is_elr_enabled", "min_isr"), [(30, True, 2), (30, True, 1), (16, False, 2)]
)
def test_no_clean_leader_ever_lacks_what_was_committed(seed, level, is_elr_enabled, min_isr):
    life = Life(seed, level, is_elr_enabled=is_elr_enabled, min_isr=min_isr)

    for _ in range(150):
        life.step()
    life.heal()

    for topic in life.image.topics_by_name.values():
        (partition,) = topic.partitions
        assert partition.leader != -1
        assert set(partition.isr) == set(partition.replicas)


@pytest.mark.parametrize("seed", range(20))
def test_where_unclean_elections_are_allowed_somebody_leads_as_long_as_anybody_lives(seed):
    life = Life(seed, 30, is_elr_enabled=True, min_isr=2, is_unclean_enabled=True)

    for _ in range(150):
        life.step()
        for topic in life.image.topics_by_name.values():
            (partition,) = topic.partitions
            # Who is only on its way in has nothing: it is not asked before the next round of elections.
            old = [each for each in partition.replicas if each not in partition.adding]
            brokers = (life.image.brokers.get(each) for each in old)
            if any(each is not None and each.is_active for each in brokers):
                assert partition.leader != -1
