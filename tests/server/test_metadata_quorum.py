"""The quorum of one on a disk that can crash: what was answered survives, and nothing is seen too early."""

import asyncio
import random
from collections import Counter
from dataclasses import replace

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import OffsetAndEpoch
from klamm.base.settings.broker import build_settings
from klamm.controller.decision import Decision
from klamm.log.results import Origin
from klamm.metadata import framing, snapshot
from klamm.metadata.features import LATEST
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.metadata.records.configs import ConfigRecord, FeatureLevelRecord
from klamm.metadata.records.log import BeginTransactionRecord
from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from klamm.protocol.messages.control import KRaftVersionRecord, VotersRecord, VotersRecordVoter
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.raft import election_state
from klamm.server.broker_lifecycle import BrokerLifecycle
from klamm.server.loops.joining import controller_request, register_controller
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.server.storage import DataDirectories, StorageError
from klamm.server.world.ports import World
from klamm.server.world.real import real_world
from klamm.testing.clock import ManualClock
from klamm.testing.disk import MemoryDisk

DATA = "/data"
LOG = f"{DATA}/__cluster_metadata-0"
CONTROLLER = Endpoint("CONTROLLER", "localhost", 9093)


class Stage:
    """A disk, and nodes that start and stop on it."""

    def __init__(self, **settings: str) -> None:
        self.disk = MemoryDisk()
        self.clock = ManualClock(1_000_000)
        self.chance = random.Random(5)
        self.failures: list[OSError] = []
        texts = {name.replace("_", "."): value for name, value in settings.items()}
        base = {"process.roles": "broker,controller", "node.id": "1", "log.dirs": DATA}
        self.settings = build_settings({**base, "metadata.max.idle.interval.ms": "0", **texts})

    @property
    def world(self) -> World:
        return replace(real_world(self.disk), clock=self.clock, chance=self.chance)

    def make(self) -> MetadataQuorum:
        return MetadataQuorum(
            self.world,
            self.settings,
            directories=self.directories(),
            controller_endpoints=[CONTROLLER],
            on_failure=self.failures.append,
        )

    def directories(self) -> DataDirectories:
        return DataDirectories.open(self.world, self.settings)

    async def start(self) -> MetadataQuorum:
        """With the broker that is in the same process."""
        quorum = self.make()
        await quorum.start()
        directories = self.directories()
        request = controller_request(directories, endpoints=[CONTROLLER], chance=self.chance)
        registering = asyncio.create_task(register_controller(quorum, request))
        await asyncio.sleep(0)
        self.broker = BrokerLifecycle(
            self.world,
            self.settings,
            directories=directories,
            quorum=quorum,
            endpoints=[Endpoint("PLAINTEXT", "localhost", 9092)],
        )
        await self.broker.register()
        await self.broker.unfence()
        await registering
        return quorum

    async def stop(self, quorum: MetadataQuorum) -> None:
        await self.broker.leave()
        await quorum.close()

    def kinds(self) -> list[str]:
        """The kinds of records in the log, control batches included."""
        store = MetadataLog(self.disk, DATA, self.settings.quorum, self.clock.wall())
        kinds = []
        for header, records in store.batches(0, store.log.end_offset):
            kinds += ["control"] if header.is_control else [type(r).__name__ for r in records]
        return kinds


def creation(*names: str, partitions: int = 1) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            for name in names
        ]
    )


def create(quorum: MetadataQuorum, *names: str):
    return quorum.submit(lambda controller, now: controller.create_topics(creation(*names), now))


async def first_of_block(quorum: MetadataQuorum) -> int:
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=quorum.broker_epoch)
    block = await quorum.controller.ask(request)
    assert block.producer_id_len == 1000
    return block.producer_id_start


async def start_and_stop(stage: Stage) -> None:
    quorum = await stage.start()
    await stage.stop(quorum)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_new_log_is_what_kafka_writes(stage):
    async def run():
        quorum = await stage.start()

        assert quorum.image.features == LATEST
        assert quorum.image.config(4, "") == {"min.insync.replicas": "1"}
        broker = quorum.image.brokers[1]
        assert broker.is_active
        assert broker.endpoints == (Endpoint("PLAINTEXT", "localhost", 9092),)
        assert quorum.image.controllers[1].endpoints == (CONTROLLER,)
        assert (quorum.epoch, quorum.broker_epoch) == (1, 11)
        assert quorum.high_watermark == quorum.end_offset == quorum.image.offset + 1

    asyncio.run(run())

    assert stage.kinds() == [
        "control",
        "BeginTransactionRecord",
        *["FeatureLevelRecord"] * 6,
        "ConfigRecord",
        "EndTransactionRecord",
        "RegisterControllerRecord",
        "RegisterBrokerRecord",
        "BrokerRegistrationChangeRecord",
    ]
    assert b'"leaderId":1,"leaderEpoch":1' in stage.disk.read(f"{LOG}/quorum-state")


def test_the_callbacks_hear_of_a_change_before_the_submitter_goes_on(stage):
    async def run():
        quorum = await stage.start()
        heard = []
        quorum.on_change(lambda image, delta: heard.append((image, delta.created_topics)))
        answer = create(quorum, "t")
        assert (heard, quorum.image.topics_by_name) == ([], {})

        await answer

        ((image, (topic,)),) = heard
        assert image is quorum.image
        assert image.topics_by_name["t"] is topic

    asyncio.run(run())


def test_decisions_build_on_each_other_before_they_are_committed(stage):
    async def run():
        quorum = await stage.start()

        first, second = create(quorum, "t"), create(quorum, "t")

        assert not second.done()
        assert (await second).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        # An answer waits for what it saw, also when it wrote nothing itself.
        assert first.done()
        assert first.result().topics[0].error_code == 0

    asyncio.run(run())


def test_many_changes_share_an_fsync(stage):
    async def run():
        quorum = await stage.start()
        syncs = Counter()
        stage.disk.may_fail = lambda operation, path: syncs.update([operation])

        await asyncio.gather(*[create(quorum, f"t{number}") for number in range(50)])

        assert len(quorum.image.topics_by_name) == 50
        assert syncs["pwrite"] >= 50
        assert syncs["fsync"] <= 4

    asyncio.run(run())


def a_large_decision() -> list[ConfigRecord]:
    return [
        ConfigRecord(resource_type=2, resource_name=f"t{each}", name="retention.ms", value="1")
        for each in range(25_000)
    ]


def test_a_very_large_decision_is_split_into_batches(stage):
    images: list[ClusterImage] = []

    async def run():
        quorum = await stage.start()
        begun, before = quorum.end_offset, len(quorum.image.configs)
        quorum.on_change(lambda image, delta: images.append(image))
        await quorum.submit(lambda *_: Decision("done", a_large_decision()))
        assert len(quorum.image.configs) == before + 25_000
        batches = list(quorum._store.batches(begun, quorum.end_offset))
        await stage.stop(quorum)
        return [len(records) for _, records in batches]

    assert asyncio.run(run()) == [10_000, 10_000, 5_002]
    # Nobody has seen a part of it.
    assert len({len(image.configs) for image in images}) == 1


def test_a_decision_of_which_only_some_batches_were_committed_counts_for_nothing(stage):
    async def run():
        quorum = await stage.start()
        begun, before = quorum.end_offset, quorum.image.configs
        await quorum.submit(lambda *_: Decision("done", a_large_decision()))
        # As the next leader may have it.
        store = MetadataLog(stage.disk, DATA, stage.settings.quorum, stage.clock.wall())
        store.log.truncate_to(begun + 20_000)

        quorum = await stage.start()

        assert quorum.image.configs == before
        assert (await create(quorum, "t")).topics[0].error_code == 0

    asyncio.run(run())

    assert stage.kinds().count("AbortTransactionRecord") == 1


def test_a_refused_operation_leaves_nothing_behind(stage):
    def refuse(controller, now):
        raise ApiError(ErrorCode.POLICY_VIOLATION)

    async def run():
        quorum = await stage.start()
        end = quorum.end_offset

        with pytest.raises(ApiError):
            quorum.submit(refuse)

        assert quorum.end_offset == end

    asyncio.run(run())


def test_producer_ids_go_on_after_a_restart(stage):
    async def run():
        quorum = await stage.start()
        assert await first_of_block(quorum) == 0
        assert await first_of_block(quorum) == 1000
        await stage.stop(quorum)

        quorum = await stage.start()
        assert await first_of_block(quorum) == 2000

    asyncio.run(run())


def test_a_clean_restart_brings_everything_back_in_a_new_epoch(stage):
    async def run():
        quorum = await stage.start()
        await create(quorum, "a", "b.c")
        before = quorum.image
        await stage.stop(quorum)

        quorum = await stage.start()

        image = quorum.image
        assert quorum.epoch == 2
        assert image.cluster_id == before.cluster_id
        assert image.topics_by_name.keys() == {"a", "b.c"}
        partition = image.partition("a", 0)
        assert (partition.leader, partition.isr, partition.leader_epoch > 0) == (1, (1,), True)
        assert image.topics_by_name["a"].topic_id == before.topics_by_name["a"].topic_id
        assert image.brokers[1].epoch > before.brokers[1].epoch

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(40))
def test_a_crash_loses_nothing_that_was_answered_and_no_epoch_is_led_twice(stage, seed):
    rng = random.Random(seed)
    answered: set[str] = set()
    asked: set[str] = set()
    epochs: list[int] = []

    async def live() -> None:
        quorum = await stage.start()
        epochs.append(quorum.epoch)
        assert answered <= quorum.image.topics_by_name.keys() <= asked
        answers = {}
        for number in range(rng.randrange(12)):
            name = f"t-{len(epochs)}-{number}"
            asked.add(name)
            answers[name] = create(quorum, name)
            if rng.random() < 0.4:
                await answers[name]
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        answered.update(name for name, answer in answers.items() if answer.done())
        stage.disk.crash(rng)

    for _ in range(5):
        asyncio.run(live())

    assert epochs == sorted(set(epochs))


def test_a_failed_fsync_is_told_to_all_who_wait_and_is_final(stage):
    async def run():
        quorum = await stage.start()
        stage.disk.fail("fsync")
        answers = [create(quorum, "a"), create(quorum, "b")]

        results = await asyncio.gather(*answers, return_exceptions=True)

        assert [each.code for each in results] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
        assert len(stage.failures) == 1
        assert quorum.image.topics_by_name == {}
        stage.disk.heal()
        with pytest.raises(ApiError):
            create(quorum, "c")
        await stage.stop(quorum)

    asyncio.run(run())


def test_a_failed_write_changes_nothing(stage):
    async def run():
        quorum = await stage.start()
        stage.disk.fail("pwrite", ".log")

        with pytest.raises(ApiError) as failed:
            create(quorum, "a")

        assert failed.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert len(stage.failures) == 1
        stage.disk.heal()
        await stage.stop(quorum)

        quorum = await stage.start()
        assert quorum.image.topics_by_name == {}

    asyncio.run(run())


def test_an_idle_log_moves_without_waiting_for_the_disk():
    stage = Stage(metadata_max_idle_interval_ms="1")

    async def run():
        quorum = await stage.start()
        end = quorum.end_offset
        stage.clock.advance(1)
        while quorum.end_offset == end:
            await asyncio.sleep(0)
        await stage.stop(quorum)

    asyncio.run(run())

    assert "NoOpRecord" in stage.kinds()


def test_a_long_log_gets_snapshots_and_old_ones_go():
    stage = Stage(
        metadata_log_max_record_bytes_between_snapshots="2000", metadata_max_retention_bytes="3000"
    )

    async def run():
        quorum = await stage.start()
        for number in range(60):
            await create(quorum, f"t{number}")
        image = quorum.image
        await stage.stop(quorum)

        names = stage.disk.listdir(LOG)
        snapshots = [found for name in names if (found := snapshot.parse_name(name))]
        assert 1 <= len(snapshots) <= 4
        assert "00000000000000000000.log" not in names
        quorum = await stage.start()
        assert quorum.image.topics_by_name.keys() == image.topics_by_name.keys()
        await stage.stop(quorum)

    asyncio.run(run())


def test_a_snapshot_that_came_without_its_log_is_enough(stage):
    async def run():
        quorum = await stage.start()
        await create(quorum, "t")
        image = quorum.image
        await stage.stop(quorum)

        at = OffsetAndEpoch(image.offset + 1, image.epoch)
        stage.disk.rmtree(LOG)
        stage.disk.mkdir(LOG)
        stage.disk.write_atomic(f"{LOG}/{snapshot.file_name(at)}", snapshot.write(image, now=0))

        quorum = await stage.start()
        assert quorum.image.topics_by_name.keys() == {"t"}
        assert quorum.epoch == image.epoch + 1
        assert quorum.end_offset > at.offset

    asyncio.run(run())


def voters(*ids: int) -> list[object]:
    """The control records of a cluster that was formatted with voters of its own."""
    version = KRaftVersionRecord(kraft_version=1)
    return [version, VotersRecord(voters=[VotersRecordVoter(voter_id=each) for each in ids])]


def format_with_voters(stage: Stage, *ids: int) -> None:
    """As `kafka-storage format --standalone` leaves a directory."""
    DataDirectories.open(stage.world, stage.settings)
    stage.disk.mkdir(LOG)
    empty = snapshot.write(ClusterImage(), now=0, voters=voters(*ids))
    stage.disk.write_atomic(f"{LOG}/{snapshot.file_name(OffsetAndEpoch(0, 0))}", empty)


def test_voters_that_stand_in_the_log_are_carried_on():
    stage = Stage(metadata_log_max_record_bytes_between_snapshots="1")
    format_with_voters(stage, 1)

    async def run():
        quorum = await stage.start()
        assert quorum.image.features == LATEST
        await create(quorum, "t")
        await stage.stop(quorum)

    asyncio.run(run())

    assert b'"data_version":1' in stage.disk.read(f"{LOG}/quorum-state")
    names = stage.disk.listdir(LOG)
    newest = max(name for name in names if snapshot.parse_name(name))
    assert newest > snapshot.file_name(OffsetAndEpoch(1, 0))
    assert snapshot.head_of(stage.disk.read(f"{LOG}/{newest}"))[1:] == voters(1)
    store = MetadataLog(stage.disk, DATA, stage.settings.quorum, stage.clock.wall())
    assert store.load_voters()[-1][1].messages == voters(1)


def test_a_node_does_not_lead_a_quorum_whose_state_file_names_other_voters(stage):
    asyncio.run(start_and_stop(stage))
    state = election_state.parse(stage.disk.read(f"{LOG}/quorum-state").decode())
    of_three = election_state.dump(replace(state, voters=(1, 2, 3)))
    stage.disk.write_atomic(f"{LOG}/quorum-state", of_three.encode())

    with pytest.raises(StorageError, match=r"voters .* are \[1, 2, 3\]"):
        asyncio.run(stage.start())


def test_a_quorum_that_never_started_can_be_closed(stage):
    async def run():
        quorum = stage.make()
        await quorum.close()

    asyncio.run(run())


def test_a_transaction_whose_leader_died_is_aborted(stage):
    async def run():
        quorum = await stage.start()
        await stage.stop(quorum)
        store = MetadataLog(stage.disk, DATA, stage.settings.quorum, stage.clock.wall())
        _append(store, BeginTransactionRecord(), FeatureLevelRecord(name="x", feature_level=1))

        quorum = await stage.start()

        assert "x" not in quorum.image.features
        assert quorum.image.brokers[1].is_active

    asyncio.run(run())

    assert stage.kinds().count("AbortTransactionRecord") == 1


def _append(store, *records):
    rows = [Record(timestamp=0, value=framing.encode(record, 30)) for record in records]
    store.log.append(build_batch(rows), leader_epoch=1, now=0, origin=Origin.RAFT)


def test_an_unreadable_quorum_state_stops_the_start(stage):
    async def run():
        quorum = await stage.start()
        await stage.stop(quorum)
        stage.disk.write_atomic(f"{LOG}/quorum-state", b"{")

        with pytest.raises(StorageError, match="quorum-state"):
            await stage.start()

    asyncio.run(run())
