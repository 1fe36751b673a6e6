"""BrokerLifecycle: how a broker becomes known to the controller, stays so, and takes its leave.

    STARTING    registers; the epoch of this incarnation is the offset of its registration
    RECOVERY    has read the metadata up to there, and opens its logs
    RUNNING     unfenced: may lead, and is told to clients
    PENDING_CONTROLLED_SHUTDOWN    serves on until others lead what it led
    SHUTTING_DOWN

Heartbeats go to the active controller at the interval, and at once when something is wanted. A new controller knows the
broker from the log; a controller that does not know its epoch (STALE_BROKER_EPOCH) is told again who it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import IntEnum

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings
from klamm.base.settings.table import BROKER
from klamm.metadata.delta import Delta
from klamm.metadata.image import ClusterImage, Endpoint
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from klamm.protocol.messages.broker_registration import BrokerRegistrationResponse
from klamm.server.loops.joining import broker_request
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.server.storage import DataDirectories
from klamm.server.world.ports import World

log = logging.getLogger(__name__)

_CORDONED = "cordoned.log.dirs"
# Before a broker that wants something asks again.
_AGAIN_SECONDS = 0.05
# How long the start waits for a first answer before it tells the operator.
_PATIENCE_MS: Ms = 3_000
# Deviation: Kafka waits up to five minutes for a controller that lets the broker go, also where none is left to answer.
_SILENCE_MS: Ms = 1_500
_LONGEST_HAND_OVER_MS: Ms = 30_000
# The last word of a broker that has stopped already, to whoever may still hear it.
_LAST_WORD_MS: Ms = 1_000
_LAST_WORD_AGAIN_SECONDS = 0.002


class BrokerState(IntEnum):
    """With Kafka's numbers."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class CannotJoin(Exception):
    """Why the broker does not become a part of its cluster, in one sentence."""


class BrokerLifecycle:
    def __init__(
        self,
        world: World,
        settings: Settings,
        *,
        directories: DataDirectories,
        quorum: MetadataQuorum,
        endpoints: Sequence[Endpoint],
    ) -> None:
        self.state = BrokerState.NOT_RUNNING
        # Directories that have failed; the controller takes leaderships from what is in them.
        self.offline_directories: Callable[[], Iterable[Uuid]] = lambda: ()
        # Hears that the cluster no longer counts on this process: it should end.
        self.on_end: Callable[[], None] = lambda: None
        self._clock = world.clock
        self._all_settings = settings
        self._settings = settings.node
        self._directories = {each.path: each.id for each in directories.all}
        self._quorum = quorum
        self._node_id = directories.node_id
        self._registration = broker_request(
            directories, settings, endpoints=endpoints, chance=world.chance
        )
        self._wants_fence = True
        self._wanted = asyncio.Event()
        self._unfenced = asyncio.Event()
        self._may_go = asyncio.Event()
        self._has_given_up = False
        self._is_replaced = False
        self._heard_at: Ms = 0
        self._has_told_silence = False
        self._beats: asyncio.Task[None] | None = None

    # Joining

    async def register(self) -> None:
        """Returns when the cluster knows this broker, and this broker all that the cluster knew before."""
        self.state = BrokerState.STARTING
        deadline = self._clock.monotonic() + self._settings.registration_timeout_ms
        await self._register_until(deadline)
        self._beats = asyncio.get_running_loop().create_task(self._beat_on())
        self._beats.add_done_callback(self._ended)
        left_ms = max(0, deadline - self._clock.monotonic())
        if not await self._quorum.reached(self._quorum.broker_epoch + 1, left_ms / 1000):
            raise CannotJoin("the metadata of the cluster could not be read in time.")
        self.state = BrokerState.RECOVERY

    async def _register_until(self, deadline: Ms) -> None:
        has_told = False
        refusal: str | None = None
        wait_ms = _PATIENCE_MS
        while True:
            left_ms = deadline - self._clock.monotonic()
            try:
                await self._register(max(1, min(wait_ms, left_ms)))
            except ApiError as e:
                if e.code is ErrorCode.KAFKA_STORAGE_ERROR:
                    raise CannotJoin(e.message) from e
                problem = self._problem(e)
                if e.code is not ErrorCode.REQUEST_TIMED_OUT:
                    refusal = problem
                if self._is_of_another_cluster(e) or left_ms <= 0:
                    # That the last try had no time left is not why.
                    raise CannotJoin(refusal or problem) from e
                if not has_told:
                    log.warning("not registered yet, trying again: %s", problem)
                    has_told = True
                wait_ms = self._settings.registration_timeout_ms
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _register(self, timeout_ms: Ms) -> None:
        answer: BrokerRegistrationResponse = await self._quorum.controller.ask(
            self._registration, timeout_ms=timeout_ms
        )
        self._quorum.broker_epoch = answer.broker_epoch
        self._heard_at = self._clock.monotonic()
        log.info("registered: node=%s epoch=%s", self._node_id, answer.broker_epoch)

    def _is_of_another_cluster(self, error: ApiError) -> bool:
        """As the active controller says, or nodes of the quorum that tell us no more than that."""
        if error.code is ErrorCode.REQUEST_TIMED_OUT:
            return ErrorCode.INCONSISTENT_CLUSTER_ID in self._quorum.refusals
        return error.code is ErrorCode.INCONSISTENT_CLUSTER_ID

    def _problem(self, error: ApiError) -> str:
        if error.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return f"a broker with node.id {self._node_id} runs in the cluster already."
        if self._is_of_another_cluster(error):
            cluster_id = self._registration.cluster_id
            return f"the controllers are those of another cluster than {cluster_id}."
        if error.code is ErrorCode.REQUEST_TIMED_OUT:
            return "no active controller of the quorum can be reached."
        return f"the controller refuses this broker: {error.message}"

    async def unfence(self) -> None:
        """All is open: returns when the broker may lead and clients are told of it."""
        self._wants_fence = False
        self._quorum.on_change(self._follow)
        # A new active controller has heard nothing of this broker yet.
        self._quorum.on_leader(self._wanted.set)
        self._wanted.set()
        await self._unfenced.wait()

    # Heartbeats

    def wake(self) -> None:
        """There is something that the controller should know now."""
        self._wanted.set()

    async def _beat_on(self) -> None:
        while True:
            self._wanted.clear()
            pause: float | None = await self._beat()
            if self._quorum.driver.is_active and self.state is BrokerState.RUNNING:
                # The controller is in this process: while it lives, this broker does.
                pause = None
            if self._may_go.is_set():
                # One more would ask to serve again.
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wanted.wait()

    def _ended(self, beats: asyncio.Task[None]) -> None:
        """Without heartbeats the broker is as good as gone, and had better know it."""
        error = None if beats.cancelled() else beats.exception()
        if error is not None:
            log.critical("heartbeats have ended, which should not happen", exc_info=error)
            self._unfenced.set()
            self.on_end()

    async def _beat(self) -> float:
        """Says how long the next one may take."""
        request = BrokerHeartbeatRequest(
            broker_id=self._node_id,
            broker_epoch=self._quorum.broker_epoch,
            current_metadata_offset=self._quorum.followed_offset,
            want_fence=self._wants_fence,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=list(self.offline_directories()),
            cordoned_log_dirs=self._cordoned(),
        )
        try:
            answer: BrokerHeartbeatResponse = await self._quorum.controller.ask(
                request, timeout_ms=self._settings.session_timeout_ms
            )
        except ApiError as e:
            return await self._refused(e)
        self._heard_at = self._clock.monotonic()
        if self._has_told_silence:
            self._has_told_silence = False
            log.info("an active controller answers again")
        return self._heard(answer)

    async def _refused(self, error: ApiError) -> float:
        if error.code is ErrorCode.STALE_BROKER_EPOCH:
            if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
                # Nobody counts on this broker any more.
                self._may_go.set()
            else:
                await self._register_again()
            return _AGAIN_SECONDS
        self._tell_once(error.message)
        is_final = error.code is ErrorCode.KAFKA_STORAGE_ERROR
        return self._settings.heartbeat_interval_ms / 1000 if is_final else _AGAIN_SECONDS

    def _cordoned(self) -> list[Uuid]:
        """Directories that are to get no new replicas (KIP-1066), by the config of this broker or by its own file."""
        configs = self._quorum.image.config(ResourceType.BROKER, str(self._node_id))
        if _CORDONED in configs:
            names = BROKER[_CORDONED].read(configs[_CORDONED])
        else:
            names = self._all_settings.value(_CORDONED)
        assert isinstance(names, tuple)
        return [id for path, id in self._directories.items() if path in names or "*" in names]

    def _heard(self, answer: BrokerHeartbeatResponse) -> float:
        every = self._settings.heartbeat_interval_ms / 1000
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            if answer.should_shut_down:
                self.state = BrokerState.SHUTTING_DOWN
                self._may_go.set()
                return every
            return _AGAIN_SECONDS
        if self._wants_fence:
            return every
        if answer.is_fenced:
            return _AGAIN_SECONDS
        if self.state is BrokerState.RECOVERY:
            self.state = BrokerState.RUNNING
            self._unfenced.set()
        return every

    async def _register_again(self) -> None:
        if self._is_replaced:
            return
        self._tell_once("the controller does not know this broker's epoch any more")
        try:
            await self._register(self._settings.session_timeout_ms)
        except ApiError as e:
            log.debug("not registered: %s", self._problem(e))

    def _tell_once(self, what: str) -> None:
        """Until heartbeats are answered again."""
        if not self._has_told_silence:
            self._has_told_silence = True
            log.warning("heartbeats are not answered: %s", what)

    def _follow(self, image: ClusterImage, delta: Delta) -> None:
        """Who leaves waits until all others have heard of it; and who is fenced by mistake says so."""
        own = image.brokers.get(self._node_id)
        incarnation_id = self._registration.incarnation_id
        if own is not None and own.incarnation_id != incarnation_id and not self._is_replaced:
            self._is_replaced = True
            log.critical("another process has registered as broker %s", self._node_id)
            self.on_end()
        is_fenced = own is not None and own.is_fenced and self.state is BrokerState.RUNNING
        is_configured = any(
            key == (ResourceType.BROKER, str(self._node_id)) for key in delta.changed_configs
        )
        if (
            is_fenced
            or is_configured
            or any(
                each.in_controlled_shutdown and not each.is_fenced
                for each in image.brokers.values()
            )
        ):
            # Behind what follows this very change.
            asyncio.get_running_loop().call_soon(self._wanted.set)

    # Leaving

    async def hand_over(self) -> None:
        """The controlled shutdown: returns when others lead all that this broker led, and all know it."""
        if self.state is not BrokerState.RUNNING or not self._settings.controlled_shutdown:
            return
        if self._is_replaced:
            return
        if not any(
            each.is_active and each.broker_id != self._node_id
            for each in self._quorum.image.brokers.values()
        ):
            # Nobody would take over. The last word comes when the broker has stopped.
            return
        self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
        self._wanted.set()
        began = self._heard_at = self._clock.monotonic()
        while not self._may_go.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._may_go.wait()
            now = self._clock.monotonic()
            if now - self._heard_at > _SILENCE_MS or now - began > _LONGEST_HAND_OVER_MS:
                log.warning("stopping without a controller that would let this broker go")
                self._has_given_up = True
                return

    async def leave(self) -> None:
        """The broker has stopped; what it led waits for it, or for another."""
        if self._beats is not None:
            self._beats.cancel()
            with suppress(asyncio.CancelledError):
                await self._beats
        is_known = self.state not in (BrokerState.NOT_RUNNING, BrokerState.STARTING)
        is_done = self._may_go.is_set() or self._has_given_up or self._is_replaced
        if is_known and not is_done:
            self._quorum.forget_callbacks()
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_MS / 1000):
                    while not self._may_go.is_set() and not self._quorum.has_failed:
                        await self._beat()
                        # Others are heard in between, be it that they have seen it, too.
                        await asyncio.sleep(_LAST_WORD_AGAIN_SECONDS)
        self.state = BrokerState.NOT_RUNNING
