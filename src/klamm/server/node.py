"""The composition root: builds everything in order, runs until told to stop, and closes in reverse."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

from klamm.base.ids import ZERO_UUID
from klamm.base.settings.broker import Settings
from klamm.base.settings.listeners import Listener as ListenerAddress
from klamm.base.settings.listeners import SecurityProtocol
from klamm.log.checkpoints import BadCheckpoint
from klamm.log.disk import Disk
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.server.authorization.audit import Audit
from klamm.server.authorization.audit_sinks import follow_audit, open_audit
from klamm.server.authorization.authorization import Authorization
from klamm.server.authorization.plugins import (
    UnknownPlugin,
    make_authorizer,
    make_principal_builder,
)
from klamm.server.broker import Broker
from klamm.server.broker_lifecycle import BrokerLifecycle, CannotJoin
from klamm.server.certificates import ListenerCertificates
from klamm.server.controller_context import ControllerContext
from klamm.server.dispatch import Dispatcher
from klamm.server.login.logins import Logins
from klamm.server.loops.cleaner_loop import CleanerLoop
from klamm.server.loops.housekeeping import Housekeeping
from klamm.server.loops.joining import controller_request, register_controller
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.server.metadata.config_resources import dynamic_configs
from klamm.server.network.limits import limits_of
from klamm.server.network.listener import Listener
from klamm.server.network.shared import Shared
from klamm.server.peers.way import way_to_brokers, way_to_controllers
from klamm.server.storage import DataDirectories, is_alone
from klamm.server.world.ports import BadStore, Network, World
from klamm.storage.log_directories import LogDirectory

log = logging.getLogger(__name__)


class CannotStart(Exception):
    """Why the broker does not come up, in one sentence for the person who started it."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What the person who started the broker wants to know."""

    address: str
    cluster_id: str
    node_id: int
    data: str


class Node:
    """A broker, a controller or both (process.roles). `start` returns when clients can connect."""

    def __init__(self, settings: Settings, world: World) -> None:
        self._settings = settings
        self._world = world
        self._stack = AsyncExitStack()
        self._metadata_path = ""
        # Set when the process should not end as if all were well.
        self.has_failed = False
        # Hears that the node cannot go on, and should be stopped.
        self.on_end: Callable[[], None] = lambda: None
        self._shared: Shared
        self._audit: Audit | None = None
        self._authorization: Authorization | None = None
        self.quorum: MetadataQuorum
        self.broker: Broker
        self.cleaner: CleanerLoop
        self.lifecycle: BrokerLifecycle
        self.ready: Ready

    async def start(self) -> None:
        try:
            await self._start(self._stack)
        except BaseException as e:
            await self._stack.aclose()
            if isinstance(e, OSError | BadCheckpoint | CannotJoin):
                raise CannotStart(str(e)) from e
            raise

    async def stop(self) -> None:
        log.info("stopping: node=%s", self._settings.node.node_id)
        await self._stack.aclose()

    async def _start(self, stack: AsyncExitStack) -> None:
        settings, world = self._settings, self._world
        self._check_ways()
        self._certificates = self._load_certificates()
        data = stack.enter_context(DataDirectories.open(world, settings))
        self._metadata_path = data.metadata.path
        listeners = self._bind(stack)
        self._warn_of_open_listeners()
        for_controllers = [each for each in listeners if each.is_controller]
        for_clients = [each for each in listeners if not each.is_controller]
        endpoints = [_endpoint(settings, each) for each in for_controllers]
        quorum = self.quorum = MetadataQuorum(
            world,
            settings,
            directories=data,
            controller_endpoints=endpoints,
            on_failure=self._metadata_failed,
        )
        stack.push_async_callback(quorum.close)
        self._authorize(stack, listeners)
        await quorum.start()
        self._follow_certificates(stack, quorum)
        self._follow_acls(quorum)
        if settings.node.is_controller:
            await self._serve_controllers(stack, quorum, for_controllers)
            request = controller_request(data, endpoints=endpoints, chance=world.chance)
            registration = self._begin(stack, register_controller(quorum, request))
            # It asks first, before the broker of this node does.
            await asyncio.sleep(0)
            if not settings.node.is_broker and is_alone(settings):
                await registration
        if settings.node.is_broker:
            await self._serve_clients(stack, quorum, for_clients, data)
        self.ready = self._ready(listeners, data)

    def _authorize(self, stack: AsyncExitStack, listeners: Sequence[Listener]) -> None:
        """Who may do what, if anybody asks; and the book of it."""
        try:
            self._audit = open_audit(self._world, self._settings, stack)
            authorizer = make_authorizer(self._settings)
            builder = make_principal_builder(self._settings)
        except UnknownPlugin as e:
            raise CannotStart(str(e)) from e
        for listener in listeners:
            listener.principal_builder, listener.audit = builder, self._audit
        if authorizer is not None:
            self._authorization = Authorization(authorizer, self._audit)

    def _follow_acls(self, quorum: MetadataQuorum) -> None:
        authorization = self._authorization
        if authorization is not None:
            quorum.on_change(authorization.follow)
            quorum.on_caught_up = lambda: authorization.load(quorum.image)

    async def _serve_controllers(
        self, stack: AsyncExitStack, quorum: MetadataQuorum, listeners: Sequence[Listener]
    ) -> None:
        context = ControllerContext(
            self._settings,
            world=self._world,
            quorum=quorum,
            authorization=self._authorization,
            audit=self._audit,
        )
        stack.push_async_callback(context.close)
        for listener in listeners:
            listener.on_closed = context.brokers.closed
            listener.open()
            await listener.serve(Dispatcher(context).dispatch, self._logins(stack, listener))
            stack.callback(listener.close)

    async def _serve_clients(
        self,
        stack: AsyncExitStack,
        quorum: MetadataQuorum,
        listeners: Sequence[Listener],
        data: DataDirectories,
    ) -> None:
        world, settings = self._world, self._settings
        lifecycle = self.lifecycle = BrokerLifecycle(
            world,
            settings,
            directories=data,
            quorum=quorum,
            endpoints=[_endpoint(settings, each) for each in listeners],
        )
        lifecycle.on_end = self._fail
        stack.push_async_callback(lifecycle.leave)
        await lifecycle.register()
        broker = Broker(
            settings,
            world=world,
            quorum=quorum,
            directories=_log_directories(world.disk, data),
            authorization=self._authorization,
            audit=self._audit,
        )
        broker.certificates = self._certificates
        lifecycle.offline_directories = broker.offline_directories
        broker.on_directory_failed = self._directory_failed
        self.broker = broker
        self._shared.admission.may_connect = lambda host: broker.quotas.may_connect(
            host, world.clock.monotonic()
        )
        broker.load()
        if self._authorization is not None:
            self._authorization.load(quorum.image)
        stack.callback(
            lambda: broker.replicas.close(
                now=world.clock.wall(),
                broker_epoch=quorum.broker_epoch,
                run=lambda flushes: world.workers.side_by_side([each.run for each in flushes]),
            )
        )
        stack.push_async_callback(broker.close)
        if self._audit is not None:
            stack.push_async_callback(follow_audit(self._audit, broker))
        self._keep_house(stack, broker)
        # Not refused, so that no controller takes this process for dead; and not served before this broker may lead.
        for listener in listeners:
            listener.open()
        await lifecycle.unfence()
        for listener in listeners:
            await listener.serve(
                Dispatcher.of_broker(broker).dispatch, self._logins(stack, listener)
            )
            # Closed before everything that was opened since it was bound: nobody is served by a broker that stops.
            stack.callback(listener.close)
        stack.push_async_callback(lifecycle.hand_over)

    def _check_ways(self) -> None:
        """Whether this node knows how to log in at others, before anything is begun."""
        try:
            way_to_controllers(self._settings, self._world.chance)
            if self._settings.node.is_broker:
                way_to_brokers(self._settings, self._world.chance)
        except ValueError as e:
            raise CannotStart(str(e)) from None

    def _follow_certificates(self, stack: AsyncExitStack, quorum: MetadataQuorum) -> None:
        certificates = self._certificates
        if certificates.is_empty:
            return
        node_id = self._settings.node.node_id

        def follow(image: ClusterImage, delta: object) -> Iterator[None]:
            certificates.follow(dynamic_configs(image, node_id))
            yield from ()

        certificates.follow(dynamic_configs(quorum.image, node_id))
        quorum.on_change(follow)
        self._begin(stack, certificates.watch())

    def _warn_of_open_listeners(self) -> None:
        """Who is not on this machine can read along, and ask in anybody's name."""
        is_open = [
            str(each)
            for each in self._settings.listeners.all()
            if each.protocol is SecurityProtocol.PLAINTEXT and not _is_loopback(each.host)
        ]
        if is_open:
            log.warning(
                "others can reach listeners with protocol PLAINTEXT, docs/security.md says how to close them: %s",
                ", ".join(is_open),
            )

    def _load_certificates(self) -> ListenerCertificates:
        certificates = ListenerCertificates(self._world, self._settings)
        try:
            certificates.load()
        except BadStore as e:
            raise CannotStart(str(e)) from None
        return certificates

    def _logins(self, stack: AsyncExitStack, listener: Listener) -> Logins | None:
        """How clients of the listener say who they are."""
        protocol = self._settings.listeners.protocols()[listener.name]
        if not protocol.has_sasl:
            return None
        try:
            logins = Logins(self._world, self._settings, listener.name, lambda: self.quorum.image)
        except ValueError as e:
            raise CannotStart(str(e)) from None
        stack.push_async_callback(logins.close)
        return logins

    def _bind(self, stack: AsyncExitStack) -> list[Listener]:
        shared = Shared(limits_of(self._settings.network, self._world.machine), self._world.turns)
        self._shared = shared
        stack.callback(shared.close)
        advertised = {each.name for each in self._settings.listeners.advertised()}
        controllers = {each.name for each in self._settings.listeners.for_controllers()}
        listeners = []
        for address in self._settings.listeners.all():
            listener = _bind_one(
                address, shared, self._world.network, is_controller=address.name in controllers
            )
            listener.names = self._certificates.names_of(address.name)
            listener.is_advertised = address.name in advertised
            stack.callback(listener.close)
            listeners.append(listener)
        return listeners

    def _keep_house(self, stack: AsyncExitStack, broker: Broker) -> None:
        self.cleaner = CleanerLoop(broker)
        stack.push_async_callback(self.cleaner.close)
        for work in (self.cleaner.run(), Housekeeping(broker).run()):
            self._begin(stack, work)

    def _begin(self, stack: AsyncExitStack, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        stack.push_async_callback(_cancel, task)
        return task

    def _metadata_failed(self, error: OSError) -> None:
        """Nothing about the cluster can change any more. A node that is alone still serves what is on other disks."""
        log.critical("the metadata log failed, restart the node when its disk is well: %s", error)
        self.has_failed = True
        if not is_alone(self._settings):
            # Others can take its place.
            self.on_end()
        if not hasattr(self, "broker"):
            return
        for directory in self.broker.replicas.directories:
            if directory.path == self._metadata_path:
                self.broker.directory_failed(directory, error)

    def _directory_failed(self) -> None:
        self.lifecycle.wake()
        if not is_alone(self._settings) and not any(
            each.is_online for each in self.broker.replicas.directories
        ):
            log.critical("no data directory is left, this node ends")
            self._fail()

    def _fail(self) -> None:
        """End the process, but not as if all were well."""
        self.has_failed = True
        self.on_end()

    def _ready(self, listeners: list[Listener], data: DataDirectories) -> Ready:
        first = min(listeners, key=lambda each: each.is_controller)
        return Ready(
            address=f"{_reachable(first.host)}:{first.port}",
            cluster_id=data.cluster_id,
            node_id=data.node_id,
            data=",".join(each.path for each in data.all),
        )


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _reachable(host: str) -> str:
    """A name for an address that stands for every interface."""
    return "localhost" if host in ("::", "0.0.0.0") else host


def _bind_one(
    address: ListenerAddress, shared: Shared, network: Network, *, is_controller: bool
) -> Listener:
    try:
        return Listener(
            address.name,
            address.host,
            address.port,
            shared=shared,
            network=network,
            is_controller=is_controller,
            tls=address.name if address.protocol.has_tls else None,
        )
    except OSError as e:
        where = f"{address.host or '*'}:{address.port}"
        if e.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"{where} is taken by another process; choose another with --port"
            ) from e
        raise CannotStart(f"cannot listen on {where}: {e.strerror}") from e


def _endpoint(settings: Settings, listener: Listener) -> Endpoint:
    """How the listener is made known to others. Without advertised.listeners it is the bound address."""
    for advertised in settings.listeners.advertised():
        if advertised.name == listener.name:
            return Endpoint(
                advertised.name,
                advertised.host,
                advertised.port or listener.port,
                advertised.protocol.value,
            )
    host = _reachable(listener.host)
    return Endpoint(
        listener.name, host, listener.port, settings.listeners.protocols()[listener.name].value
    )


__all__ = ["CannotStart", "Node", "Ready"]


def _log_directories(disk: Disk, data: DataDirectories) -> list[LogDirectory]:
    for path, error in data.unusable.items():
        log.error(
            "a data directory cannot be used, the others go on: path=%s error=%s", path, error
        )
    return [
        *(LogDirectory(disk, each.path, each.id) for each in data.all),
        *(LogDirectory(disk, path, ZERO_UUID, error) for path, error in data.unusable.items()),
    ]
