"""How topics come to be and go."""

from dataclasses import dataclass

from klamm.base.settings.declare import Setting, accepted, setting
from klamm.base.settings.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsSettings:
    auto_create: bool = setting(
        "auto.create.topics.enable",
        Kind.BOOLEAN,
        True,
        doc="Create a topic when a client asks for the metadata of one that does not exist.",
    )
    num_partitions: int = setting(
        "num.partitions",
        Kind.INT,
        1,
        at_least=1,
        doc="Partitions of a topic created without a number of its own.",
    )
    default_replication_factor: int = setting(
        "default.replication.factor",
        Kind.INT,
        1,
        doc="Replicas of a topic created without a number of its own.",
    )
    delete_enabled: bool = setting(
        "delete.topic.enable", Kind.BOOLEAN, True, doc="Let clients delete topics."
    )


# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("create.topic.policy.class.name", Kind.CLASS, None, doc="Java class that may refuse a new topic."),
    accepted("alter.config.policy.class.name", Kind.CLASS, None, doc="Java class that may refuse a change of settings."),
)
# fmt: on
