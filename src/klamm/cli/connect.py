"""How the commands reach a cluster: the options they share, the clients, and errors that say what to try.

Speaks through confluent-kafka, and with klamm's own client where that has no call for it; so it works with any Kafka.
Both are imported when a client is made.
"""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import typer

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.cli.client_settings import client_settings
from klamm.cli.output import CommandError, Format, UsageError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient, ClusterMetadata

    from klamm.client.cluster import Cluster as Connections

T = TypeVar("T")
ClientSettings: TypeAlias = Mapping[str, str | int | float | bool]

CLIENT_ID = "klamm-cli"
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 15.0
# What the protocol can hold: the length of a string, and its numbers.
LONGEST_NAME = 0x7FFF
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
DAY_SECONDS = 86_400
# librdkafka takes no more for one topic.
MOST_PARTITIONS, MOST_REPLICAS = 100_000, 10_000

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar="KLAMM_BOOTSTRAP",
        metavar="HOST:PORT",
        help="The broker to ask first; several with commas.",
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        "-X",
        "--command-config",
        metavar="KEY=VALUE|FILE",
        help="A client setting, for example security.protocol=ssl, or a file of them (KLAMM_COMMAND_CONFIG).",
    ),
]
Output = Annotated[
    Format | None,
    typer.Option(
        "--output", "-o", help="How to print the answer [default: table on a terminal, else json]."
    ),
]


_UNREACHABLE = (
    "`klamm doctor`; `klamm cluster info` shows the addresses that the brokers tell clients"
)
_ALLOWED = "ask for the right to do this, or log in with -X sasl.mechanism=... -X sasl.username=..."
HINTS = {
    "_TRANSPORT": _UNREACHABLE,
    "_ALL_BROKERS_DOWN": _UNREACHABLE,
    "_TIMED_OUT": _UNREACHABLE,
    "_MSG_TIMED_OUT": _UNREACHABLE,
    "UNKNOWN_TOPIC_OR_PART": "`klamm topic list` shows what exists, `klamm topic create` makes a topic",
    "_UNKNOWN_TOPIC": "`klamm topic list` shows what exists, `klamm topic create` makes a topic",
    "_UNKNOWN_PARTITION": "`klamm topic describe` shows the partitions",
    "GROUP_ID_NOT_FOUND": "`klamm group list` shows what exists",
    "NON_EMPTY_GROUP": "stop its consumers first, or `klamm group remove-member`",
    "TRANSACTIONAL_ID_NOT_FOUND": "`klamm txn list` shows what exists",
    "TOPIC_ALREADY_EXISTS": "`klamm topic describe` shows it, --if-not-exists accepts it",
    "INVALID_REPLICATION_FACTOR": "`klamm cluster info` shows how many brokers there are; -r 1 needs one",
    "INVALID_PARTITIONS": "a topic can only grow: name more partitions than `klamm topic describe` shows",
    "TOPIC_AUTHORIZATION_FAILED": _ALLOWED,
    "CLUSTER_AUTHORIZATION_FAILED": _ALLOWED,
    "SASL_AUTHENTICATION_FAILED": _ALLOWED,
    "_AUTHENTICATION": _ALLOWED,
    "MSG_SIZE_TOO_LARGE": "-X message.max.bytes=... for the client, "
    "`klamm topic alter TOPIC --config max.message.bytes=...` for the topic",
    "NOT_ENOUGH_REPLICAS": "`klamm topic describe` shows the in-sync replicas; min.insync.replicas wants more",
}


def command_group(summary: str, *, no_args_is_help: bool = True) -> typer.Typer:
    """Plain help and plain errors: they are read in pipes and logs as often as on a terminal, and start faster."""
    return typer.Typer(
        help=summary,
        add_completion=False,
        no_args_is_help=no_args_is_help,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def run_typer(app: typer.Typer, name: str, arguments: Sequence[str]) -> int:
    """typer parses, prints its usage errors and leaves with SystemExit; our errors pass through to `main`."""
    app(args=list(arguments), prog_name=f"klamm {name}")
    return 0


def a_number(value: float) -> float:
    """For options with bounds: what is not a number is not out of any."""
    if math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value


def key_values(pairs: Iterable[str] | None, *, option: str) -> dict[str, str]:
    found = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{option} {pair!r} is not of the form KEY=VALUE")
        found[key] = value
    return found


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to connect and how; makes the clients."""

    bootstrap: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, bootstrap: str, properties: Iterable[str] | None = None) -> Cluster:
        """Checked at once: a refused connection is known in a millisecond, librdkafka would retry for long."""
        settings = client_settings(properties)
        named = settings.pop("bootstrap.servers", bootstrap)
        if bootstrap == DEFAULT_BOOTSTRAP:
            bootstrap = named
        check_reachable(bootstrap)
        return cls(bootstrap, settings)

    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        with _config_mistakes_as_usage():
            return AdminClient(self._config({}), logger=_silent_logger())

    def producer(self, settings: ClientSettings) -> Producer:
        from confluent_kafka import Producer

        with _config_mistakes_as_usage():
            return Producer(self._config(settings), logger=_silent_logger())

    def consumer(
        self, settings: ClientSettings, on_error: Callable[[KafkaError], None]
    ) -> Consumer:
        """`on_error` hears of trouble that no single call is to blame for; what it raises comes out of poll()."""
        from confluent_kafka import Consumer

        config = {**self._config(settings), "error_cb": on_error}
        # librdkafka would end the whole process.
        check_names("group", [str(config["group.id"])])
        with _config_mistakes_as_usage():
            return Consumer(config, logger=_silent_logger())

    def talk(
        self,
        what: str,
        work: Callable[[Connections], Awaitable[T]],
        *,
        within_s: float = ANSWER_TIMEOUT_S,
    ) -> T:
        """For what librdkafka has no call. `work` is done again while that may help."""
        import asyncio

        from klamm.client.cluster import Cluster as Connections
        from klamm.client.cluster import ClusterSettings
        from klamm.client.security import Security

        try:
            settings = ClusterSettings(client_id=CLIENT_ID, security=Security.of(self.properties))
        except ValueError as e:
            raise UsageError(what, why=str(e)) from None

        async def talk() -> T:
            addresses = [_plain_address(text) for text in self.bootstrap.split(",")]
            connections = Connections(addresses, settings)
            try:
                return await connections.persist(
                    lambda: work(connections), within_ms=int(within_s * 1000)
                )
            finally:
                connections.close()

        try:
            return asyncio.run(talk())
        except ApiError as error:
            raise CommandError(
                what,
                why=f"{error.message or error.code.text} ({error.code.name})",
                hint=HINTS.get(error.code.name, ""),
            ) from error

    def _config(self, settings: ClientSettings) -> dict[str, str | int | float | bool]:
        return {
            "bootstrap.servers": self.bootstrap,
            "client.id": CLIENT_ID,
            **settings,
            **self.properties,
        }


def check_reachable(bootstrap: str) -> None:
    """Any one address that accepts a connection is enough, as for a client."""
    reasons = []
    for address in bootstrap.split(","):
        host, port = parse_address(address)
        try:
            socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
        except ConnectionRefusedError:
            reasons.append(f"nothing listens on {host}:{port}")
        except TimeoutError:
            reasons.append(f"{host}:{port} did not answer within {CONNECT_TIMEOUT_S:.0f} s")
        except UnicodeError:
            raise UsageError(f"{host[:60]!r} is not the name of a host") from None
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    raise CommandError(
        "no broker to talk to",
        why="; ".join(reasons),
        hint="start one with `klamm serve`, or name another with -b HOST:PORT or KLAMM_BOOTSTRAP",
    )


def parse_address(text: str) -> tuple[str, int]:
    """host, host:port, [ipv6]:port, each with or without PLAINTEXT:// before it."""
    host, colon, port = text.strip().rpartition("://")[2].rpartition(":")
    if not colon or port.endswith("]"):
        host, port = host + colon + port, "9092"
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(
            f"{text!r} is not an address", hint="-b HOST:PORT, for example -b 127.0.0.1:9092"
        )
    return host.strip("[]"), int(port)


def _plain_address(text: str) -> str:
    host, port = parse_address(text)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def explained(what: str, *, hints: Mapping[str, str] = HINTS) -> Iterator[None]:
    """Around every call into confluent-kafka: it refuses some things itself, before any broker hears of them."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise explain(what, error.args[0], hints=hints) from error
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(what, why=str(error)) from error


def answer(future: Future[T], what: str, *, hints: Mapping[str, str] = HINTS) -> T:
    """The broker's answer, or the reason why there is none."""
    wait_s = 2 * ANSWER_TIMEOUT_S
    try:
        with explained(what, hints=hints):
            return future.result(timeout=wait_s)
    except TimeoutError as error:
        raise CommandError(
            what, why=f"no answer within {wait_s:.0f} s", hint=_UNREACHABLE
        ) from error


def cluster_metadata(admin: AdminClient, *, timeout_s: float = ANSWER_TIMEOUT_S) -> ClusterMetadata:
    with explained("the cluster does not answer"):
        return admin.list_topics(timeout=timeout_s)


def partitions_of(admin: AdminClient, topic: str) -> list[TopicPartition]:
    """Asked with DescribeTopics: a Metadata request for one topic may create it."""
    from confluent_kafka import TopicCollection

    check_names("topic", [topic])
    futures = admin.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_TIMEOUT_S)
    described = answer(futures[topic], f"topic {topic} cannot be read")
    return [TopicPartition(topic, partition.id) for partition in described.partitions]


def check_names(kind: str, names: Iterable[str], *, may_be_empty: bool = False) -> None:
    """What no request can carry; the rest is for the broker to judge."""
    for name in names:
        if not name.strip() and not may_be_empty:
            raise UsageError(f"the name of a {kind} cannot be empty")
        if (size := len(name.encode())) > LONGEST_NAME:
            raise UsageError(
                f"the name of a {kind} cannot be as long as that",
                why=f"{size} bytes, and {LONGEST_NAME} fit into a request",
            )


def explain(what: str, error: KafkaError, *, hints: Mapping[str, str] = HINTS) -> CommandError:
    """`hints`: for a command to which the usual advice does not fit."""
    return CommandError(
        what,
        why=f"{error.str()} ({error.name()})",
        hint=hints.get(error.name(), HINTS.get(error.name(), "")),
    )


def kafka_error(failure: CommandError) -> KafkaError | None:
    """What the cluster, or librdkafka, has said; None where it was something else."""
    from confluent_kafka import KafkaError, KafkaException

    cause = failure.__cause__
    said = cause.args[0] if isinstance(cause, KafkaException) else None
    return said if isinstance(said, KafkaError) else None


@contextmanager
def _config_mistakes_as_usage() -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except (KafkaException, TypeError, ValueError) as error:
        # The other two for what is a function in Python, such as error_cb, and cannot come from the command line.
        why = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise UsageError(
            "the client refuses its settings", why=why, hint="look at the -X options"
        ) from error


def _silent_logger() -> logging.Logger:
    """librdkafka tells of every lost connection; what matters comes back as an error of the call."""
    logger = logging.getLogger("klamm.cli.librdkafka")
    logger.setLevel(logging.CRITICAL + 1)
    return logger
