"""Settings of Kafka 3.x that 4.x no longer has, and what to do instead."""

_ZOOKEEPER = "belongs to ZooKeeper, which is gone since Kafka 4.0; remove it and set process.roles"
_NO_EFFECT = "is gone since Kafka 4.0 and has no successor; remove it"
_LISTENERS = "is gone; use listeners and advertised.listeners"
_FORMAT = "is gone since Kafka 4.0: the log has one message format; remove it"

REMOVED = {
    "inter.broker.protocol.version": "is gone since Kafka 4.0; the feature level metadata.version takes its place, remove it",
    "log.message.format.version": _FORMAT,
    "log.message.downconversion.enable": _FORMAT,
    "log.message.timestamp.difference.max.ms": "is gone; use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms",
    "broker.id.generation.enable": "is gone with ZooKeeper; set node.id",
    "reserved.broker.max.id": "is gone with ZooKeeper; set node.id",
    "control.plane.listener.name": "is gone since Kafka 4.0; use controller.listener.names",
    "delegation.token.master.key": "is gone since Kafka 4.0; use delegation.token.secret.key",
    "leader.imbalance.per.broker.percentage": _NO_EFFECT,
    "auto.include.jmx.reporter": "is gone since Kafka 4.0; use metric.reporters",
    "offsets.commit.required.acks": _NO_EFFECT,
    "controlled.shutdown.max.retries": _NO_EFFECT,
    "controlled.shutdown.retry.backoff.ms": _NO_EFFECT,
    "group.coordinator.new.enable": "is gone since Kafka 4.0; use group.coordinator.rebalance.protocols",
    "group.share.enable": "is gone; the feature share.version takes its place, remove it",
    "group.share.max.groups": _NO_EFFECT,
    "port": _LISTENERS,
    "host.name": _LISTENERS,
    "advertised.port": _LISTENERS,
    "advertised.host.name": _LISTENERS,
}


def removed_prefix(name: str) -> str | None:
    if name.startswith("zookeeper."):
        return _ZOOKEEPER
    return _NO_EFFECT if name.startswith("password.encoder.") else None
