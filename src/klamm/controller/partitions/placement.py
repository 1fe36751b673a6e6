"""Which brokers get the replicas of new partitions: a rotation from a random start.

Leaders go round the active brokers, so that each leads about as many. Followers go on from the leader, with a
shift that grows by one each round, so that the partitions of one leader do not all share the same followers.
Racks that hold no replica yet come first, and fenced brokers last. Pure: chance is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping

from klamm.base.chance import Chance
from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import BrokerImage


def place(
    brokers: Mapping[int, BrokerImage], *, partitions: int, replication_factor: int, chance: Chance
) -> list[tuple[int, ...]]:
    """The replicas of each partition, its leader first."""
    brokers = {number: each for number, each in brokers.items() if _is_usable(each)}
    leaders = sorted(broker_id for broker_id, broker in brokers.items() if not broker.is_fenced)
    if not leaders:
        raise _refused(replication_factor, "All brokers are currently fenced.")
    if replication_factor > len(brokers):
        raise _refused(
            replication_factor,
            f"The target replication factor of {replication_factor} cannot be reached "
            f"because only {len(brokers)} broker(s) are registered "
            "or some brokers have all their log directories cordoned.",
        )
    if replication_factor == 1 and len(leaders) == 1:
        return [(leaders[0],)] * partitions
    fenced = sorted(brokers.keys() - set(leaders))
    first, shift = chance.randrange(len(leaders)), chance.randrange(len(leaders))
    placed: list[tuple[int, ...]] = []
    for index in range(partitions):
        at = (first + index) % len(leaders)
        turn = shift + index // len(leaders)
        others = leaders[at + 1 :] + leaders[:at]
        turned = others[turn % len(others) :] + others[: turn % len(others)] if others else []
        placed.append(_spread(brokers, leaders[at], turned + fenced, replication_factor))
    return placed


def _is_usable(broker: BrokerImage) -> bool:
    """Nothing new goes to a broker that is about to stop, or whose every directory is cordoned (KIP-1066)."""
    is_stopping = broker.in_controlled_shutdown and not broker.is_fenced
    return not is_stopping and not broker.is_cordoned


def _spread(
    brokers: Mapping[int, BrokerImage], leader: int, others: list[int], count: int
) -> tuple[int, ...]:
    """Take the others in their order, but those in a rack without a replica first."""
    replicas, racks, waiting = [leader], {brokers[leader].rack}, list(others)
    while len(replicas) < count:
        chosen = next((each for each in waiting if brokers[each].rack not in racks), None)
        if chosen is None:
            racks.clear()
            chosen = waiting[0]
        waiting.remove(chosen)
        replicas.append(chosen)
        racks.add(brokers[chosen].rack)
    return tuple(replicas)


def _refused(replication_factor: int, why: str) -> ApiError:
    text = f"Unable to replicate the partition {replication_factor} time(s): {why}"
    return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, text)
