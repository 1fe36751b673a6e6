"""Broker: a real broker inside a test."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from klamm.testing.kit.carriers import Carrier, InProcess, InThread
from klamm.testing.kit.client import CLIENT_ID
from klamm.testing.kit.clock import BrokerClock
from klamm.testing.kit.faults.faults import Faults
from klamm.testing.kit.kafka import Kafka
from klamm.testing.kit.rig import Plan
from klamm.testing.kit.topics import Topics, new_topics, texts
from klamm.testing.kit.transcript.exchange import Transcript

if TYPE_CHECKING:
    from klamm.testing.kit.security.security import Client, Security


class Broker(Kafka):
    """A klamm broker in a thread of this process, or in a child process, on a free port.

        with Broker(topics={"orders": 3}) as broker:
            produce_orders(broker.bootstrap_servers)
            broker.expect("orders").within(5).contains({"id": 1})

    Its data is kept in memory and goes with it; `data` names a directory that stays. `settings` have Kafka's names:
    `settings={"auto.create.topics.enable": False}`.
    """

    def __init__(
        self,
        topics: Topics = (),
        *,
        settings: Mapping[str, object] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        data: str | PathLike[str] | None = None,
        memory: bool = True,
        process: bool = False,
        security: str | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self._security = _security(security, users)
        self._plan = Plan(
            topics=new_topics(topics),
            settings={**self._security_settings(), **texts(settings or {})},
            protocol="PLAINTEXT" if self._security is None else self._security.protocol,
            host=host,
            port=port,
            data=None if data is None else fspath(data),
            in_memory=memory,
        )
        self._is_process = process
        self._carrier: Carrier | None = None
        self._address = self._own_address = ""

    # Coming and going.

    def start(self) -> Self:
        """Back when clients can connect and the topics are there."""
        if self._carrier is not None:
            raise RuntimeError("the broker runs already")
        if self._security is not None:
            self._security.make_certificates(self._plan.host)
        self._carrier = InProcess(self._plan) if self._is_process else InThread(self._plan)
        try:
            self._address = self._carrier.call("start")
            self._own_address = self._carrier.call("own_address")
        except BaseException:
            self._end()
            raise
        return self

    def stop(self) -> None:
        """A clean stop; once more does nothing."""
        if self._carrier is None:
            return
        try:
            self._carrier.call("close")
        finally:
            self._end()

    def restart(self) -> None:
        """Stopped and started on the same port, with its data."""
        self._running.call("stop_node")
        self._running.call("start_node")

    def reset(self) -> None:
        """As after the start: for the next test that takes this broker."""
        self._running.call("reset")

    def _end(self) -> None:
        carrier, self._carrier = self._carrier, None
        assert carrier is not None
        carrier.close()
        if self._security is not None:
            rmtree(self._security.folder, ignore_errors=True)

    @property
    def _running(self) -> Carrier:
        if self._carrier is None:
            raise RuntimeError("the broker does not run: use `with Broker() as broker`, or start()")
        return self._carrier

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    # Time.

    @property
    def clock(self) -> BrokerClock:
        """`broker.clock.advance(hours=24)`"""
        return BrokerClock(self._running.call)

    def clean(self) -> int:
        """Compacts all compacted topics now, the newest records, too; how many partitions that were.

        `min.compaction.lag.ms` and `delete.retention.ms` count: move the clock first.
        """
        return int(self._running.call("clean"))

    # What goes wrong, and what was said.

    @property
    def faults(self) -> Faults:
        """`broker.faults.error("PRODUCE", "NOT_LEADER_OR_FOLLOWER", times=2)`, and much else."""
        return Faults(self._running.call, lambda: self._own_address)

    def transcript(
        self,
        *,
        api: str | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool = False,
    ) -> Transcript:
        """The last requests and answers; print it. What the kit asked itself is not in it, unless by its client id."""
        said: Transcript = self._running.call("transcript")
        if client_id != CLIENT_ID:
            said = Transcript(each for each in said if each.client_id != CLIENT_ID)
        return said.about(api=api, client_id=client_id, topic=topic, errors=errors)

    def log(self) -> str:
        """The last lines that it logged, from the level on that is set for `klamm`; in a child process from INFO."""
        return str(self._running.call("log"))

    # Where it is.

    @property
    def bootstrap_servers(self) -> str:
        assert self._running
        return self._address

    @property
    def _own_servers(self) -> str:
        assert self._running
        return self._own_address

    def client_settings(self, client: Client, user: str | None = None) -> dict[str, Any]:
        """All that a client needs to come to a broker with `security`, in its own names.

        For "confluent-kafka", "aiokafka", "kafka-python" or "java"; as a user of the broker, the first one unless told.
        """
        security = self._security or _plain()
        return security.client_settings(client, self.bootstrap_servers, user)

    def _security_settings(self) -> dict[str, str]:
        return {} if self._security is None else self._security.broker_settings()

    @property
    def port(self) -> int:
        return int(self.bootstrap_servers.rpartition(":")[2])

    @property
    def pid(self) -> int:
        """Of the process it runs in."""
        return self._running.pid


def _security(protocol: str | None, users: Mapping[str, str] | None) -> Security | None:
    if protocol is None and users:
        protocol = "sasl_plaintext"
    if protocol is None or protocol.lower() == "plaintext":
        return None
    # Loaded here: few need it, and it brings a library for certificates.
    from klamm.testing.kit.security.security import Security

    # Not made before there is something to put into it.
    folder = Path(gettempdir()) / f"klamm-test-certificates-{uuid4().hex}"
    return Security(protocol, users, folder=folder)


def _plain() -> Security:
    from klamm.testing.kit.security.security import Security

    return Security("plaintext", folder=Path())
