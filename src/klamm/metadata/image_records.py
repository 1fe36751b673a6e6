"""The records that make an image: what a snapshot holds. The inverse of replay.py."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.ids import Uuid
from klamm.metadata.features import METADATA_VERSION
from klamm.metadata.image import (
    BrokerImage,
    ClusterImage,
    ControllerImage,
    PartitionImage,
)
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


def records_of(image: ClusterImage) -> Iterator[object]:
    """metadata.version comes first: it says how to read the rest."""
    yield from _features(image)
    for broker in image.brokers.values():
        yield _broker(broker)
    for controller in image.controllers.values():
        yield _controller(controller)
    for topic in image.topics_by_id.values():
        yield TopicRecord(name=topic.name, topic_id=topic.topic_id)
        for index, partition in enumerate(topic.partitions):
            yield partition_record(topic.topic_id, index, partition)
    for key, configs in image.configs.items():
        for name, value in configs.items():
            yield ConfigRecord(
                resource_type=key.resource_type,
                resource_name=key.resource_name,
                name=name,
                value=value,
            )
    if image.next_producer_id:
        yield ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    yield from _quotas(image)
    yield from _security(image)
    if image.zk_migration_state:
        yield ZkMigrationStateRecord(zk_migration_state=image.zk_migration_state)


def _features(image: ClusterImage) -> Iterator[FeatureLevelRecord]:
    names = sorted(image.features, key=lambda name: (name != METADATA_VERSION, name))
    for name in names:
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])


def _broker(broker: BrokerImage) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in broker.endpoints
        ],
        features=[
            BrokerFeature(
                name=name, min_supported_version=each.lowest, max_supported_version=each.highest
            )
            for name, each in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.is_fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=list(broker.cordoned_directories) or None,
    )


def _controller(controller: ControllerImage) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=[
            ControllerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in controller.endpoints
        ],
        features=[
            ControllerFeature(
                name=name, min_supported_version=each.lowest, max_supported_version=each.highest
            )
            for name, each in controller.features.items()
        ],
    )


def partition_record(topic_id: Uuid, index: int, partition: PartitionImage) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing),
        adding_replicas=list(partition.adding),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def _quotas(image: ClusterImage) -> Iterator[ClientQuotaRecord]:
    for entity, quotas in image.client_quotas.items():
        for key, value in quotas.items():
            parts = [
                EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                for part in entity
            ]
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)


def _security(image: ClusterImage) -> Iterator[object]:
    for acl_id, acl in image.acls.items():
        yield AccessControlEntryRecord(
            id=acl_id,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
    for key, credential in image.scram.items():
        yield UserScramCredentialRecord(
            name=key.user,
            mechanism=key.mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for token_id, token in image.delegation_tokens.items():
        yield DelegationTokenRecord(
            token_id=token_id,
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_timestamp,
            max_timestamp=token.max_timestamp,
            expiration_timestamp=token.expiration_timestamp,
        )
