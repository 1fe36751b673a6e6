"""Images made of records, as in a log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from klamm.base.ids import Uuid
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.configs import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
)
from klamm.metadata.records.log import ZkMigrationStateRecord
from klamm.metadata.records.nodes import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from klamm.metadata.records.producer_ids import ProducerIdsRecord
from klamm.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from klamm.metadata.records.topics import PartitionRecord, TopicRecord
from klamm.metadata.replay import apply


def an_id(name: str) -> Uuid:
    return Uuid(name.encode().ljust(16, b"-"))


def a_partition(topic: str, index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=an_id(topic),
        replicas=[1, 2],
        isr=[1, 2],
        leader=1,
        leader_epoch=3,
        partition_epoch=7,
        directories=[an_id("dir-1"), an_id("dir-2")],
    )


def one_of_everything() -> list[object]:
    """Records that fill every part of an image."""
    partition = a_partition("orders", 1)
    partition.eligible_leader_replicas = [2]
    partition.last_known_elr = [1]
    partition.adding_replicas, partition.removing_replicas = [2], [1]
    partition.leader_recovery_state = 1
    return [
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="group.version", feature_level=1),
        RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=an_id("life"),
            broker_epoch=4,
            end_points=[BrokerEndpoint(name="A", host="h", port=9092, security_protocol=1)],
            features=[
                BrokerFeature(
                    name="group.version", min_supported_version=0, max_supported_version=1
                )
            ],
            rack="r",
            fenced=False,
            in_controlled_shutdown=True,
            log_dirs=[an_id("dir-1")],
            cordoned_log_dirs=[an_id("dir-1")],
        ),
        RegisterControllerRecord(
            controller_id=1,
            incarnation_id=an_id("life"),
            end_points=[ControllerEndpoint(name="C", host="h", port=9093)],
            features=[
                ControllerFeature(
                    name="kraft.version", min_supported_version=0, max_supported_version=1
                )
            ],
        ),
        TopicRecord(name="orders", topic_id=an_id("orders")),
        a_partition("orders", 0),
        partition,
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5"),
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        ProducerIdsRecord(broker_id=1, broker_epoch=4, next_producer_id=2000),
        *of_clients(),
        ZkMigrationStateRecord(zk_migration_state=4),
    ]


def of_clients() -> list[object]:
    """Quotas, ACLs, credentials and tokens."""
    return [
        ClientQuotaRecord(
            entity=[
                EntityData(entity_type="user", entity_name="ann"),
                EntityData(entity_type="client-id", entity_name=None),
            ],
            key="producer_byte_rate",
            value=1024.0,
        ),
        AccessControlEntryRecord(
            id=an_id("acl"),
            resource_type=2,
            resource_name="orders",
            pattern_type=3,
            principal="User:ann",
            host="*",
            operation=3,
            permission_type=3,
        ),
        UserScramCredentialRecord(
            name="ann",
            mechanism=1,
            salt=b"salt",
            stored_key=b"stored",
            server_key=b"server",
            iterations=4096,
        ),
        DelegationTokenRecord(
            owner="User:ann", requester="User:bob", renewers=["User:c"], token_id="token"
        ),
    ]


def image_of(*records: object) -> ClusterImage:
    return apply(ClusterImage(cluster_id="c"), records, offset=len(records) - 1, epoch=1)[0]


@pytest.fixture
def full_image() -> ClusterImage:
    return image_of(*one_of_everything())


@pytest.fixture
def everything() -> list[object]:
    return one_of_everything()


@pytest.fixture
def make_image() -> Callable[..., ClusterImage]:
    return image_of


@pytest.fixture
def make_id() -> Callable[[str], Uuid]:
    return an_id


@pytest.fixture
def make_partition() -> Callable[[str, int], PartitionRecord]:
    return a_partition
