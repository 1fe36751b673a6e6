"""A small asyncio client of Kafka's protocol: Producer, Consumer and Admin.

It imports base, protocol and the rules of logins (security) and nothing else of klamm: to a broker it is a stranger like any other.
"""

from klamm.client.admin.admin import Admin
from klamm.client.consumer.consumer import Consumer
from klamm.client.consumer.membership import RebalanceListener
from klamm.client.consumer.record import ConsumerRecord
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.environment import Environment
from klamm.client.offsets import CommittedOffset, GroupMetadata
from klamm.client.producer.batch import Delivered
from klamm.client.producer.producer import Producer
from klamm.client.producer.settings import ALL, ProducerSettings
from klamm.client.security import Security

__all__ = [
    "Producer",
    "ProducerSettings",
    "ALL",
    "Delivered",
    "Consumer",
    "ConsumerSettings",
    "ConsumerRecord",
    "RebalanceListener",
    "CommittedOffset",
    "GroupMetadata",
    "Admin",
    "Environment",
    "Security",
]
