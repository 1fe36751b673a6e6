"""The offsets that a transaction commits for a group: its partition of __consumer_offsets takes part like any other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Producer
from klamm.replication.partition import Partition
from klamm.replication.verification import Verification
from klamm.server.verification.verifier import Client, TransactionVerifier

if TYPE_CHECKING:
    from klamm.coordinator.transaction.shard import Verdicts

T = TypeVar("T")

# A coordinator's own records have none.
_NO_SEQUENCE = -1
# What a producer is told of a transaction's coordinator that cannot be asked: it tries again.
_AS_TOLD = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


def verify_offset_commit(
    verifier: TransactionVerifier,
    transactional_id: str,
    producer: Producer,
    partition: Partition,
    client: Client,
    commit: Callable[[], T],
) -> T | Coroutine[Any, Any, T]:
    """Commits if the group's partition belongs to the producer's transaction; ApiError, if it does not."""
    if not verifier.is_asked(client):
        if producer.id < 0:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        partition.log.producers.check_epoch(producer.id, producer.epoch)
        return commit()
    verification = Verification(
        partition, producer.id, producer.epoch, _NO_SEQUENCE, bumps_epochs=False
    )
    if not verification.begin():
        return commit()
    verdicts = verifier.ask(transactional_id, producer, [verification], client)
    if isinstance(verdicts, dict):
        return _verified(verification, verdicts, commit)
    return _verified_later(verification, verdicts, commit)


async def _verified_later(
    verification: Verification, verdicts: Awaitable[Verdicts], commit: Callable[[], T]
) -> T:
    return _verified(verification, await verdicts, commit)


def _verified(verification: Verification, verdicts: Verdicts, commit: Callable[[], T]) -> T:
    try:
        if code := verdicts[verification.partition.name]:
            raise ApiError(_AS_TOLD.get(code, code))
        verification.check()
        return commit()
    finally:
        verification.end()
