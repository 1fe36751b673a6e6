"""Changes of settings that are worth asking a real Kafka about: (resource type, resource, [(name, value)])."""

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32

_TOPIC_VALUES = """
segment.bytes abc|segment.bytes 5|segment.bytes |segment.bytes 99999999999|segment.bytes 2000000.5|nope 1| 1
retention.ms -2|retention.ms -1|retention.ms 0x10|retention.bytes -5|segment.ms 0|segment.index.bytes 3
cleanup.policy x|cleanup.policy |cleanup.policy compact,|cleanup.policy ,|cleanup.policy compact,compact
cleanup.policy delete , compact|cleanup.policy compact,compact,x|compression.type x|compression.type ZSTD
compression.gzip.level 0|compression.gzip.level -1|compression.lz4.level 18|compression.zstd.level 23|preallocate yes
preallocate TRUE|min.cleanable.dirty.ratio 2|min.cleanable.dirty.ratio -0.1|min.cleanable.dirty.ratio x
min.cleanable.dirty.ratio 5e-1|min.cleanable.dirty.ratio 0.5f|min.insync.replicas 0|message.timestamp.type x
message.timestamp.after.max.ms -1|max.message.bytes -1|flush.messages 0|max.compaction.lag.ms 0
leader.replication.throttled.replicas x|leader.replication.throttled.replicas *
leader.replication.throttled.replicas 1:2,3:4|follower.replication.throttled.replicas *,1:2
remote.storage.enable true|remote.storage.enable false|internal.segment.bytes 100|local.retention.ms -3
message.format.version 3.0|message.timestamp.difference.max.ms 1|message.downconversion.enable true
"""
_BROKER_VALUES = """
nope 1|log.dirs x|node.id 3|log.cleaner.threads abc|log.cleaner.threads -1|log.cleaner.threads 3|num.io.threads 17
num.io.threads 16|num.io.threads 3|num.network.threads 1|background.threads 21|message.max.bytes -1
log.retention.ms 0|log.retention.ms -1|log.retention.ms -5|log.segment.bytes 5|log.cleanup.policy x
log.cleanup.policy |compression.type x|listeners PLAINTEXT://:9999|advertised.listeners PLAINTEXT://:9999
ssl.keystore.password x|ssl.keystore.location /nope|listener.name.plaintext.ssl.keystore.location /nope
listener.name.plaintext.nope 1|listener.name.plaintext.log.dirs 1|listener.name.plaintext.max.connections abc
listener.name.plaintext.max.connections 7|leader.replication.throttled.rate abc|leader.replication.throttled.rate -1
follower.replication.throttled.rate 5|replica.alter.log.dirs.io.max.bytes.per.second x|max.connections -1
max.connections.per.ip 0|max.connections.per.ip.overrides 127.0.0.1:5|log.message.timestamp.type x
log.flush.interval.messages 0|log.retention.hours 1|zookeeper.connect x|super.users User:x
unclean.leader.election.enable maybe|sasl.jaas.config x|log.roll.ms 0|log.cleaner.dedupe.buffer.size 1
log.cleaner.io.buffer.load.factor x|producer.id.expiration.ms 0|transaction.partition.verification.enable x
num.replica.fetchers 0|num.recovery.threads.per.data.dir 10|cordoned.log.dirs /x
group.consumer.assignment.interval.ms -1|group.consumer.assignment.interval.ms 99999|config.providers a
log.cleaner.delete.retention.ms -1|log.retention.bytes abc
"""
_GROUP_VALUES = """
nope 1|consumer.session.timeout.ms abc|consumer.session.timeout.ms 44000|consumer.session.timeout.ms 70000
consumer.session.timeout.ms 60000|consumer.heartbeat.interval.ms 4000|consumer.heartbeat.interval.ms 16000
consumer.heartbeat.interval.ms 0|share.session.timeout.ms 1|share.heartbeat.interval.ms 20000
share.record.lock.duration.ms 1|share.record.lock.duration.ms 14000|share.record.lock.duration.ms 70000
share.delivery.count.limit 1|share.delivery.count.limit 11|share.partition.max.record.locks 99
share.partition.max.record.locks 5000|share.auto.offset.reset x|share.auto.offset.reset by_duration:PT1H
share.auto.offset.reset by_duration:x|share.isolation.level x|share.renew.acknowledge.enable x
streams.session.timeout.ms 1|streams.num.standby.replicas 3|streams.num.standby.replicas -1
streams.num.standby.replicas 2|streams.initial.rebalance.delay.ms -1|consumer.assignment.interval.ms 16000
"""
_CLIENT_METRICS_VALUES = """
nope 1|interval.ms abc|interval.ms 99|interval.ms 3600001|interval.ms 100|metrics |metrics a,b|metrics *|match x
match client_id=[|match client_id=abc|match nope=abc|match client_id=a,client_software_name=b|match client_id=a=b
match |match client_id=
"""


def _each(kind: int, resource: str, values: str) -> list[tuple[int, str, list[tuple[str, str]]]]:
    pairs = [
        pair.partition(" ") for line in values.strip("\n").split("\n") for pair in line.split("|")
    ]
    return [(kind, resource, [(name, value)]) for name, _, value in pairs]


QUESTIONS: list[tuple[int, str, list[tuple[str, str]]]] = [
    *_each(TOPIC, "settings-recorded", _TOPIC_VALUES),
    (
        TOPIC,
        "settings-recorded",
        [("max.compaction.lag.ms", "10"), ("min.compaction.lag.ms", "20")],
    ),
    (TOPIC, "settings-recorded", [("segment.bytes", "5"), ("nope", "1")]),
    *_each(BROKER, "1", _BROKER_VALUES),
    *_each(BROKER, "", _BROKER_VALUES),
    *_each(GROUP, "settings-recorded", _GROUP_VALUES),
    *_each(CLIENT_METRICS, "settings-recorded", _CLIENT_METRICS_VALUES),
]
