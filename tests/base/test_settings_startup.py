"""Which configs a node starts with. Kafka refuses the same, except where a test says otherwise."""

import pytest

from klamm.base.settings.listeners import Listener, SecurityProtocol, parse_listener
from klamm.base.settings.load import ConfigFile, SettingsError, load

BASE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,NET:PLAINTEXT,SSL:SSL",
}


def config(*changes: str) -> list[ConfigFile]:
    """BASE with `key=value` set, or `-key` taken out."""
    texts = dict(BASE)
    for change in changes:
        if change.startswith("-"):
            del texts[change[1:]]
        else:
            key, _, value = change.partition("=")
            texts[key] = value
    return [ConfigFile("f", "\n".join(f"{key}={value}" for key, value in texts.items()))]


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("-listener.security.protocol.map",),
        ("listeners=plaintext://:9092,controller://:9093",),
        ("listeners= PLAINTEXT://:9092 , CONTROLLER://:9093 ",),
        ("listeners=PLAINTEXT://:0,CONTROLLER://:0",),
        ("listeners=PLAINTEXT://127.0.0.1:9092,NET://[::1]:9092,CONTROLLER://:9093",),
        ("-controller.quorum.voters", "controller.quorum.bootstrap.servers=x:9093"),
        (
            "-controller.quorum.voters",
            "controller.quorum.bootstrap.servers=x:1",
            "advertised.listeners=PLAINTEXT://x:2,CONTROLLER://x:1",
        ),
        ("advertised.listeners=PLAINTEXT://x:9092,CONTROLLER://y:9093",),
        ("controller.quorum.voters=1@127.0.0.1:9093,2@127.0.0.1:9193,3@127.0.0.1:9293",),
        ("-controller.quorum.voters", "controller.quorum.bootstrap.servers=x:9093,y:1"),
        (
            "process.roles=broker",
            "listeners=PLAINTEXT://:9092",
            "controller.quorum.voters=2@h:9093",
        ),
        ("process.roles=controller", "listeners=CONTROLLER://:9093"),
        (
            "process.roles=controller",
            "listeners=CONTROLLER://:9093",
            "advertised.listeners=CONTROLLER://x:9093",
        ),
        ("log.retention.ms=-7",),
        ("max.connections.per.ip=0", "max.connections.per.ip.overrides=1.1.1.1:5"),
        ("log.dirs=/a,/a",),
    ],
    ids=" ".join,
)
def test_a_node_starts_with(changes: tuple[str, ...]) -> None:
    load(config(*changes))


@pytest.mark.parametrize(
    ("changes", "key", "reason"),
    [
        (["-node.id"], "node.id", "is missing"),
        (["broker.id=3"], "broker.id", "is not the same as node.id"),
        (["-node.id", "broker.id=-1"], "node.id", "is missing"),
        (["-node.id", "broker.id=-7"], "node.id", "is missing"),
        (["-process.roles"], "process.roles", "is missing, but controller.quorum.voters is set"),
        (["-controller.listener.names"], "controller.listener.names", "is missing"),
        (["controller.listener.names=OTHER"], "controller.listener.names", "names no listener"),
        (["-controller.quorum.voters"], "controller.quorum.voters", "is missing"),
        (["controller.quorum.voters=2@x:1"], "controller.quorum.voters", "does not name node 1"),
        (
            ["controller.quorum.voters=1@0.0.0.0:1"],
            "controller.quorum.voters",
            "nobody can connect",
        ),
        (["process.roles=broker"], "controller.quorum.voters", "only a broker"),
        (["process.roles=controller"], "listeners", "serves controllers only"),
        (
            [
                "process.roles=controller",
                "listeners=CONTROLLER://:9093",
                "advertised.listeners=PLAINTEXT://x:1",
            ],
            "advertised.listeners",
            "serves controllers only",
        ),
        (
            ["process.roles=broker", "controller.quorum.voters=2@h:9093"],
            "listeners",
            "serves no controllers",
        ),
        (
            [
                "process.roles=broker",
                "listeners=PLAINTEXT://:9092",
                "controller.quorum.voters=2@h:9093",
                "controller.listener.names=OTHER",
            ],
            "controller.listener.names",
            "has OTHER, which has no entry",
        ),
        (["listeners=PLAINTEXT://:9092"], "controller.listener.names", "names no listener"),
        (["listeners=CONTROLLER://:9093"], "listeners", "no listener for clients"),
        (
            ["listeners=PLAINTEXT://:9092,CONTROLLER://:9092"],
            "listeners",
            "port 9092 more than once",
        ),
        (
            ["listeners=PLAINTEXT://127.0.0.1:1,NET://127.0.0.2:1,CONTROLLER://:2"],
            "listeners",
            "port 1 more",
        ),
        (
            ["listeners=PLAINTEXT://:1,PLAINTEXT://:2,CONTROLLER://:3"],
            "listeners",
            "more than one PLAINTEXT",
        ),
        (["listeners=FOO://:9092,CONTROLLER://:9093"], "listeners", "no entry"),
        (["listeners=PLAINTEXT:9092,CONTROLLER://:9093"], "listeners", "not of the form"),
        (["listeners=PLAINTEXT://:x,CONTROLLER://:9093"], "listeners", "not of the form"),
        (
            ["advertised.listeners=CONTROLLER://x:9093"],
            "advertised.listeners",
            "no listener for clients",
        ),
        (
            ["advertised.listeners=PLAINTEXT://0.0.0.0:1"],
            "advertised.listeners",
            "nobody can connect",
        ),
        (
            ["advertised.listeners=PLAINTEXT://x:1,NET://x:2"],
            "advertised.listeners",
            "not in listeners",
        ),
        (
            ["advertised.listeners=PLAINTEXT://x:1,PLAINTEXT://y:2"],
            "advertised.listeners",
            "more than one",
        ),
        (["inter.broker.listener.name=FOO"], "inter.broker.listener.name", "no entry"),
        (
            ["inter.broker.listener.name=CONTROLLER"],
            "inter.broker.listener.name",
            "by PLAINTEXT only",
        ),
        (
            ["listener.security.protocol.map=PLAINTEXT"],
            "listener.security.protocol.map",
            "not of the form",
        ),
        (
            ["listener.security.protocol.map=PLAINTEXT:FOO"],
            "listener.security.protocol.map",
            "not a security",
        ),
        (
            ["listener.security.protocol.map=PLAINTEXT:PLAINTEXT"],
            "listeners",
            "CONTROLLER has no entry",
        ),
        (["log.retention.hours=0"], "log.retention.ms", "must be unlimited"),
        (["log.roll.ms=0"], "log.roll.ms", "greater than or equal to 1"),
        (["log.roll.jitter.ms=-1"], "log.roll.jitter.ms", "greater than or equal to 0"),
        (["max.connections.per.ip=0"], "max.connections.per.ip", "only if"),
        (["max.connections.per.ip.overrides=x"], "max.connections.per.ip.overrides", "host:count"),
        (["queued.max.request.bytes=5"], "queued.max.request.bytes", "socket.request.max.bytes"),
        (
            ["replica.fetch.wait.max.ms=40000"],
            "replica.socket.timeout.ms",
            "at least replica.fetch.wait.max.ms",
        ),
        (["replica.lag.time.max.ms=1"], "replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
        (
            ["log.cleaner.dedupe.buffer.size=1000"],
            "log.cleaner.dedupe.buffer.size",
            "1MB per cleaner thread",
        ),
        (["cordoned.log.dirs=/x"], "cordoned.log.dirs", "Missing entries : /x"),
        (
            ["group.coordinator.rebalance.protocols=consumer"],
            "group.coordinator.rebalance.protocols",
            "classic",
        ),
        (
            ["offsets.topic.compression.codec=9"],
            "offsets.topic.compression.codec",
            "Unknown compression",
        ),
        (
            ["group.consumer.session.timeout.ms=5"],
            "group.consumer.session.timeout.ms",
            "greater than or equal",
        ),
        (
            ["group.share.min.session.timeout.ms=70000"],
            "group.share.max.session.timeout.ms",
            "greater than",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_node_does_not_start_with(changes: list[str], key: str, reason: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(config(*changes))

    assert [
        problem
        for problem in refusal.value.problems
        if problem.key == key and reason in problem.wrong
    ], f"{key}: {reason} is not among\n{refusal.value}"


def test_every_interface_may_be_bound_without_an_advertised_listener() -> None:
    # Kafka refuses this, because it would advertise 0.0.0.0; klamm advertises the address a client came by.
    settings = load(config("listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"))

    assert settings.listeners.advertised() == ()


def test_a_secure_listener_without_a_key_is_refused() -> None:
    # Kafka starts, and no client gets through the handshake.
    with pytest.raises(SettingsError, match=r"ssl\.keystore\.location: is missing"):
        load(config("listeners=SSL://:1,CONTROLLER://:2", "security.inter.broker.protocol=SSL"))


@pytest.mark.parametrize(
    ("address", "listener"),
    [
        ("NET://host:1", Listener("NET", "host", 1, SecurityProtocol.SSL)),
        ("net://:0", Listener("NET", "", 0, SecurityProtocol.SSL)),
        ("NET://[::1]:65535", Listener("NET", "::1", 65535, SecurityProtocol.SSL)),
        ("NET://under_score.host:9", Listener("NET", "under_score.host", 9, SecurityProtocol.SSL)),
    ],
)
def test_a_listener_is_read_from_its_address(address: str, listener: Listener) -> None:
    assert parse_listener(address, {"NET": SecurityProtocol.SSL}) == listener


@pytest.mark.parametrize(
    "address", ["NET", "NET://", "NET:/x:1", "NET://x", "://x:1", "NET://::1:9", "NET://x:65536"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValueError):
        parse_listener(address, {"NET": SecurityProtocol.PLAINTEXT})


@pytest.mark.parametrize("address", ["NET://host:1", "NET://:9092", "NET://[::1]:9"])
def test_a_listener_prints_as_it_was_written(address: str) -> None:
    assert str(parse_listener(address, {"NET": SecurityProtocol.PLAINTEXT})) == address
