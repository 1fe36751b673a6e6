"""What must hold between settings: rules that one row alone cannot state.

A rule reads values by name and gives the sentence that Kafka says when it is broken. They hold when a broker starts and
when a setting changes while it runs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from klamm.base.settings.kinds import Value
from klamm.base.settings.table import BROKER

_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000
_MIB = 1 << 20


class Broken(NamedTuple):
    """A broken rule: the setting to look at, and the sentence."""

    name: str
    sentence: str
    # Kafka's Scala code begins these sentences with "requirement failed: " when it tells them to a client.
    required: bool = True

    @property
    def for_client(self) -> str:
        return f"requirement failed: {self.sentence}" if self.required else self.sentence


class Values:
    """Settings by name, read from texts where they are set and from the table where they are not."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, name: str) -> Value:
        return BROKER[name].read(self._texts[name]) if name in self._texts else BROKER[name].default

    def number(self, name: str) -> int:
        value = self[name]
        assert isinstance(value, int | float), name
        return int(value)

    def first_number(self, *names: tuple[str, int]) -> int:
        """The first of several units that is set, in the finest."""
        for name, times in names:
            if self[name] is not None:
                return self.number(name) * times
        raise AssertionError(f"the last of {names} has a default")


def broken_rules(texts: Mapping[str, str]) -> Iterator[Broken]:
    values = Values(texts)
    for rule in _RULES:
        yield from rule(values)
    for theme in ("consumer", "share", "streams"):
        yield from _group_bounds(values, theme)


def _times(values: Values) -> Iterator[Broken]:
    retention = (
        ("log.retention.ms", 1),
        ("log.retention.minutes", _MINUTE_MS),
        ("log.retention.hours", _HOUR_MS),
    )
    if values.first_number(*retention) == 0:
        sentence = "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
        yield Broken("log.retention.ms", sentence)
    if values.first_number(("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)) < 1:
        yield Broken("log.roll.ms", "log.roll.ms must be greater than or equal to 1")
    if values.first_number(("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR_MS)) < 0:
        yield Broken("log.roll.jitter.ms", "log.roll.jitter.ms must be greater than or equal to 0")


def _cleaner(values: Values) -> Iterator[Broken]:
    threads = values.number("log.cleaner.threads")
    if values.number("log.cleaner.dedupe.buffer.size") <= _MIB * threads:
        name = "log.cleaner.dedupe.buffer.size"
        yield Broken(name, f"{name} must be at least 1MB per cleaner thread.")


def _directories(values: Values) -> Iterator[Broken]:
    directories = values["log.dirs"] if values["log.dirs"] is not None else values["log.dir"]
    cordoned = values["cordoned.log.dirs"]
    assert isinstance(directories, tuple)
    assert isinstance(cordoned, tuple)
    missing = [each for each in cordoned if each not in directories and each != "*"]
    if missing:
        where = "All entries in cordoned.log.dirs must be present in log.dirs or log.dir."
        yield Broken("cordoned.log.dirs", f"{where} Missing entries : {', '.join(missing)}")


def _connections(values: Values) -> Iterator[Broken]:
    overrides = str(values["max.connections.per.ip.overrides"])
    for pair in filter(None, overrides.split(",")):
        if not pair.rpartition(":")[2].strip().isdigit() or ":" not in pair:
            name = "max.connections.per.ip.overrides"
            yield Broken(
                name, f"{name} must be a list of host:count, but has {pair}", required=False
            )
    if values["max.connections.per.ip"] == 0 and not overrides:
        name = "max.connections.per.ip"
        yield Broken(name, f"{name} can be set to zero only if {name}.overrides property is set.")
    queued = values.number("queued.max.request.bytes")
    if 0 < queued < values.number("socket.request.max.bytes"):
        sentence = "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"
        yield Broken("queued.max.request.bytes", sentence)


def _followers(values: Values) -> Iterator[Broken]:
    wait = values.number("replica.fetch.wait.max.ms")
    if wait > values.number("replica.socket.timeout.ms"):
        reason = "at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"
        yield Broken(
            "replica.socket.timeout.ms", f"replica.socket.timeout.ms should always be {reason}"
        )
    if wait > values.number("replica.lag.time.max.ms"):
        reason = "less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR"
        yield Broken(
            "replica.fetch.wait.max.ms", f"replica.fetch.wait.max.ms should always be {reason}"
        )


def _coordinators(values: Values) -> Iterator[Broken]:
    protocols = values["group.coordinator.rebalance.protocols"]
    assert isinstance(protocols, tuple)
    if "classic" not in protocols:
        name = "group.coordinator.rebalance.protocols"
        yield Broken(name, "Disabling the 'classic' protocol is not supported.", required=False)
    for name in (
        "offsets.topic.compression.codec",
        "share.coordinator.state.topic.compression.codec",
    ):
        if values.number(name) not in range(5):
            yield Broken(name, f"Unknown compression type id: {values[name]}", required=False)


def _group_bounds(values: Values, theme: str) -> Iterator[Broken]:
    bounded = ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"]
    if theme == "share":
        bounded += ["record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"]
    for setting in bounded:
        name, least, most = (f"group.{theme}.{part}{setting}" for part in ("", "min.", "max."))
        if values.number(most) < values.number(least):
            yield Broken(most, f"{most} must be greater than or equal to {least}", required=False)
        elif (
            sentence := out_of_bounds(name, values.number(name), least, most, values)
        ) is not None:
            yield Broken(name, sentence, required=False)


def out_of_bounds(name: str, value: int, least: str, most: str, values: Values) -> str | None:
    """What is said when a value lies outside of two other settings; either may not exist."""
    if least in BROKER and value < values.number(least):
        return f"{name} must be greater than or equal to {least}"
    if most in BROKER and value > values.number(most):
        return f"{name} must be less than or equal to {most}"
    return None


_RULES: tuple[Callable[[Values], Iterator[Broken]], ...] = (
    _times,
    _cleaner,
    _directories,
    _connections,
    _followers,
    _coordinators,
)
