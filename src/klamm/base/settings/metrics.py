"""Metrics and client telemetry. None of it acts yet."""

from klamm.base.settings.declare import Mode, Setting, accepted
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("metrics.num.samples", Kind.INT, 2, at_least=1, doc="Samples kept for a metric."),
    accepted("metrics.sample.window.ms", Kind.LONG, 30_000, at_least=1, doc="Time span of a sample."),
    accepted("metric.reporters", Kind.LIST, ("org.apache.kafka.common.metrics.JmxReporter",), mode=Mode.CLUSTER_WIDE, doc="Java classes that report metrics."),
    accepted("metrics.recording.level", Kind.STRING, "INFO", doc="Most detailed metrics that are recorded."),
    accepted("kafka.metrics.reporters", Kind.LIST, (), doc="Java classes that report Kafka's older metrics."),
    accepted("kafka.metrics.polling.interval.secs", Kind.INT, 10, at_least=1, doc="Time between two reports of Kafka's older metrics."),
    accepted("telemetry.max.bytes", Kind.INT, 1_048_576, at_least=1, doc="Largest metrics message a client may push."),
)
# fmt: on
