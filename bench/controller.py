"""`python -m bench.controller`: a controller that holds very many partitions. CPU seconds and memory, nothing else.

What a broker pays when it starts from a snapshot, what the controller pays to fence a broker (to decide, to replay on its
own image and to encode the records), to move on one AlterPartition, and what a partition costs in memory.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from klamm.base.clock import Now
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.base.settings.broker import build_settings
from klamm.controller.controller import Controller
from klamm.metadata import framing, snapshot
from klamm.metadata.features import LATEST, SUPPORTED
from klamm.metadata.image import BrokerImage, ClusterImage, ConfigKey, PartitionImage, TopicImage
from klamm.metadata.replay import apply
from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

T = TypeVar("T")
_REPLICAS = 3


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.controller", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--brokers", type=int, default=30)
    wanted = parser.parse_args(arguments)
    data = snapshot.write(_cluster(wanted.partitions, wanted.topics, wanted.brokers), now=0)
    gc.collect()
    before = _memory()
    image, seconds = _timed(
        lambda: snapshot.read(data, OffsetAndEpoch(1000, 1), cluster_id="cluster")
    )
    gc.collect()
    size = _memory() - before
    print(f"{wanted.partitions} partitions of {wanted.topics} topics on {wanted.brokers} brokers")
    print(f"  replay of the snapshot ({len(data) >> 20} MiB)   {seconds:6.2f} CPU s")
    print(f"  memory                           {size / wanted.partitions:6.0f} bytes a partition")
    _fence(image)
    _heartbeats(image)
    _alter_partition(image)
    return 0


def _cluster(partitions: int, topics: int, brokers: int) -> ClusterImage:
    chance = random.Random(1)
    by_id = {}
    for number in range(topics):
        topic_id = Uuid(chance.randbytes(16))
        count = partitions // topics + (1 if number < partitions % topics else 0)
        replicas = [tuple(chance.sample(range(brokers), _REPLICAS)) for _ in range(count)]
        by_id[topic_id] = TopicImage(
            f"topic-{number}",
            topic_id,
            tuple(
                PartitionImage(each, each, each[0], 3, 7, directories=tuple(map(_directory, each)))
                for each in replicas
            ),
        )
    return ClusterImage(
        cluster_id="cluster",
        offset=999,
        epoch=1,
        topics_by_id=by_id,
        topics_by_name={each.name: each for each in by_id.values()},
        brokers={
            each: BrokerImage(
                each,
                each + 1,
                _directory(each),
                features=SUPPORTED,
                is_fenced=False,
                directories=(_directory(each),),
            )
            for each in range(brokers)
        },
        features=dict(LATEST),
        configs={ConfigKey(4, ""): {"min.insync.replicas": "2"}},
    )


def _directory(broker: int) -> Uuid:
    return Uuid(b"directory-%06d" % broker)


def _controller(image: ClusterImage) -> Controller:
    roles = {"process.roles": "broker,controller", "node.id": "1", "log.dirs": "/data"}
    return Controller(image, build_settings(roles), random.Random(1), Now(0, 0))


def _fence(image: ClusterImage) -> None:
    controller = _controller(image)
    decision, deciding = _timed(lambda: controller.connection_lost(0, Now(0, 0)))
    records = decision.records
    (after, _), replaying = _timed(
        lambda: apply(image, records, offset=image.offset + len(records), epoch=1)
    )
    _, encoding = _timed(lambda: [framing.encode(each, 30) for each in records])
    assert after.brokers[0].is_fenced
    print(f"  fence a broker ({len(records)} records)   {deciding:6.2f} CPU s to decide,")
    print(
        f"                                   {replaying:6.2f} to replay, {encoding:.2f} to encode"
    )


def _heartbeats(image: ClusterImage) -> None:
    controller = _controller(image)
    request = BrokerHeartbeatRequest(broker_id=0, broker_epoch=1, current_metadata_offset=999)
    _, seconds = _timed(lambda: [controller.heartbeat(request, Now(0, 0)) for _ in range(1000)])
    print(f"  a heartbeat                      {seconds * 1000:6.1f} CPU us")


def _alter_partition(image: ClusterImage) -> None:
    """One partition's ISR: decided and replayed."""
    controller = _controller(image)
    topic = next(iter(image.topics_by_id.values()))
    partition = topic.partitions[0]
    members = [BrokerState(broker_id=each, broker_epoch=each + 1) for each in partition.isr[:2]]
    wanted = AlterPartitionRequestPartitionData(
        leader_epoch=3, partition_epoch=7, new_isr_with_epochs=members
    )
    request = AlterPartitionRequest(
        broker_id=partition.leader,
        broker_epoch=partition.leader + 1,
        topics=[AlterPartitionRequestTopicData(topic_id=topic.topic_id, partitions=[wanted])],
    )

    def alter() -> None:
        for _ in range(100):
            records = controller.alter_partition(request, Now(0, 0)).records
            apply(image, records, offset=1000, epoch=1)

    _, seconds = _timed(alter)
    print(f"  one AlterPartition               {seconds * 10_000:6.0f} CPU us")


def _timed(what: Callable[[], T]) -> tuple[T, float]:
    begun = time.process_time()
    result = what()
    return result, time.process_time() - begun


def _memory() -> int:
    """Resident, in bytes; where the system does not tell it, the most it ever was."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
