"""From the raw bytes of one topic and one partition to the partition.

As they stand in a flexible request: the topic (name length plus one and name, or id), the count of its partitions plus
one, which must be 2, and the index. An answer about the partition repeats them byte for byte.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from klamm.base.ids import Uuid
from klamm.replication.partition import Partition

if TYPE_CHECKING:
    from klamm.server.broker import Broker

_INDEX = Struct(">i")
# Count and index.
_BEHIND_TOPIC = 5
SIZE_BY_ID = 16 + _BEHIND_TOPIC


def find_by_name(broker: Broker, raw: bytes) -> Partition | None:
    if not 1 < raw[0] < 128 or len(raw) != raw[0] + _BEHIND_TOPIC or raw[-_BEHIND_TOPIC] != 2:
        return None
    try:
        name = raw[1:-_BEHIND_TOPIC].decode()
    except UnicodeDecodeError:
        return None
    return broker.replicas.find(name, _INDEX.unpack(raw[-4:])[0])


def find_by_id(broker: Broker, raw: bytes) -> Partition | None:
    if len(raw) != SIZE_BY_ID or raw[-_BEHIND_TOPIC] != 2:
        return None
    topic = broker.image.topics_by_id.get(Uuid(raw[:16]))
    return None if topic is None else broker.replicas.find(topic.name, _INDEX.unpack(raw[-4:])[0])
