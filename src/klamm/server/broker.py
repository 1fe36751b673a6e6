"""The broker as its handlers see it: the machines of this node, the metadata they follow, and what waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings, topic_settings
from klamm.base.settings.declare import LONG_MAX
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.metadata.delta import Delta
from klamm.metadata.image import ClusterImage
from klamm.metadata.resource_type import ResourceType
from klamm.replication.acks import Waiter
from klamm.replication.fetch_sessions import FetchSessions
from klamm.replication.partition import Partition
from klamm.replication.replica_selector import RACK_AWARE
from klamm.replication.replicas import Change, Replicas
from klamm.server.api_table import BROKER, served
from klamm.server.authorization.audit import Audit
from klamm.server.authorization.authorization import Authorization
from klamm.server.certificates import ListenerCertificates
from klamm.server.controller_port import ControllerPort
from klamm.server.coordination.coordinators import group_coordinator, transaction_coordinator
from klamm.server.coordination.internal_topics import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    InternalTopics,
)
from klamm.server.coordination.markers import MarkerWriter
from klamm.server.directories.assignments import DirectoryAssignments
from klamm.server.directories.moves import DirectoryMoves
from klamm.server.heavy.turns import HeavyRequests
from klamm.server.loops.checkpointer import Checkpointer
from klamm.server.loops.flusher import Flusher
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.server.loops.replica_fetchers import ReplicaFetchers
from klamm.server.metadata.auto_topic_creation import AutoTopicCreation
from klamm.server.metadata.config_resources import dynamic_configs
from klamm.server.metadata.metadata_answers import MetadataAnswers
from klamm.server.peers.peers import Peers
from klamm.server.peers.way import way_to_brokers
from klamm.server.producer_ids import ProducerIds
from klamm.server.quota.client_quota_manager import ClientQuotaManager
from klamm.server.replication.alter_partition_manager import AlterPartitionManager
from klamm.server.replication.waiting import Waiting
from klamm.server.verification.verifier import TransactionVerifier
from klamm.server.world.ports import World
from klamm.storage.log_directories import LogDirectory

log = logging.getLogger(__name__)


class Broker:
    # Of this node's listeners; told before anybody is served.
    certificates: ListenerCertificates

    def __init__(
        self,
        settings: Settings,
        *,
        world: World,
        quorum: MetadataQuorum,
        directories: Sequence[LogDirectory],
        authorization: Authorization | None = None,
        audit: Audit | None = None,
    ) -> None:
        self.settings = settings
        self.world = world
        self.clock = world.clock
        self.quorum = quorum
        self.authorization = authorization
        self.audit = audit
        self.controller: ControllerPort = quorum.controller
        self.node_id = settings.node.node_id
        self.flusher = Flusher(world.workers, self._log_failed)
        self.checkpointer = Checkpointer(world.workers)
        self.replicas = Replicas(
            self.node_id,
            directories,
            self.settings_of,
            producer_expiry_ms=settings.log.producer_id_expiration_ms,
            on_failure=lambda partition, error: self._log_failed(partition.log, error),
            broker_epochs=self.active_epoch_of,
            is_known=lambda topic, index: self.image.partition(topic, index) is not None,
            lag_ms=settings.replication.lag_time_max_ms,
        )
        self.fetch_sessions = FetchSessions(
            settings.network.fetch_session_cache_slots,
            lambda: world.chance.randrange(2**31),
            max_partitions=settings.network.max_fetch_session_partitions,
        )
        self.waiting = Waiting(self.clock)
        self.fetches = self.waiting.fetches
        self.backlogs = self.waiting.backlogs
        self.isr_changes = AlterPartitionManager(self)
        self.selects_by_rack = settings.replication.selector_class == RACK_AWARE
        self.metadata_answers = MetadataAnswers()
        self.quotas = ClientQuotaManager(settings)
        self.producer_ids = ProducerIds(self)
        self.internal_topics = InternalTopics(self)
        self.auto_creation = AutoTopicCreation(self)
        self.groups = group_coordinator(self, settings, world.chance)
        self.transactions = transaction_coordinator(self, settings, world.chance)
        self.peers = self._make_peers()
        self.replica_fetchers = ReplicaFetchers(self)
        self.directory_assignments = DirectoryAssignments(self)
        self.directory_moves = DirectoryMoves(self)
        # The log cleaner is at work on this one.
        self.compacting: Partition | None = None
        self.replicas.before_leading = self.replica_fetchers.settle
        self.markers = MarkerWriter(self)
        self.transactions.on_progress = self.markers.progress
        self.verifier = TransactionVerifier(self)
        # In the order in which they began.
        self.tasks: dict[asyncio.Task[None], None] = {}
        # Hears that a directory went offline: the controller is to be told.
        self.on_directory_failed: Callable[[], None] = lambda: None
        self.heavy = HeavyRequests(world.turns)
        # Directories of deleted partitions, renamed, and when to remove them (file.delete.delay.ms).
        self.deleted: list[tuple[int, str]] = []
        self.apis = served(BROKER)
        self._on_partitions_changed: list[Callable[[], None]] = []

    def _make_peers(self) -> Peers:
        return Peers(
            self.world,
            lambda: self.image,
            listener=self.settings.listeners.inter_broker(),
            way=way_to_brokers(self.settings, self.world.chance),
            client_id=f"broker-{self.node_id}",
        )

    @property
    def image(self) -> ClusterImage:
        return self.quorum.image

    # -- metadata ---------------------------------------------------------------------------------------------------

    def settings_of(self, image: ClusterImage, topic: str) -> TopicSettings:
        dynamic = dynamic_configs(image, self.node_id)
        return topic_settings(self.settings, dynamic, image.config(ResourceType.TOPIC, topic))

    def rack_of(self, broker_id: int) -> str | None:
        broker = self.image.brokers.get(broker_id)
        return None if broker is None else broker.rack

    def active_epoch_of(self, broker_id: int) -> int | None:
        broker = self.image.brokers.get(broker_id)
        return broker.epoch if broker is not None and broker.is_active else None

    def load(self) -> None:
        self.quotas.follow(self.image)
        is_current = self.image.offset >= self.quorum.broker_epoch
        loaded = self.replicas.load(self.image, self.clock.now(), is_current=is_current)
        for stray in loaded.strays:
            log.warning("set aside a directory that belongs to no topic: path=%s", stray)
        for problem in loaded.problems:
            log.error("a partition is offline: %s", problem)
        for partition in self.replicas:
            _tell_recovery(partition)
        self._tell_damaged()
        self.write_outdated_checkpoints()
        self.replica_fetchers.follow(self.replicas)
        self.directory_assignments.follow(self.replicas)
        for name, directory in loaded.moves.items():
            self.directory_moves.begin(name, directory)
        self._coordinate(self.image)
        self.quorum.on_change(self.follow)
        self.isr_changes.start()

    def follow(self, image: ClusterImage, delta: Delta) -> Iterator[None]:
        """The cluster's metadata moved on: follow it, step by step, before who changed it is answered."""
        now = self.clock.now()
        changed: list[Partition] = []
        self.metadata_answers.follow(delta)
        self.quotas.follow(image)
        for topic in delta.deleted_topics:
            removed = self.replicas.remove_topic(topic)
            # Nobody may append to what is no longer there, also between two steps.
            self._forget_partitions()
            self.replica_fetchers.follow(removed)
            for partition in removed:
                self.waiting.left(partition)
            for partition in removed:
                self._delete(partition, now.monotonic)
                yield
        for each in delta.topics.values():
            if each.after is None:
                continue
            for change in self.replicas.follow_topic(image, each.after, now, each.partitions):
                self._changed(change, now.monotonic)
                self.write_outdated_checkpoints()
                if change.partition is not None and (change.is_moved or change.is_removed):
                    changed.append(change.partition)
                yield
        for key in sorted(delta.changed_configs):
            if key.resource_type == ResourceType.TOPIC:
                self.replicas.reconfigure(image, key.resource_name)
            elif key.resource_type == ResourceType.BROKER:
                for name in image.topics_by_name:
                    self.replicas.reconfigure(image, name)
                    yield
        if delta.changed_configs:
            self._forget_partitions()
        self._tell_damaged()
        self.replica_fetchers.follow(changed)
        self.directory_assignments.follow(changed)
        if delta.changed_brokers:
            self._look_after_isrs()
        self._coordinate(image)

    def _look_after_isrs(self) -> None:
        """Who was fenced may have caught up before it was not any more, and says nothing new since."""
        for partition in self.replicas:
            if partition.leadership is not None and len(partition.isr) < partition.replica_count:
                self.isr_changes.submit(partition)

    def _tell_damaged(self) -> None:
        for words in self.replicas.logs.take_damaged():
            log.error("set a damaged log aside, its leader fills it again: %s", words)

    def _changed(self, change: Change, now: int) -> None:
        partition = change.partition
        if change.problem is not None:
            log.error("a partition is offline: %s", change.problem)
        if partition is None:
            return
        if change.is_removed or change.is_moved or change.is_resized:
            # A change of the ISR is none for who remembers partitions.
            self._forget_partitions()
        if change.is_removed:
            self._delete(partition, now)
        if change.is_removed or (change.is_moved and not partition.is_leader):
            self.waiting.left(partition)
            return
        if change.is_moved:
            self.waiting.led_anew(partition)
        if change.is_committed:
            self.committed(partition)

    def _coordinate(self, image: ClusterImage) -> None:
        self.groups.follow(image)
        self.transactions.follow(image)
        self.markers.follow()

    def write_outdated_checkpoints(self) -> None:
        """A topic has the name of one that was deleted: what was written down of that one goes before the first append."""
        for directory in self.replicas.directories:
            for checkpoint in directory.outdated_checkpoints():
                try:
                    self.checkpointer.write_now(checkpoint)
                except OSError as e:
                    self.directory_failed(directory, e)

    def _delete(self, partition: Partition, now: int) -> None:
        self.directory_moves.cancel(partition.name)
        try:
            self._delete_files(partition.log, now + partition.settings.file_delete_delay_ms)
        except OSError as e:
            self._log_failed(partition.log, e)

    def _delete_files(self, deleted: Log, at: int) -> None:
        self.deleted.append((at, deleted.delete()))

    def log_replaced(self, partition: Partition, old: Log, home: LogDirectory) -> None:
        """Its log lies in another directory now. Nobody may go on with the old one, whose files go."""
        self._forget_partitions()
        self.replica_fetchers.log_replaced(partition)
        self.directory_assignments.follow([partition])
        delay = partition.settings.file_delete_delay_ms
        try:
            self._delete_files(old, self.clock.monotonic() + delay)
            # Else a power failure could bring it back beside the new one, which will have records that it has not.
            home.disk.fsync_dir(home.path)
        except OSError as e:
            self.directory_failed(home, e)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Beside everything else; it ends when the broker stops."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks[task] = None
        task.add_done_callback(lambda done: self.tasks.pop(done, None))

    def on_partitions_changed(self, callback: Callable[[], None]) -> None:
        """Who remembers partitions forgets them when leaders or configs change."""
        self._on_partitions_changed.append(callback)

    def _forget_partitions(self) -> None:
        for forget in self._on_partitions_changed:
            forget()

    # -- appends, and who waits for them ----------------------------------------------------------------------------

    def appended(self, partition: Partition) -> None:
        """By this broker. Whose coordinators did it know that themselves."""
        self.waiting.appended(partition)

    def committed(self, partition: Partition) -> None:
        """The high watermark rose, by what a follower fetched or a change of the ISR; or a follower's own, by what it was told."""
        self.waiting.committed(partition)
        if partition.name.topic == OFFSETS_TOPIC:
            self.groups.committed(partition)
        elif partition.name.topic == TRANSACTIONS_TOPIC:
            self.transactions.committed(partition)

    def await_commit(
        self, waiter: Waiter, ends: list[tuple[Partition, int]], timeout_ms: int
    ) -> None:
        """The waiter hears when everything below these ends is committed, or that it takes too long."""
        self.waiting.await_commit(waiter, ends, timeout_ms)

    def acknowledges_after_flush(self, partition: Partition) -> bool:
        """Kafka's flush.messages: an append that reaches the number is acknowledged after the fsync."""
        return partition.settings.flush_messages != LONG_MAX

    def needs_flush(self, partition: Partition) -> bool:
        return self.acknowledges_after_flush(partition) and partition.log.needs_flush(
            self.clock.monotonic()
        )

    # -- disks that fail --------------------------------------------------------------------------------------------

    def _log_failed(self, failed: Log, error: OSError) -> None:
        for directory in self.replicas.directories:
            if any(failed is each for each in directory.logs.values()):
                self.directory_failed(directory, error)

    def directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        """Take a directory offline, once and for good: its partitions answer KAFKA_STORAGE_ERROR, the others go on."""
        if not directory.is_online:
            return
        directory.failure = error
        log.critical("a data directory went offline: path=%s reason=%s", directory.path, error)
        partitions = self.replicas.in_directory(directory)
        for partition in partitions:
            partition.go_offline()
        self.replica_fetchers.follow(partitions)
        self.directory_moves.cancel_in(directory)
        for partition in partitions:
            self.waiting.left(partition)
        self.on_directory_failed()

    def offline_directories(self) -> list[Uuid]:
        """The controller moves leaders away from them."""
        directories = self.replicas.directories
        # One that could not be used from the start is not registered in the first place.
        return [each.id for each in directories if not each.is_online and any(each.id)]

    async def close(self) -> None:
        self.waiting.close()
        await self.isr_changes.close()
        self.replica_fetchers.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.groups.close()
        await self.transactions.close()
        self.markers.close()
        self.verifier.close()
        self.peers.close()
        await self.flusher.close()
        await self.checkpointer.close()


def _tell_recovery(partition: Partition) -> None:
    """What opening a log after a crash found, if an operator should know."""
    recovered = partition.log.recovered
    if recovered.cut_bytes:
        log.warning(
            "cut a torn end off a log: partition=%s bytes=%s", partition.name, recovered.cut_bytes
        )
    if recovered.damaged:
        log.error(
            "a log is damaged below its recovery point, nothing was cut: partition=%s batches=%s",
            partition.name,
            list(recovered.damaged),
        )
