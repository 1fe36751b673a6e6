"""Contexts of OpenSSL from settings and stores: one for those who connect to us, one for those we connect to."""

from __future__ import annotations

import os
import ssl

from klamm.base.settings.cipher_suites import openssl_ciphers
from klamm.base.settings.ssl import SslSettings
from klamm.server.world.ports import BadStore
from klamm.server.world.tls.stores import KeyStore, Stores, check_names, read_stores

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class TlsContexts:
    """What one listener's settings say. Made as a whole or not at all."""

    __slots__ = ("client", "server", "stores")

    def __init__(self, settings: SslSettings, replacing: TlsContexts | None = None) -> None:
        """BadStore: it cannot be made, in one sentence."""
        self.stores = read_stores(settings)
        if replacing is not None:
            check_names(settings, self.stores, replacing.stores)
        self.server = _server(settings, self.stores)
        self.client = _client(settings, self.stores)


def _server(settings: SslSettings, stores: Stores) -> ssl.SSLContext:
    context = _context(ssl.PROTOCOL_TLS_SERVER, settings, stores)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    # The one whose suites are chosen where both sides know several.
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    if stores.trusted is not None:
        _trust(context, stores)
    return context


def _client(settings: SslSettings, stores: Stores) -> ssl.SSLContext:
    context = _context(ssl.PROTOCOL_TLS_CLIENT, settings, stores)
    context.check_hostname = settings.checks_host_names
    if stores.trusted is not None:
        _trust(context, stores)
    else:
        context.load_default_certs()
    return context


def _context(protocol: int, settings: SslSettings, stores: Stores) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    versions = sorted(_VERSIONS[each] for each in settings.versions())
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    ciphers = openssl_ciphers(settings.cipher_suites)
    if ciphers:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError as e:
            raise BadStore("ssl.cipher.suites: OpenSSL knows none of them") from e
    if stores.keys is not None:
        _use(context, stores.keys)
    return context


def _trust(context: ssl.SSLContext, stores: Stores) -> None:
    try:
        context.load_verify_locations(cadata=stores.trusted_der())
    except ssl.SSLError as e:
        raise BadStore(f"the trust store cannot be used: {e.reason}") from e


def _use(context: ssl.SSLContext, keys: KeyStore) -> None:
    """OpenSSL takes a key from a file only. This one is in memory, and nobody else has it open."""
    file = os.memfd_create("klamm-key")
    try:
        os.write(file, keys.pem())
        context.load_cert_chain(f"/proc/self/fd/{file}")
    except (ssl.SSLError, OSError) as e:
        raise BadStore(f"{keys.where}: OpenSSL does not take it: {e}") from e
    finally:
        os.close(file)
