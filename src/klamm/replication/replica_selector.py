"""Which replica a consumer had better read from (KIP-392): one in its own rack, if there is one that is in sync.

Kafka names the rule by a Java class, `replica.selector.class`. Two of them come with it, and these are known here.
"""

from __future__ import annotations

from collections.abc import Callable

from klamm.replication.partition import Partition

LEADER = "org.apache.kafka.common.replica.LeaderSelector"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

RackOf = Callable[[int], str | None]


def nearest_replica(partition: Partition, rack: str, offset: int, rack_of: RackOf) -> int | None:
    """A follower in the rack that has the offset; None if the leader is there itself, or nobody is.

    Only from the ISR: a consumer that is sent to a follower that lags would lag with it for ever.
    """
    leadership = partition.leadership
    if leadership is None or not rack or rack_of(partition.leader_id) == rack:
        return None
    near = [
        each
        for each in leadership.followers.values()
        if each.broker_id in partition.isr
        and each.start_offset <= offset <= each.end_offset
        and rack_of(each.broker_id) == rack
    ]
    if not near:
        return None
    return max(
        near, key=lambda each: (each.end_offset, each.caught_up_at, -each.broker_id)
    ).broker_id
