"""What a client is shown of the settings of a topic, a broker, the cluster, a group or a metrics subscription.

An entry has a value, where it came from, and every other value that stood behind it, from the one in force down to the
default: the synonyms. The rules, odd ones included, are those of Kafka's DescribeConfigs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from itertools import dropwhile
from typing import NamedTuple

from klamm.base.settings.broker import Settings, topic_settings
from klamm.base.settings.declare import Mode, Setting
from klamm.base.settings.kinds import write
from klamm.base.settings.table import (
    AUTHORIZER,
    BROKER,
    CLIENT_METRICS,
    DYNAMIC_ONLY,
    GROUP,
    find_broker_setting,
)
from klamm.base.settings.topic import TOPIC, attribute_of


class Source(IntEnum):
    """Where a value came from; the numbers are those on the wire."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


class SynonymEntry(NamedTuple):
    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    value: str | None
    source: Source
    # The number of a Kind, or 0 for a setting that only a plug-in knows.
    kind: int
    read_only: bool
    sensitive: bool
    synonyms: tuple[SynonymEntry, ...]
    documentation: str


@dataclass(frozen=True)
class Layers:
    """The texts a broker's settings are made of, the strongest first: its own, the cluster's, those of its file.

    Keeps what it has worked out, so one object should serve a whole request.
    """

    settings: Settings
    broker: Mapping[str, str]
    cluster: Mapping[str, str]

    @cached_property
    def dynamic(self) -> Mapping[str, str]:
        return {**self.cluster, **self.broker}

    @cached_property
    def in_force(self) -> Mapping[str, str]:
        return {**self.settings.static, **self.dynamic}

    @cached_property
    def topic_entries(self) -> Mapping[str, Entry]:
        """A topic that sets nothing."""
        settings = topic_settings(self.settings, self.dynamic)
        return {
            name: _entry(
                declared,
                write(declared.kind, getattr(settings, attribute_of(name))),
                _broker_synonyms(declared.synonyms[0].name, self) if declared.synonyms else (),
            )
            for name, declared in TOPIC.items()
            if not declared.hidden
        }

    def behind(self, name: str, sensitive: bool) -> Iterator[SynonymEntry]:
        """Every layer's value of one name."""
        static = self.settings.static
        texts = (
            (self.broker, Source.DYNAMIC_BROKER),
            (self.cluster, Source.DYNAMIC_DEFAULT_BROKER),
        )
        for layer, source in (*texts, (static, Source.STATIC_BROKER)):
            if name in layer:
                yield SynonymEntry(name, None if sensitive else layer[name], source)
        if name in BROKER and BROKER[name].default is not None:
            yield SynonymEntry(name, BROKER[name].default_text, Source.DEFAULT)


def describe_topic(overrides: Mapping[str, str], layers: Layers) -> list[Entry]:
    entries = dict(layers.topic_entries)
    for name, text in overrides.items():
        if name in entries:
            value = TOPIC[name].shown(text)
            synonyms = (SynonymEntry(name, value, Source.DYNAMIC_TOPIC), *entries[name].synonyms)
            entries[name] = replace(
                entries[name], value=value, source=Source.DYNAMIC_TOPIC, synonyms=synonyms
            )
    return list(entries.values())


def describe_broker(layers: Layers) -> list[Entry]:
    entries = [
        _broker_entry(name, declared, layers)
        for name, declared in BROKER.items()
        if not declared.hidden
    ]
    others = [name for name in layers.in_force if name not in BROKER]
    return entries + [_unlisted_entry(name, layers) for name in others]


def describe_cluster(cluster: Mapping[str, str]) -> list[Entry]:
    """The dynamic defaults of all brokers: only what was set, and nothing behind it."""
    entries = []
    for name, text in cluster.items():
        declared = find_broker_setting(name)
        sensitive = declared is None or declared.sensitive
        behind = (SynonymEntry(name, None if sensitive else text, Source.DYNAMIC_DEFAULT_BROKER),)
        if declared is None:
            entries.append(_plugin_entry(name, behind, read_only=False))
        else:
            entries.append(_entry(declared, None if sensitive else declared.shown(text), behind))
    return entries


def describe_group(overrides: Mapping[str, str], layers: Layers) -> list[Entry]:
    entries = []
    for name, declared in GROUP.items():
        behind: tuple[SynonymEntry, ...]
        if declared.synonyms:
            behind = tuple(layers.behind(declared.synonyms[0].name, sensitive=False))
        else:
            behind = (SynonymEntry(name, declared.default_text, Source.DEFAULT),)
        value = declared.shown(overrides.get(name) or behind[0].value)
        if name in overrides:
            behind = (SynonymEntry(name, value, Source.GROUP), *behind)
        entries.append(_entry(declared, value, behind))
    return entries


def describe_client_metrics(overrides: Mapping[str, str]) -> list[Entry]:
    entries = []
    for name, declared in CLIENT_METRICS.items():
        if name in overrides:
            value = declared.shown(overrides[name])
            entries.append(
                _entry(declared, value, (SynonymEntry(name, value, Source.CLIENT_METRICS),))
            )
        else:
            entries.append(_entry(declared, declared.default_text, ()))
    return entries


def _broker_entry(name: str, declared: Setting, layers: Layers) -> Entry:
    texts = layers.in_force
    value = declared.default_text
    if name in texts and not _is_silenced(declared, layers):
        value = declared.shown(texts[name])
    behind = _broker_synonyms(name, layers)
    read_only = declared.mode is Mode.READ_ONLY
    return _entry(declared, value, behind, read_only=read_only)


def _is_silenced(declared: Setting, layers: Layers) -> bool:
    """A dynamic value takes the other units of the same setting out of force."""
    dynamic = layers.dynamic
    return declared.name not in dynamic and any(each.name in dynamic for each in declared.synonyms)


def _broker_synonyms(name: str, layers: Layers) -> tuple[SynonymEntry, ...]:
    """All values behind a broker setting, its other units included, from its own first value on."""
    declared = BROKER[name]
    names: Iterable[str] = [each.name for each in declared.synonyms] or [name]
    behind = (entry for each in names for entry in layers.behind(each, declared.sensitive))
    return tuple(dropwhile(lambda entry: entry.name != name, behind))


def _unlisted_entry(name: str, layers: Layers) -> Entry:
    """A setting outside of the table: of one listener, of a throttle, or of a plug-in."""
    declared = find_broker_setting(name)
    if declared is None or name in AUTHORIZER:
        return _plugin_entry(name, tuple(layers.behind(name, sensitive=True)), read_only=True)
    behind = tuple(layers.behind(name, declared.sensitive))
    if name != declared.name:
        behind += tuple(layers.behind(declared.name, declared.sensitive))
    value = declared.shown(layers.in_force[name])
    return replace(_entry(declared, value, behind, read_only=name not in DYNAMIC_ONLY), name=name)


def _plugin_entry(name: str, behind: tuple[SynonymEntry, ...], *, read_only: bool) -> Entry:
    """Nobody here knows whether the value is a secret, so it is treated as one."""
    return Entry(name, None, behind[0].source, 0, read_only, True, behind, "")


def _entry(
    declared: Setting, value: str | None, behind: Iterable[SynonymEntry], *, read_only: bool = False
) -> Entry:
    synonyms = tuple(behind)
    return Entry(
        name=declared.name,
        value=None if declared.sensitive else value,
        source=synonyms[0].source if synonyms else Source.DEFAULT,
        kind=declared.kind,
        read_only=read_only,
        sensitive=declared.sensitive,
        synonyms=synonyms,
        documentation=declared.doc,
    )
