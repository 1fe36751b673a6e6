"""Which batches of one produce may be appended.

A partition that has the producer's transaction open takes its batches as they come. For any other the transaction's coordinator
is asked first, once for all partitions of a request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.records.batch import HEADER_SIZE, read_header
from klamm.replication.partition import Partition
from klamm.replication.verification import Verification
from klamm.server.verification.verifier import Client, TransactionVerifier

if TYPE_CHECKING:
    from klamm.coordinator.transaction.shard import Verdicts

# What the client is to take for a reason to send the batch again. Old clients do not expect the reason itself in an answer
# to a produce; this one makes none of them look for the leader.
_PASSING = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class RefusedInWords(ApiError):
    """A refusal that the client is told the reason of."""


class ProduceVerification:
    """Of one request. `check` is asked before each append; `close` when all are done."""

    def __init__(self) -> None:
        self._producer: Producer | None = None
        self._refusals: dict[TopicPartition, ApiError] = {}
        self._verifications: dict[TopicPartition, Verification] = {}
        # Why nothing of the request is taken.
        self._refusal: ErrorCode | None = None

    def ask(
        self,
        verifier: TransactionVerifier,
        transactional_id: str | None,
        client: Client,
        batches: Iterable[tuple[Partition, memoryview]],
    ) -> Verdicts | Awaitable[Verdicts]:
        """About the transactional batches of a request; `take` is to be told the answer."""
        if transactional_id is None:
            self._refusal = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return {}
        is_asked = verifier.is_asked(client)
        for partition, batch in batches:
            if len(batch) >= HEADER_SIZE and partition.is_leader:
                self._look(partition, batch, client, is_asked)
        if self._refusal is not None or self._producer is None or not self._verifications:
            return {}
        return verifier.ask(
            transactional_id, self._producer, list(self._verifications.values()), client
        )

    def _look(
        self, partition: Partition, batch: memoryview, client: Client, is_asked: bool
    ) -> None:
        header = read_header(batch)
        producer = Producer(header.producer_id, header.producer_epoch)
        if self._producer is not None and producer != self._producer:
            self._refusal = ErrorCode.INVALID_PRODUCER_ID_MAPPING
            return
        self._producer = producer
        if not is_asked or partition.name in self._verifications:
            return
        verification = Verification(
            partition,
            producer.id,
            producer.epoch,
            header.base_sequence,
            bumps_epochs=client is Client.ADDS_BY_WRITING,
        )
        try:
            if verification.begin():
                self._verifications[partition.name] = verification
        except ApiError as e:
            self._refusals[partition.name] = ApiError(e.code)

    def take(self, verdicts: Verdicts) -> None:
        for name, code in verdicts.items():
            if code in _PASSING:
                self._refusals[name] = RefusedInWords(
                    ErrorCode.NOT_ENOUGH_REPLICAS,
                    "Unable to verify the partition has been added to the transaction. "
                    f"Underlying error: {code.name}",
                )
            elif code is ErrorCode.INVALID_TXN_STATE:
                self._refusals[name] = RefusedInWords(
                    code, "Partition was not added to the transaction"
                )
            elif code:
                self._refusals[name] = ApiError(code)

    def check_request(self) -> None:
        if self._refusal is not None:
            raise ApiError(self._refusal)

    def check(self, partition: Partition) -> None:
        """May a batch be appended to this partition, as far as the coordinator knows?"""
        refusal = self._refusals.get(partition.name)
        if refusal is not None:
            raise refusal

    def check_guard(self, partition: Partition) -> None:
        """And as far as the partition itself knows?"""
        verification = self._verifications.get(partition.name)
        if verification is not None:
            verification.check()

    def close(self) -> None:
        for verification in self._verifications.values():
            verification.end()
        self._verifications.clear()
