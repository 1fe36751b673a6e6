"""What a stage writes, through real clients and, where it must be exact, through raw requests.

A Writer outlives the brokers: it remembers all that was acknowledged, and its idempotent producer goes on where it was.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import (
    AdminClient,
    NewPartitions,
    NewTopic,
)

from klamm.base.ids import TopicPartition
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from support.patience import eventually
from support.raw_client import RawClient
from twoway.picture import place_of, shortened

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SECONDS = 60
QUIET = {"log_level": 0}
# Not older than any retention, and not in the future.
AN_HOUR_AGO = int(time.time() - 3600) * 1000


class Writer:
    def __init__(self) -> None:
        # Key, value and headers of what was acknowledged, by offset.
        self.sent: dict[TopicPartition, dict[int, tuple[Any, ...]]] = {}
        self._address = ""
        self._admin: AdminClient
        self._producers: dict[str, Producer] = {}
        self._count = 0

    def at(self, address: str) -> "Writer":
        """From here on it talks to this broker."""
        self._address = address
        self._admin = AdminClient({"bootstrap.servers": address, **QUIET})
        self._producers = {codec: self.producer(codec) for codec in CODECS}
        return self

    # Topics

    def create(self, name: str, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        topic = NewTopic(name, partitions, replication_factor=1, config=configs or {})
        _done(self._admin.create_topics([topic]))
        eventually(lambda: self._assert_led(name, partitions))

    def add_partition(self, name: str) -> None:
        count = len(self._admin.list_topics(name, timeout=SECONDS).topics[name].partitions) + 1
        _done(self._admin.create_partitions([NewPartitions(name, count)]))
        eventually(lambda: self._assert_led(name, count))

    def _assert_led(self, name: str, partitions: int) -> None:
        found = self._admin.list_topics(name, timeout=SECONDS).topics[name]
        assert found.error is None
        assert len(found.partitions) == partitions
        assert all(each.leader == 1 and each.error is None for each in found.partitions.values())

    def delete(self, name: str) -> None:
        _done(self._admin.delete_topics([name]))
        eventually(lambda: self._assert_absent(name))
        self.sent = {where: sent for where, sent in self.sent.items() if where.topic != name}

    def _assert_absent(self, name: str) -> None:
        assert name not in self._admin.list_topics(timeout=SECONDS).topics

    def set_config(self, kind: int, name: str, key: str, value: str | None) -> None:
        """None takes it away again. The kind is a number of the protocol: real clients do not know all of them."""
        config = AlterableConfig(name=key, config_operation=int(value is None), value=value)
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        with RawClient(self._address) as client:
            (answer,) = client.ask("incremental_alter_configs", 1, request).responses
        assert answer.error_code == 0, answer.error_message

    def delete_records(self, topic: str, before: int) -> None:
        _done(self._admin.delete_records([confluent_kafka.TopicPartition(topic, 0, before)]))

    # Records

    def write(
        self, topic: str, records: Iterable[Record], *, codec: str = "none", partition: int = 0
    ) -> None:
        """Idempotent, as one batch if the records are small."""
        producer = self._producers[codec]
        self.send(producer, topic, records, partition=partition)
        assert producer.flush(SECONDS) == 0

    def producer(
        self, codec: str = "none", options: Mapping[str, str | int] | None = None
    ) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._address,
                "enable.idempotence": True,
                "compression.type": codec,
                "linger.ms": 20,
                "batch.size": 65_536,
                **QUIET,
                **(options or {}),
            }
        )

    def send(
        self, producer: Producer, topic: str, records: Iterable[Record], *, partition: int = 0
    ) -> None:
        for record in records:
            producer.produce(
                topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                partition=partition,
                # 0 would be the time of the call.
                timestamp=max(record.timestamp, 0),
                on_delivery=partial(self._delivered, record),
            )
            producer.poll(0)

    def _delivered(self, record: Record, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offset = message.offset()
        assert offset is not None
        headers = list(record.headers) or None
        self.sent.setdefault(place_of(message), {})[offset] = (
            record.key,
            shortened(record.value),
            headers,
        )

    def odd_records(self, count: int = 4) -> list[Record]:
        """With and without keys, values and headers, at times that jump; none like any other."""
        made = []
        for _ in range(count):
            self._count += 1
            n = self._count
            made.append(
                Record(
                    timestamp=AN_HOUR_AGO + n * 1000 + n * 7919 % 5000,
                    key=None if n % 3 == 0 else b"key-%d" % n,
                    value=None if n % 5 == 1 else b"" if n % 5 == 2 else b"value-%d " % n * (n % 7),
                    headers=[("number", b"%d" % n), ("number", None), ("", b"")][: n % 4],
                )
            )
        return made

    def write_every_codec(self, topic: str, *, partition: int = 0) -> None:
        for codec in CODECS:
            self.write(topic, self.odd_records(), codec=codec, partition=partition)


class IdempotentProducer:
    """Sends its batches itself, to be able to send one again."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._id = self._epoch = -1
        self._sequence = 0
        self._last = bytearray()
        self.last_offset = -1

    def start(self, address: str) -> None:
        self._id, self._epoch = new_producer_id(address)

    def append(self, address: str) -> None:
        records = [Record(timestamp=AN_HOUR_AGO, value=b"%d" % n) for n in range(3)]
        self._last = build_batch(
            records,
            producer_id=self._id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
        )
        self._sequence += len(records)
        error, self.last_offset = self.retry(address)
        assert error == 0

    def retry(self, address: str) -> tuple[int, int]:
        """The newest batch again: the error code and the offset that the broker answers."""
        data = PartitionProduceData(index=0, records=self._last)
        topic = TopicProduceData(name=self._topic, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
        with RawClient(address) as client:
            (answer,) = client.ask("produce", 9, request).responses[0].partition_responses
        return answer.error_code, answer.base_offset


def new_producer_id(address: str) -> tuple[int, int]:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)

    def ask() -> tuple[int, int]:
        with RawClient(address) as client:
            answer = client.ask("init_producer_id", 4, request)
        # Kafka's broker fetches its first block of ids when it is first asked for one.
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    return eventually(ask)


def keyed(numbers: Sequence[int], *, keys: int, size: int) -> list[Record]:
    """Values of this size under few keys, some under a key of their own; every eleventh is a tombstone."""
    return [
        Record(
            key=b"once-%d" % n if n % 50 == 1 else b"key-%d" % (n % keys),
            value=None if n % 11 == 0 else bytes([n % 256]) * size,
        )
        for n in numbers
    ]


def _done(futures: dict[Any, "Future[Any]"]) -> None:
    for future in futures.values():
        future.result(SECONDS)
