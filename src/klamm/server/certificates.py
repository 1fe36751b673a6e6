"""The certificates of a node's listeners: read before anything is begun, and again when files or settings change.

What is new counts for connections that begin afterwards. What cannot be used is refused, and the old stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from klamm.base.settings.broker import Settings
from klamm.base.settings.listeners import SecurityProtocol
from klamm.base.settings.ssl import SslSettings, ssl_problems, ssl_settings
from klamm.server.world.ports import BadStore, Certificates, World

if TYPE_CHECKING:
    from klamm.security.certificate_names import CertificateNames

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class ListenerCertificates:
    def __init__(self, world: World, settings: Settings) -> None:
        self._world = world
        self._static = settings.static
        self._protocols = _secured(settings)
        self._own = {each.name for each in settings.listeners.all()}
        self._in_force: dict[str, SslSettings] = {}
        self._loaded: dict[str, Certificates] = {}
        self._names: dict[str, CertificateNames] = {}
        # What each file looked like when it was read, or could not be.
        self._files: dict[str, int | None] = {}
        # What was last refused, so that it is said once.
        self._refused: dict[str, str] = {}
        self._dynamic: Mapping[str, str] = {}
        self._changed = asyncio.Event()

    @property
    def is_empty(self) -> bool:
        return not self._protocols

    def load(self) -> None:
        """BadStore: a listener cannot have what its settings say."""
        for name in self._protocols:
            settings = self._settings_of(name, {})
            self._note_files(settings)
            self._use(name, settings, self._world.network.certificates(settings))
            if self._protocols[name] is SecurityProtocol.SSL:
                self._names[name] = _names(settings)

    def names_of(self, listener: str) -> CertificateNames | None:
        """How the clients of a listener are called, where their certificates say it."""
        return self._names.get(listener)

    def follow(self, dynamic: Mapping[str, str]) -> None:
        """Settings that were changed while the node runs, of the cluster and of this node."""
        if self._protocols and dynamic != self._dynamic:
            self._dynamic = dict(dynamic)
            self._changed.set()

    async def check(self, dynamic: Mapping[str, str]) -> None:
        """Whether the node could go on with these. BadStore: no, and why."""
        for name in self._protocols:
            settings = self._settings_of(name, dynamic)
            if settings != self._in_force[name]:
                for key, wrong in ssl_problems(settings, is_server=name in self._own):
                    raise BadStore(f"{key} {wrong}")
                await self._read(name, settings)

    async def watch(self) -> None:
        """For as long as the node runs."""
        while self._protocols:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            await self._look()

    async def _look(self) -> None:
        for name in self._protocols:
            settings = self._settings_of(name, self._dynamic)
            if settings == self._in_force[name] and not self._have_changed(settings):
                continue
            self._note_files(settings)
            try:
                certificates = await self._read(name, settings)
            except BadStore as e:
                if self._refused.get(name) != str(e):
                    self._refused[name] = str(e)
                    log.error("kept the old certificates: listener=%s reason=%s", name, e)
                continue
            self._refused.pop(name, None)
            self._use(name, settings, certificates)
            log.info("new certificates: listener=%s", name)

    async def _read(self, name: str, settings: SslSettings) -> Certificates:
        return await self._world.workers.run(
            self._world.network.certificates, settings, self._loaded[name]
        )

    def _use(self, name: str, settings: SslSettings, certificates: Certificates) -> None:
        self._world.network.secure(name, certificates)
        self._in_force[name], self._loaded[name] = settings, certificates

    def _settings_of(self, name: str, dynamic: Mapping[str, str]) -> SslSettings:
        texts = {**self._static, **dynamic}
        return ssl_settings(texts, name, has_sasl=self._protocols[name].has_sasl)

    def _have_changed(self, settings: SslSettings) -> bool:
        return any(self._files.get(path) != self._stamp(path) for path in settings.files())

    def _note_files(self, settings: SslSettings) -> None:
        for path in settings.files():
            self._files[path] = self._stamp(path)

    def _stamp(self, path: str) -> int | None:
        try:
            return self._world.disk.modified_ms(path)
        except OSError:
            return None


def _names(settings: SslSettings) -> CertificateNames:
    # Only who needs it loads it.
    from klamm.security.certificate_names import CertificateNames

    try:
        return CertificateNames(settings.principal_mapping_rules)
    except ValueError as e:
        raise BadStore(str(e)) from None


def _secured(settings: Settings) -> dict[str, SecurityProtocol]:
    """Listeners with TLS, by name: those of this node, and those of others that it connects to."""
    listeners = settings.listeners
    names = [each.name for each in listeners.all()]
    names += listeners.controller_names()[:1]
    if settings.node.is_broker:
        names.append(listeners.inter_broker())
    protocols = listeners.protocols()
    return {name: protocols[name] for name in names if protocols[name].has_tls}
