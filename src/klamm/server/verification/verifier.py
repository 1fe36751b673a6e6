"""The question whether partitions belong to a producer's transaction, to its coordinator, here or on another broker.

Clients of transaction.version 2 do not announce their partitions, so the question adds them (KIP-890, part 2). For others it only
verifies: a partition that was not announced must not get records that no marker would ever end (part 1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.base.token import Token
from klamm.coordinator.shard import Outcome, Producer, Reply
from klamm.metadata.features import BUMPS_EPOCHS
from klamm.metadata.resource_type import ResourceType
from klamm.replication.verification import Verification
from klamm.server.verification.partition_channel import Question, partition_channels

if TYPE_CHECKING:
    from klamm.coordinator.transaction.shard import TransactionShard, Verdicts
    from klamm.server.broker import Broker

_SWITCH = "transaction.partition.verification.enable"
# How often a question is asked again because its answer is too old.
_MOST_AGAIN = 3


class Client(Enum):
    """What the client that writes knows of transactions."""

    # Its partitions are added as it writes.
    ADDS_BY_WRITING = "adds"
    # It announces its partitions, and knows TRANSACTION_ABORTABLE.
    CAN_ABORT = "can abort"
    OLD = "old"


def client_of_version(version: int, *, adds_from: int) -> Client:
    """By the version of its request; TRANSACTION_ABORTABLE came one version before."""
    if version >= adds_from:
        return Client.ADDS_BY_WRITING
    return Client.CAN_ABORT if version == adds_from - 1 else Client.OLD


class TransactionVerifier:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        timeout_ms = broker.settings.network.request_timeout_ms
        self._channels = partition_channels(broker.peers, timeout_ms=timeout_ms)

    def is_asked(self, client: Client) -> bool:
        return client is Client.ADDS_BY_WRITING or self._is_verification_on()

    def _is_verification_on(self) -> bool:
        image = self._broker.image
        for name in (str(self._broker.node_id), ""):
            dynamic = image.config(ResourceType.BROKER, name).get(_SWITCH)
            if dynamic is not None:
                return dynamic.lower() == "true"
        return self._broker.settings.transaction.transaction_partition_verification_enable

    def ask(
        self,
        transactional_id: str,
        producer: Producer,
        verifications: Sequence[Verification],
        client: Client,
    ) -> Verdicts | Awaitable[Verdicts]:
        """How it is with each partition, in codes that the client knows. Known at once where nobody else is asked.

        The verifications have begun, and begin again each time that the question is asked again.
        """
        partitions = [each.partition.name for each in verifications]
        question = _Question(transactional_id, producer, partitions, client)
        verdicts = self._ask(question)
        if isinstance(verdicts, dict) and not question.is_worth_a_retry(verdicts):
            return question.told(verdicts)
        return self._ask_patiently(question, verifications, verdicts)

    async def _ask_patiently(
        self,
        question: _Question,
        verifications: Sequence[Verification],
        asked: Verdicts | Awaitable[Verdicts],
    ) -> Verdicts:
        """While the markers of the transaction before are on their way it is worth a few more tries."""
        settings = self._broker.settings
        patience = min(
            settings.transaction.add_partitions_to_txn_retry_backoff_max_ms,
            settings.network.request_timeout_ms,
        )
        end = self._broker.clock.monotonic() + patience
        pause = settings.transaction.add_partitions_to_txn_retry_backoff_ms / 1000
        again = _MOST_AGAIN
        while True:
            verdicts = asked if isinstance(asked, dict) else await asked
            is_void = any(each.is_void for each in verifications)
            if is_void and again:
                # The marker of the transaction before came while the question was under way, most likely. Whether this
                # one is still open the coordinator knows: to refuse its first batch would be the end of the producer.
                again -= 1
            elif question.is_worth_a_retry(verdicts) and self._broker.clock.monotonic() < end:
                await asyncio.sleep(pause)
            else:
                return question.told(verdicts)
            for each in verifications:
                each.begin_again()
            asked = self._ask(question)

    def _ask(self, question: _Question) -> Verdicts | Awaitable[Verdicts]:
        answers: list[Verdicts] = []
        waiting: list[asyncio.Future[Verdicts]] = []

        def answer(verdicts: Verdicts) -> None:
            answers.append(verdicts)
            for each in waiting:
                if not each.done():
                    each.set_result(verdicts)

        self._send(question, answer)
        if answers:
            return answers[0]
        waiting.append(asyncio.get_running_loop().create_future())
        return waiting[0]

    def _send(self, question: _Question, answer: Callable[[Verdicts], None]) -> None:
        broker = self._broker
        try:
            coordinator = broker.transactions.leader_of(question.transactional_id)
        except ApiError as e:
            answer(dict.fromkeys(question.partitions, e.code))
            return
        if coordinator == broker.node_id:
            self._ask_here(question, answer)
        else:
            adds = question.client is Client.ADDS_BY_WRITING
            asked = Question(
                question.transactional_id,
                question.producer,
                list(question.partitions),
                adds,
                answer,
            )
            self._channels.send(coordinator, asked)

    def _ask_here(self, question: _Question, answer: Callable[[Verdicts], None]) -> None:
        now = self._broker.clock.now()

        def answered(reply: Reply) -> None:
            if isinstance(reply, ApiError):
                answer(dict.fromkeys(question.partitions, reply.code))
            else:
                assert isinstance(reply, dict)
                answer(reply)

        self._broker.transactions.tell(
            question.transactional_id,
            lambda shard, token: question.decide(shard, token, now),
            answered,
            is_read=question.client is not Client.ADDS_BY_WRITING,
        )

    def close(self) -> None:
        self._channels.close()


class _Question(NamedTuple):
    transactional_id: str
    producer: Producer
    partitions: Collection[TopicPartition]
    client: Client

    def decide(self, shard: TransactionShard, token: Token, now: Now) -> Outcome:
        if self.client is Client.ADDS_BY_WRITING:
            return shard.add_partitions(
                self.transactional_id,
                self.producer,
                self.partitions,
                token,
                client_version=BUMPS_EPOCHS,
                now=now,
            )
        return shard.verify_partitions(self.transactional_id, self.producer, self.partitions, token)

    def is_worth_a_retry(self, verdicts: Verdicts) -> bool:
        return (
            self.client is Client.ADDS_BY_WRITING
            and ErrorCode.CONCURRENT_TRANSACTIONS in verdicts.values()
        )

    def told(self, verdicts: Verdicts) -> Verdicts:
        return {name: self._told(code) for name, code in verdicts.items()}

    def _told(self, code: ErrorCode) -> ErrorCode:
        if code is ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if code is ErrorCode.TRANSACTION_ABORTABLE and self.client is Client.OLD:
            return ErrorCode.INVALID_TXN_STATE
        return code
