"""Clusters whose nodes are klamm's or Apache Kafka's, each a process with the same kind of server.properties."""

import os
import shutil
import socket
from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from cluster.processes import RealCluster, until
from klamm.base.ids import TopicPartition
from klamm.cli.cluster.local import HOST, LocalNode
from support.brokers import format_for_kafka, kafka_command

SETTINGS = {
    "broker.heartbeat.interval.ms": 500,
    # One coordinator for all: who leads the partition is the coordinator.
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}


@dataclass(frozen=True, slots=True)
class KafkaNode(LocalNode):
    """A node that Apache Kafka runs. It locks its directory as klamm does, so it is found in the same way."""

    @property
    def is_ready(self) -> bool:
        """A controller listens while it still looks for a quorum; a broker only when it may serve."""
        port = self.port + 1_000 if self.role == "c" else self.port
        with socket.socket() as probe:
            return probe.connect_ex((HOST, port)) == 0

    def spawn(self) -> int:
        command = kafka_command(self.config)
        create = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.posix_spawn(
            command[0],
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, self.log, create, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )


class MixedCluster(RealCluster):
    """`kafka` names the nodes that are Apache Kafka's; each kind formats the directories of its nodes."""

    def __init__(
        self,
        home: Path,
        *,
        roles: str,
        kafka: Collection[int],
        settings: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(home, roles=roles, settings={**SETTINGS, **(settings or {})})
        for number in kafka:
            self.turn_into(KafkaNode, number)
            node = self.local.node(number)
            shutil.rmtree(node.data)
            format_for_kafka(node.config, self.local.cluster_id)

    def turn_into(self, kind: type[LocalNode], number: int) -> None:
        """The next process of this node, on the same directory, is of that kind."""
        at = self.local.nodes.index(self.local.node(number))
        self.local.nodes[at] = kind(*astuple(self.local.nodes[at]))

    def is_kafka(self, number: int) -> bool:
        return isinstance(self.local.node(number), KafkaNode)

    def active_controller(self) -> int:
        return self.asks(lambda admin: admin.quorum()).leader_id

    def let_lead(self, topic: str, *replicas: int) -> None:
        """Its first partition is led by the first of them from now on."""
        place = TopicPartition(topic, 0)
        moved = self.asks(lambda admin: admin.partitions.reassign({place: replicas}))
        assert moved == {place: None}
        until(lambda: self.isr(topic) == tuple(sorted(replicas)))
        if self.leader(topic) != replicas[0]:
            elected = self.asks(lambda admin: admin.partitions.elect_leaders([place]))
            assert elected == {place: None}
        until(lambda: self.leader(topic) == replicas[0])

    def bytes_of(self, number: int, partition: str) -> bytes:
        """What a node has of a partition that was not rolled yet."""
        return (self.local.node(number).data / partition / f"{0:020}.log").read_bytes()
