"""The settings of a whole broker: one theme per attribute, and the texts they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from klamm.base.settings.authorization import (
    AuthorizationSettings,
    StandardAuthorizerSettings,
)
from klamm.base.settings.declare import read_theme
from klamm.base.settings.group import GroupSettings
from klamm.base.settings.kinds import Value
from klamm.base.settings.listeners import ListenerSettings
from klamm.base.settings.log import LogSettings
from klamm.base.settings.network import NetworkSettings
from klamm.base.settings.node import NodeSettings
from klamm.base.settings.quorum import QuorumSettings
from klamm.base.settings.replication import ReplicationSettings
from klamm.base.settings.table import BROKER, LISTENER_PREFIX, find_broker_setting
from klamm.base.settings.topic import TopicSettings, topic_defaults, with_overrides
from klamm.base.settings.topics import TopicsSettings
from klamm.base.settings.transaction import TransactionSettings

NOTHING: Mapping[str, str] = MappingProxyType({})

# A broker that was told nothing about a cluster is a cluster of its own. It listens on this machine only; its
# controller needs no socket, because there is nobody else to talk to.
# Deviation: Kafka does not start without process.roles, node.id, controller.listener.names and a quorum.
ALONE: Mapping[str, str] = MappingProxyType(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    node: NodeSettings
    listeners: ListenerSettings
    network: NetworkSettings
    topics: TopicsSettings
    log: LogSettings
    quorum: QuorumSettings
    replication: ReplicationSettings
    group: GroupSettings
    transaction: TransactionSettings
    authorization: AuthorizationSettings
    standard_authorizer: StandardAuthorizerSettings
    # What a topic gets that sets nothing for itself.
    topic_defaults: TopicSettings
    # What was set, by name, as it was written: the rest is default.
    static: Mapping[str, str]

    def value(self, name: str) -> Value:
        """Any broker setting by name, also one without a field."""
        declared = BROKER[name]
        return declared.read(self.static[name]) if name in self.static else declared.default

    def of_listener(self, listener: str, name: str) -> Value:
        """A setting as it holds for one listener: with its prefix, or without."""
        key = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
        return BROKER[name].read(self.static[key]) if key in self.static else self.value(name)

    def of_mechanism(self, listener: str, mechanism: str, name: str) -> Value:
        """A setting of one SASL mechanism of one listener; nothing else speaks for it."""
        key = f"{LISTENER_PREFIX}{listener.lower()}.{mechanism.lower()}.{name}"
        return BROKER[name].read(self.static[key]) if key in self.static else None

    def without_effect(self) -> tuple[str, ...]:
        """What was set and does nothing: worth a line when the broker starts."""
        rows = ((name, find_broker_setting(name)) for name in self.static)
        return tuple(name for name, declared in rows if declared is None or not declared.effective)


def build_settings(texts: Mapping[str, str] = NOTHING) -> Settings:
    """Settings from texts that have been checked; `load` has the checks and knows where texts come from."""
    texts = complete(texts)
    return Settings(
        node=read_theme(NodeSettings, texts),
        listeners=read_theme(ListenerSettings, texts),
        network=read_theme(NetworkSettings, texts),
        topics=read_theme(TopicsSettings, texts),
        log=read_theme(LogSettings, texts),
        quorum=read_theme(QuorumSettings, texts),
        replication=read_theme(ReplicationSettings, texts),
        group=read_theme(GroupSettings, texts),
        transaction=read_theme(TransactionSettings, texts),
        authorization=read_theme(AuthorizationSettings, texts),
        standard_authorizer=read_theme(StandardAuthorizerSettings, texts),
        topic_defaults=topic_defaults(texts),
        static=MappingProxyType(texts),
    )


def has_number(texts: Mapping[str, str]) -> bool:
    """Below zero broker.id, whose default is -1, is no number of a node."""
    return "node.id" in texts or not texts.get("broker.id", "-1").strip().startswith("-")


def complete(texts: Mapping[str, str]) -> dict[str, str]:
    """Adds what follows from the texts: the settings of a broker alone, and the two names of its number."""
    whole = dict(texts)
    if has_number(whole):
        for old, new in (("broker.id", "node.id"), ("node.id", "broker.id")):
            if old in whole:
                whole.setdefault(new, whole[old])
    if "process.roles" not in whole:
        whole = {**ALONE, "broker.id": whole.get("node.id", ALONE["node.id"]), **whole}
    return whole


def topic_settings(
    settings: Settings,
    broker_dynamic: Mapping[str, str] = NOTHING,
    topic_overrides: Mapping[str, str] = NOTHING,
) -> TopicSettings:
    """What holds for one topic. `broker_dynamic`: the cluster's defaults, covered by what this broker was given."""
    defaults = settings.topic_defaults
    if broker_dynamic:
        defaults = topic_defaults({**settings.static, **broker_dynamic})
    return with_overrides(defaults, topic_overrides)
