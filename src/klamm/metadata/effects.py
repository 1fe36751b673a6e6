"""What each kind of metadata record does to an image in the making; one function per kind, and the table of them.

A record that does not fit what is known raises ReplayError. Transactions are not looked at here: replay.py holds back
what belongs to one until its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from klamm.base.ids import Uuid
from klamm.metadata.delta import MIGRATING_DIRECTORY, Draft, directories_for
from klamm.metadata.image import (
    AclImage,
    BrokerImage,
    ConfigKey,
    ControllerImage,
    DelegationTokenImage,
    Endpoint,
    PartitionImage,
    QuotaPart,
    ScramImage,
    ScramKey,
    VersionRange,
    shared,
)
from klamm.metadata.records.configs import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
)
from klamm.metadata.records.log import NoOpRecord, ZkMigrationStateRecord
from klamm.metadata.records.nodes import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from klamm.metadata.records.producer_ids import ProducerIdsRecord
from klamm.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from klamm.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

# How a PartitionChangeRecord says that the leader stays, and its epoch with it.
NO_LEADER_CHANGE = -2


# Topics and partitions


def _topic(draft: Draft, record: TopicRecord) -> None:
    draft.create_topic(record.name, record.topic_id)


def _remove_topic(draft: Draft, record: RemoveTopicRecord) -> None:
    draft.remove_topic(record.topic_id)


def _partition(draft: Draft, record: PartitionRecord) -> None:
    partition = PartitionImage(
        replicas=_ids(record.replicas),
        isr=_ids(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=_uuids(record.directories) or _unknown_directories(record.replicas),
        adding=_ids(record.adding_replicas),
        removing=_ids(record.removing_replicas),
        elr=_ids(record.eligible_leader_replicas or ()),
        last_known_elr=_ids(record.last_known_elr or ()),
        leader_recovery_state=record.leader_recovery_state,
    )
    draft.topic(record.topic_id).put(record.partition_id, partition)


def _unknown_directories(replicas: Sequence[int]) -> tuple[Uuid, ...]:
    """Records from before KIP-858 say nothing of directories: not known yet."""
    return shared((MIGRATING_DIRECTORY,) * len(replicas))


def _partition_change(draft: Draft, record: PartitionChangeRecord) -> None:
    def change(before: PartitionImage) -> PartitionImage:
        return changed_partition(before, record)

    draft.change_partition(record.topic_id, record.partition_id, change)


def changed_partition(before: PartitionImage, change: PartitionChangeRecord) -> PartitionImage:
    """What the record leaves out stays; naming a leader, even the same one, begins a new leader epoch."""
    names_leader = change.leader != NO_LEADER_CHANGE
    recovery = change.leader_recovery_state
    replicas = before.replicas if change.replicas is None else _ids(change.replicas)
    directories = before.directories
    if change.directories is not None:
        directories = _uuids(change.directories)
    elif change.replicas is not None:
        directories = directories_for(before, replicas)
    return PartitionImage(
        replicas=replicas,
        isr=_kept(before.isr, change.isr),
        leader=change.leader if names_leader else before.leader,
        leader_epoch=before.leader_epoch + (1 if names_leader else 0),
        partition_epoch=before.partition_epoch + 1,
        directories=directories,
        adding=_kept(before.adding, change.adding_replicas),
        removing=_kept(before.removing, change.removing_replicas),
        elr=_kept(before.elr, change.eligible_leader_replicas),
        last_known_elr=_kept(before.last_known_elr, change.last_known_elr),
        leader_recovery_state=before.leader_recovery_state if recovery < 0 else recovery,
    )


def _clear_elr(draft: Draft, record: ClearElrRecord) -> None:
    """An empty name means every topic."""
    for topic_id in draft.topics_with_elr(record.topic_name):
        topic = draft.topic(topic_id)
        for index, partition in list(topic.partitions.items()):
            if partition.elr or partition.last_known_elr:
                topic.put(index, replace(partition, elr=(), last_known_elr=()))


# Brokers and controllers


def _register_broker(draft: Draft, record: RegisterBrokerRecord) -> None:
    draft.put_broker(
        BrokerImage(
            broker_id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
            rack=record.rack,
            is_fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            directories=_uuids(record.log_dirs),
            cordoned_directories=_uuids(record.cordoned_log_dirs or ()),
        )
    )


def _unregister_broker(draft: Draft, record: UnregisterBrokerRecord) -> None:
    draft.remove_broker(record.broker_id, record.broker_epoch)


def _broker_change(draft: Draft, record: BrokerRegistrationChangeRecord) -> None:
    broker = draft.known_broker(record.broker_id, record.broker_epoch)
    cordoned = record.cordoned_log_dirs
    draft.put_broker(
        replace(
            broker,
            is_fenced=_toggled(broker.is_fenced, record.fenced),
            in_controlled_shutdown=_toggled(
                broker.in_controlled_shutdown, record.in_controlled_shutdown
            ),
            directories=_uuids(record.log_dirs) or broker.directories,
            cordoned_directories=(
                broker.cordoned_directories if cordoned is None else _uuids(cordoned)
            ),
        )
    )


def _fence(draft: Draft, record: FenceBrokerRecord) -> None:
    draft.put_broker(replace(draft.known_broker(record.id, record.epoch), is_fenced=True))


def _unfence(draft: Draft, record: UnfenceBrokerRecord) -> None:
    draft.put_broker(replace(draft.known_broker(record.id, record.epoch), is_fenced=False))


def _register_controller(draft: Draft, record: RegisterControllerRecord) -> None:
    draft.controllers.write()[record.controller_id] = ControllerImage(
        controller_id=record.controller_id,
        incarnation_id=record.incarnation_id,
        endpoints=_endpoints(record.end_points),
        features=_features(record.features),
        zk_migration_ready=record.zk_migration_ready,
    )


# Configs, features, ids


def _config(draft: Draft, record: ConfigRecord) -> None:
    key = ConfigKey(record.resource_type, record.resource_name)
    draft.set_config(key, record.name, record.value)


def _feature(draft: Draft, record: FeatureLevelRecord) -> None:
    if record.feature_level == 0:
        draft.features.drop(record.name)
    else:
        draft.features.write()[record.name] = record.feature_level


def _producer_ids(draft: Draft, record: ProducerIdsRecord) -> None:
    draft.next_producer_id = record.next_producer_id


def _zk_migration(draft: Draft, record: ZkMigrationStateRecord) -> None:
    draft.zk_migration_state = record.zk_migration_state


def _no_op(draft: Draft, record: NoOpRecord) -> None:
    """Only moves the offset on, so that followers can see that the leader lives."""


# Quotas, ACLs, credentials


def _client_quota(draft: Draft, record: ClientQuotaRecord) -> None:
    parts = (QuotaPart(part.entity_type, part.entity_name) for part in record.entity)
    # The order in which a client names the parts says nothing; each type stands once.
    entity = tuple(sorted(parts, key=lambda part: part.entity_type))
    quotas = dict(draft.client_quotas.read().get(entity, {}))
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    if quotas:
        draft.client_quotas.write()[entity] = quotas
    else:
        draft.client_quotas.drop(entity)


def _acl(draft: Draft, record: AccessControlEntryRecord) -> None:
    draft.acls.write()[record.id] = AclImage(
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=record.principal,
        host=record.host,
        operation=record.operation,
        permission_type=record.permission_type,
    )


def _remove_acl(draft: Draft, record: RemoveAccessControlEntryRecord) -> None:
    draft.acls.drop(record.id)


def _scram(draft: Draft, record: UserScramCredentialRecord) -> None:
    draft.scram.write()[ScramKey(record.mechanism, record.name)] = ScramImage(
        salt=bytes(record.salt),
        stored_key=bytes(record.stored_key),
        server_key=bytes(record.server_key),
        iterations=record.iterations,
    )


def _remove_scram(draft: Draft, record: RemoveUserScramCredentialRecord) -> None:
    draft.scram.drop(ScramKey(record.mechanism, record.name))


def _token(draft: Draft, record: DelegationTokenRecord) -> None:
    draft.delegation_tokens.write()[record.token_id] = DelegationTokenImage(
        owner=record.owner,
        requester=record.requester,
        renewers=tuple(record.renewers),
        issue_timestamp=record.issue_timestamp,
        max_timestamp=record.max_timestamp,
        expiration_timestamp=record.expiration_timestamp,
    )


def _remove_token(draft: Draft, record: RemoveDelegationTokenRecord) -> None:
    draft.delegation_tokens.drop(record.token_id)


EFFECTS: dict[type, Callable[[Draft, Any], None]] = {
    TopicRecord: _topic,
    RemoveTopicRecord: _remove_topic,
    PartitionRecord: _partition,
    PartitionChangeRecord: _partition_change,
    ClearElrRecord: _clear_elr,
    RegisterBrokerRecord: _register_broker,
    UnregisterBrokerRecord: _unregister_broker,
    BrokerRegistrationChangeRecord: _broker_change,
    FenceBrokerRecord: _fence,
    UnfenceBrokerRecord: _unfence,
    RegisterControllerRecord: _register_controller,
    ConfigRecord: _config,
    FeatureLevelRecord: _feature,
    ProducerIdsRecord: _producer_ids,
    ZkMigrationStateRecord: _zk_migration,
    NoOpRecord: _no_op,
    ClientQuotaRecord: _client_quota,
    AccessControlEntryRecord: _acl,
    RemoveAccessControlEntryRecord: _remove_acl,
    UserScramCredentialRecord: _scram,
    RemoveUserScramCredentialRecord: _remove_scram,
    DelegationTokenRecord: _token,
    RemoveDelegationTokenRecord: _remove_token,
}


def _ids(ids: Iterable[int]) -> tuple[int, ...]:
    return shared(tuple(ids))


def _uuids(uuids: Iterable[Uuid]) -> tuple[Uuid, ...]:
    return shared(tuple(uuids))


def _kept(before: tuple[int, ...], change: Iterable[int] | None) -> tuple[int, ...]:
    return before if change is None else _ids(change)


def _toggled(before: bool, change: int) -> bool:
    """The record's three states: 1 on, -1 off, 0 as it was."""
    return change > 0 if change else before


def _endpoints(points: Iterable[BrokerEndpoint | ControllerEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(point.name, point.host, point.port, point.security_protocol) for point in points
    )


def _features(features: Iterable[BrokerFeature | ControllerFeature]) -> dict[str, VersionRange]:
    return {
        feature.name: VersionRange(feature.min_supported_version, feature.max_supported_version)
        for feature in features
    }
