"""Connections to other nodes by TLS: whose name is checked, and who gets in."""

import asyncio
from typing import Any

import pytest
import uvloop

from klamm.base.settings.ssl import SslSettings
from klamm.cli.certs.authority import Authority
from klamm.server.peers.connection import PeerConnection
from klamm.server.world.ports import HandshakeFailed
from klamm.server.world.sockets import Sockets
from server.echo import an_echo
from support.tls.certificates import Certificates, Keys


def settings(certificates: Certificates, keys: Keys | None, **more: Any) -> SslSettings:
    return SslSettings(
        keystore_type="PEM",
        keystore_location=None if keys is None else str(keys.store),
        truststore_type="PEM",
        truststore_location=str(certificates.ca),
        **more,
    )


def ask(server: SslSettings, client: SslSettings, host: str = "127.0.0.1") -> bytes:
    """What another node answers; ConnectionError if it does not."""

    async def test() -> bytes:
        network = Sockets()
        network.secure("SSL", network.certificates(client))
        async with an_echo(tls=server) as served:
            answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            connection = PeerConnection(lambda: None)
            async with asyncio.timeout(20):
                await network.connect(host, served.listener.port, connection, "SSL")
                connection.send(
                    (2**18).to_bytes(4, "big") + bytes(2**18),
                    lambda data: answer.set_result(b"" if data is None else bytes(data)),
                )
                heard = await answer
            connection.abort()
            if not heard:
                raise ConnectionError("it closed the connection")
            return heard

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(test())


def test_nodes_show_each_other_their_certificates(certificates: Certificates) -> None:
    node = settings(certificates, certificates.issue("node"), client_auth="required")

    assert ask(node, node) == bytes(2**18)


def test_a_node_without_a_certificate_is_refused(certificates: Certificates) -> None:
    node = settings(certificates, certificates.issue("node"), client_auth="required")

    with pytest.raises(ConnectionError):
        ask(node, settings(certificates, None))


def test_a_certificate_of_another_name_is_refused_unless_names_do_not_matter(
    certificates: Certificates,
) -> None:
    elsewhere = certificates.issue("node", hosts=("elsewhere.example",))
    node = settings(certificates, elsewhere)
    careless = settings(certificates, elsewhere, endpoint_identification_algorithm="")

    with pytest.raises(HandshakeFailed, match="IP address mismatch"):
        ask(node, node)
    with pytest.raises(HandshakeFailed, match="Hostname mismatch"):
        ask(node, node, host="localhost")
    assert ask(node, careless)


def test_a_node_of_strangers_is_refused(certificates: Certificates) -> None:
    strange = certificates.issue("node", by=Authority.create("strangers"))

    with pytest.raises(HandshakeFailed, match="certificate is refused"):
        ask(settings(certificates, strange), settings(certificates, None))
