"""Transactions: transact. A producer writes 100 records to a partition and an offset of a group, and commits."""

import os
import time
from collections.abc import Callable
from functools import partial

from bench import requests
from bench.figures import Figures
from bench.load import Run, no_garbage_collection
from bench.membership import GROUP, TRANSACTION, await_coordinator
from bench.metering import metered
from bench.requests import frame
from bench.target import Refused, Target, check, new_topic_name, until_it_works
from bench.workload import Workload
from bench.workloads.produce import ACKS_ALL
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from klamm.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from klamm.protocol.messages.produce import ProduceResponse
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record

RECORDS = 100
RECORD_BYTES = 100

INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION = 22, 5
END_TXN, END_TXN_VERSION = 26, 5
TXN_OFFSET_COMMIT, TXN_OFFSET_COMMIT_VERSION = 28, 5

_TIMEOUT_MS = 60_000
# What a producer takes for "not yet", and how long it waits then; as Java's does.
_PASSING = frozenset([ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS])
_RETRY_SECONDS = 0.02


class TransactLoad:
    """One request after the other, as the protocol of transaction.version 2 wants it: produce, offsets, end.

    Requests are encoded in between, for each transaction has an epoch of its own.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._topic = new_topic_name()
        self._group = new_topic_name()
        self._transactional_id = new_topic_name()
        (self._topic_id,) = target.create_topics([self._topic], partitions=1)
        await_coordinator(target, self._group, GROUP)
        await_coordinator(target, self._transactional_id, TRANSACTION)
        self._connection = target.connect()
        value = os.urandom(RECORD_BYTES)
        now = time.time_ns() // 1_000_000
        self._records = [Record(0, now, None, value, []) for _ in range(RECORDS)]
        self._offset = 0
        until_it_works(self._init)

    def _init(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self._transactional_id, transaction_timeout_ms=_TIMEOUT_MS
        )
        encoded = frame(INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, request)
        answer = self._connection.call(encoded, InitProducerIdResponse, INIT_PRODUCER_ID_VERSION)
        check(answer.error_code, "taking a transactional id")
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def measure(self, seconds: float) -> Figures:
        return metered(self._target, partial(self._run, seconds))

    def _run(self, seconds: float) -> Run:
        now = time.perf_counter_ns
        latencies = []
        with no_garbage_collection():
            began = now()
            ends = began + int(seconds * 1e9)
            while (start := now()) < ends:
                self._transact()
                latencies.append(now() - start)
            return Run((now() - began) / 1e9, latencies)

    def _transact(self) -> None:
        self._insist(self._produce)
        self._insist(self._commit_offset)
        self._end()

    def _insist(self, attempt: Callable[[], int]) -> None:
        while (code := attempt()) in _PASSING:
            time.sleep(_RETRY_SECONDS)
        check(code, "in a transaction")

    def _produce(self) -> int:
        batch = build_batch(
            self._records,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=0,
            transactional=True,
        )
        encoded = requests.produce_frame(
            self._topic_id, 0, bytes(batch), acks=ACKS_ALL, transactional_id=self._transactional_id
        )
        answer = self._connection.call(encoded, ProduceResponse, requests.PRODUCE_VERSION)
        return answer.responses[0].partition_responses[0].error_code

    def _commit_offset(self) -> int:
        self._offset += 1
        partition = TxnOffsetCommitRequestPartition(committed_offset=self._offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self._transactional_id,
            group_id=self._group,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self._topic, partitions=[partition])],
        )
        encoded = frame(TXN_OFFSET_COMMIT, TXN_OFFSET_COMMIT_VERSION, request)
        answer = self._connection.call(encoded, TxnOffsetCommitResponse, TXN_OFFSET_COMMIT_VERSION)
        return answer.topics[0].partitions[0].error_code

    def _end(self) -> None:
        request = EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=True,
        )
        encoded = frame(END_TXN, END_TXN_VERSION, request)
        answer = self._connection.call(encoded, EndTxnResponse, END_TXN_VERSION)
        check(answer.error_code, "committing a transaction")
        if answer.producer_epoch < 0:
            raise Refused("the broker does not know transaction.version 2")
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def close(self) -> None:
        self._connection.close()
        self._target.delete_topics([self._topic])


TRANSACT = Workload(
    "transact",
    f"1 producer, {RECORDS} records to 1 partition and 1 offset per transaction",
    TransactLoad,
)
