"""Names of things: topic partitions and the 128-bit ids that Kafka gives to topics, clusters and directories."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple, Self


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndEpoch(NamedTuple):
    offset: int
    epoch: int


class Uuid(bytes):
    """Sixteen bytes as they stand on the wire; printed as Kafka prints them, in URL-safe base64.

    A subclass of bytes: comparing and hashing are the built-in ones, which the fetch path relies on.
    """

    __slots__ = ()

    def __new__(cls, value: bytes | memoryview) -> Self:
        self = super().__new__(cls, value)
        if len(self) != 16:
            raise ValueError(f"a uuid has 16 bytes, not {len(self)}")
        return self

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(urlsafe_b64decode(text + "=="))

    def __str__(self) -> str:
        return urlsafe_b64encode(self).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"Uuid({self!s})"


ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC = "__cluster_metadata"
METADATA_PARTITION = TopicPartition(METADATA_TOPIC, 0)
# Fixed, so that nodes can fetch the metadata log before they know any metadata.
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")
