"""One blocking connection that speaks klamm's own messages; no retries, so that a test sees what happens."""

import itertools
import socket
from collections import deque
from typing import Any, Self

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.apis import APIS, Api
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from klamm.protocol.messages.headers import RequestHeader, ResponseHeader
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

PATIENCE_SECONDS = 20.0
_ACKS_ALL = -1
# The last versions that name topics instead of their ids.
_PRODUCE_VERSION = 12
_FETCH_VERSION = 12


class Gone(Exception):
    """The broker hung up, or was not there."""


class Client:
    """`send` and `receive` are the halves of `ask`: several requests may be on their way."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._ids = itertools.count(1)
        self._asked: deque[tuple[Api, int]] = deque()
        try:
            self._socket = socket.create_connection(address, PATIENCE_SECONDS)
        except OSError as e:
            raise Gone(str(e)) from e
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._input.close()
        self._socket.close()

    def ask(self, request: Any, version: int | None = None) -> Any:
        self.send(request, version)
        return self.receive()

    def send(self, request: Any, version: int | None = None) -> None:
        api = APIS[type(request).SCHEMA.api_key]
        version = api.highest_stable if version is None else version
        header = RequestHeader(
            request_api_key=api.key,
            request_api_version=version,
            correlation_id=next(self._ids),
            client_id="chaos",
        )
        frame = encode(header, api.request_header_version(version)) + encode(request, version)
        try:
            self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        except OSError as e:
            raise Gone(str(e)) from e
        self._asked.append((api, version))

    def receive(self) -> Any:
        """The answer to the oldest request."""
        size = int.from_bytes(self._read(4), "big")
        frame = self._read(size)
        api, version = self._asked.popleft()
        header = encode(ResponseHeader(), api.response_header_version(version))
        return decode(api.response, version, frame[len(header) :])

    def _read(self, size: int) -> bytes:
        try:
            data = self._input.read(size)
        except TimeoutError:
            raise
        except OSError as e:
            raise Gone(str(e)) from e
        if len(data) < size:
            raise Gone("the connection was closed")
        return data

    # What is asked again and again -------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> Uuid:
        """Gives its id. Underscores in names of configs stand for dots."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
                for key, value in configs.items()
            ],
        )
        (made,) = self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000)).topics
        assert made.error_code == 0, made
        return Uuid(made.topic_id)

    def new_producer(self) -> int:
        answer = self.ask(InitProducerIdRequest(transactional_id=None))
        assert answer.error_code == 0, answer
        return int(answer.producer_id)

    def send_batch(self, topic: str, partition: int, batch: bytes | bytearray) -> None:
        data = PartitionProduceData(index=partition, records=bytes(batch))
        request = ProduceRequest(
            acks=_ACKS_ALL,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )
        self.send(request, _PRODUCE_VERSION)

    def receive_offset(self) -> tuple[int, int]:
        """(error, first offset) of the oldest batch that was sent."""
        (topic,) = self.receive().responses
        (partition,) = topic.partition_responses
        return partition.error_code, partition.base_offset

    def produce(self, topic: str, batch: bytes | bytearray, partition: int = 0) -> tuple[int, int]:
        self.send_batch(topic, partition, batch)
        return self.receive_offset()

    def fetch(self, topic: str, offset: int, partition: int = 0) -> tuple[int, bytes, int]:
        """(error, records, high watermark), at once."""
        asked = FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=8 << 20
        )
        request = FetchRequest(
            session_epoch=-1,
            max_wait_ms=0,
            min_bytes=1,
            topics=[FetchTopic(topic=topic, topic_id=Uuid(ZERO_UUID), partitions=[asked])],
        )
        (found,) = self.ask(request, _FETCH_VERSION).responses
        (answer,) = found.partitions
        return answer.error_code, bytes(answer.records or b""), answer.high_watermark
