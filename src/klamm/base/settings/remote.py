"""Tiered storage. None of it acts: klamm keeps all data on local disks."""

from klamm.base.settings.checks import NotEmpty
from klamm.base.settings.declare import LONG_MAX, Mode, Setting, accepted
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("remote.log.storage.system.enable", Kind.BOOLEAN, False, doc="Keep old segments in tiered storage."),
    accepted("remote.log.storage.manager.impl.prefix", Kind.STRING, "rsm.config.", check=NotEmpty(), doc="Prefix of the settings handed to the storage plug-in."),
    accepted("remote.log.metadata.manager.impl.prefix", Kind.STRING, "rlmm.config.", check=NotEmpty(), doc="Prefix of the settings handed to the metadata plug-in."),
    accepted("remote.log.storage.manager.class.name", Kind.STRING, None, check=NotEmpty(), doc="Java class of the storage plug-in."),
    accepted("remote.log.storage.manager.class.path", Kind.STRING, None, doc="Class path of the storage plug-in."),
    accepted("remote.log.metadata.manager.class.name", Kind.STRING, "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", check=NotEmpty(), doc="Java class of the metadata plug-in."),
    accepted("remote.log.metadata.manager.class.path", Kind.STRING, None, doc="Class path of the metadata plug-in."),
    accepted("remote.log.metadata.manager.listener.name", Kind.STRING, None, check=NotEmpty(), doc="Listener over which the metadata plug-in talks to brokers."),
    accepted("remote.log.metadata.custom.metadata.max.bytes", Kind.INT, 128, at_least=0, doc="Most bytes the storage plug-in may add to a segment's metadata."),
    accepted("remote.log.index.file.cache.total.size.bytes", Kind.LONG, 1_073_741_824, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Disk space for indexes fetched from tiered storage."),
    accepted("remote.log.index.file.cache.ttl.ms", Kind.LONG, 900_000, at_least=-1, hidden=True, doc="Time an index fetched from tiered storage stays unused before it is dropped."),
    accepted("remote.log.manager.thread.pool.size", Kind.INT, 2, at_least=1, doc="Threads of the tiered storage manager."),
    accepted("remote.log.manager.copier.thread.pool.size", Kind.INT, 10, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that copy segments to tiered storage."),
    accepted("remote.log.manager.expiration.thread.pool.size", Kind.INT, 10, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that drop segments from tiered storage."),
    accepted("remote.log.manager.follower.thread.pool.size", Kind.INT, 2, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that follow what leaders do with tiered storage."),
    accepted("remote.log.manager.task.interval.ms", Kind.LONG, 30_000, at_least=1, doc="Time between two rounds of copying to and dropping from tiered storage."),
    accepted("remote.log.manager.task.retry.backoff.ms", Kind.LONG, 500, at_least=1, hidden=True, doc="First pause after a failed round of tiered storage."),
    accepted("remote.log.manager.task.retry.backoff.max.ms", Kind.LONG, 30_000, at_least=1, hidden=True, doc="Longest pause after failed rounds of tiered storage."),
    accepted("remote.log.manager.task.retry.jitter", Kind.DOUBLE, 0.2, at_least=0, at_most=0.5, hidden=True, doc="Random share of the pause after a failed round of tiered storage."),
    accepted("remote.log.reader.threads", Kind.INT, 10, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that read from tiered storage."),
    accepted("remote.log.reader.max.pending.tasks", Kind.INT, 100, at_least=1, doc="Reads from tiered storage that may wait."),
    accepted("remote.log.manager.copy.max.bytes.per.second", Kind.LONG, LONG_MAX, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Most bytes per second copied to tiered storage."),
    accepted("remote.log.manager.copy.quota.window.num", Kind.INT, 11, at_least=1, doc="Windows over which copying to tiered storage is measured."),
    accepted("remote.log.manager.copy.quota.window.size.seconds", Kind.INT, 1, at_least=1, doc="Length of a window over which copying to tiered storage is measured."),
    accepted("remote.log.manager.fetch.max.bytes.per.second", Kind.LONG, LONG_MAX, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Most bytes per second read from tiered storage."),
    accepted("remote.log.manager.fetch.quota.window.num", Kind.INT, 11, at_least=1, doc="Windows over which reading from tiered storage is measured."),
    accepted("remote.log.manager.fetch.quota.window.size.seconds", Kind.INT, 1, at_least=1, doc="Length of a window over which reading from tiered storage is measured."),
    accepted("remote.fetch.max.wait.ms", Kind.INT, 500, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Longest wait for a read from tiered storage."),
    accepted("remote.list.offsets.request.timeout.ms", Kind.LONG, 30_000, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Longest wait for an offset looked up in tiered storage."),
)
# fmt: on
