"""Who gets through a TLS handshake, under which name, and what is said of the others."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from klamm.base.settings.ssl import SslSettings
from klamm.cli.certs.authority import Authority
from klamm.security.certificate_names import CertificateNames
from klamm.server.world.tls.handshakes import Handshakes
from server.echo import Pair, Served, an_echo, framed, until
from support.tls.certificates import Certificates, Keys

Test = Callable[[], Awaitable[Any]]


def run(test: Test) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(test())  # type: ignore[arg-type]


def server_settings(certificates: Certificates, **more: Any) -> SslSettings:
    return SslSettings(
        keystore_type="PEM",
        keystore_location=str(certificates.issue("server").store),
        truststore_type="PEM",
        truststore_location=str(certificates.ca),
        **more,
    )


def client(certificates: Certificates, keys: Keys | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.ca)
    if keys is not None:
        context.load_cert_chain(keys.store)
    return context


async def who(served: Served, context: ssl.SSLContext) -> bytes:
    """The name under which the client is known; ConnectionError if it is not let in."""
    try:
        pair: Pair = await served.connect(tls=context)
        pair.writer.write(framed(b"who"))
        async with asyncio.timeout(20):
            return await pair.frame()
    except (ssl.SSLError, asyncio.IncompleteReadError) as e:
        raise ConnectionError(str(e)) from e


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", b"User:CN=Ann,O=klamm"),
        ("RULE:^CN=(.*?),O=klamm$/$1/L", b"User:ann"),
        ("RULE:^CN=nobody$/x/, RULE:^CN=(\\w+),.*$/the $1/U,DEFAULT", b"User:THE ANN"),
    ],
)
def test_a_client_is_called_what_the_rules_make_of_its_certificate(
    certificates: Certificates, rules: str, name: bytes
) -> None:
    async def test() -> bytes:
        settings = server_settings(certificates, client_auth="required")
        async with an_echo(tls=settings, names=CertificateNames(rules)) as served:
            return await who(served, client(certificates, certificates.issue("Ann")))

    assert run(test) == name


def test_where_a_certificate_is_only_asked_for_a_client_without_one_is_anonymous(
    certificates: Certificates,
) -> None:
    async def test() -> bytes:
        settings = server_settings(certificates, client_auth="requested")
        async with an_echo(tls=settings, names=CertificateNames()) as served:
            return await who(served, client(certificates))

    assert run(test) == b"User:ANONYMOUS"


def test_a_name_that_no_rule_fits_is_not_let_in(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        settings = server_settings(certificates, client_auth="required")
        async with an_echo(tls=settings, names=CertificateNames("RULE:^CN=bob$/x/")) as served:
            with pytest.raises(ConnectionError):
                await who(served, client(certificates, certificates.issue("ann")))

    run(test)
    assert len(complaints(caplog)) == 1
    assert "no rule of ssl.principal.mapping.rules fits 'CN=ann,O=klamm'" in complaints(caplog)[0]


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        ("none", "it showed no certificate"),
        ("expired", "its certificate is refused: certificate has expired"),
        ("of others", "its certificate is refused: "),
        ("of itself", "its certificate is refused: "),
    ],
)
def test_a_client_whose_certificate_is_not_good_is_refused_with_one_line(
    certificates: Certificates, caplog: pytest.LogCaptureFixture, shown: str, reason: str
) -> None:
    strangers = Authority.create("strangers")
    keys = {
        "none": lambda: None,
        "expired": lambda: certificates.issue("ann", expired=True),
        "of others": lambda: certificates.issue("ann", by=strangers),
        "of itself": lambda: certificates.write("ann", strangers.issue("ann", hosts=())),
    }[shown]()

    async def test() -> None:
        async with an_echo(tls=server_settings(certificates, client_auth="required")) as served:
            with pytest.raises(ConnectionError):
                await who(served, client(certificates, keys))
            await until(lambda: bool(complaints(caplog)))

    run(test)
    (line,) = complaints(caplog)
    assert line.startswith("a TLS handshake failed: peer=127.0.0.1 reason=")
    assert reason in line


def test_a_client_that_does_not_trust_the_server_is_told_of_in_one_line(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with an_echo(tls=server_settings(certificates)) as served:
            # Python's loops close without a word.
            with (
                socket.create_connection(("127.0.0.1", served.listener.port)) as plain,
                pytest.raises(ssl.SSLError),
            ):
                strict = ssl.create_default_context()
                await asyncio.to_thread(strict.wrap_socket, plain, server_hostname="localhost")
            await until(lambda: bool(complaints(caplog)))

    run(test)
    assert len(complaints(caplog)) == 1
    assert "it refuses: unknown ca" in complaints(caplog)[0]


def test_a_version_that_is_not_allowed_is_refused(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        settings = server_settings(certificates, enabled_protocols=("TLSv1.3",))
        async with an_echo(tls=settings) as served:
            old = client(certificates)
            old.maximum_version = ssl.TLSVersion.TLSv1_2
            with pytest.raises(ConnectionError):
                await who(served, old)
            assert await who(served, client(certificates)) == b"User:ANONYMOUS"

    run(test)
    assert "it speaks no TLS version that is allowed" in complaints(caplog)[0]


def test_only_the_chosen_cipher_suites_are_spoken(certificates: Certificates) -> None:
    async def test() -> tuple[str, str]:
        settings = server_settings(
            certificates, cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",)
        )
        async with an_echo(tls=settings) as served:
            pair: Pair = await served.connect(tls=client(certificates))
            name, version, _ = pair.writer.get_extra_info("cipher")
            return name, version

    assert run(test) == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")


@pytest.mark.parametrize(
    "said",
    [framed(b"plain text of Kafka's protocol"), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 100],
    ids=["kafka", "http", "zeros"],
)
def test_plain_text_to_a_tls_port_is_closed_with_one_line(
    certificates: Certificates, caplog: pytest.LogCaptureFixture, said: bytes
) -> None:
    async def test() -> None:
        async with an_echo(tls=server_settings(certificates)) as served:
            stranger: Pair = await served.connect()
            stranger.writer.write(said)
            await stranger.rest()
            assert await who(served, client(certificates)) == b"User:ANONYMOUS"

    run(test)
    (line,) = complaints(caplog)
    assert line == "a TLS handshake failed: peer=127.0.0.1 reason=it does not speak TLS"


def test_tls_to_a_plain_port_is_closed_with_one_line(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with an_echo() as served:
            with pytest.raises(ConnectionError):
                await who(served, client(certificates))

    run(test)
    (line,) = complaints(caplog)
    assert "it speaks TLS, and this listener does not" in line


def test_a_handshake_that_stops_in_the_middle_is_told_of_and_one_that_never_began_is_not(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with an_echo(tls=server_settings(certificates)) as served:
            silent: Pair = await served.connect()
            silent.writer.close()
            cut: Pair = await served.connect()
            cut.writer.write(_client_hello(certificates)[:50])
            await asyncio.sleep(0)
            cut.writer.close()
            await until(lambda: len(served.shared.admission) == 0)

    run(test)
    (line,) = complaints(caplog)
    assert "it closed the connection in the middle of it" in line


def test_a_handshake_has_a_time_limit(
    certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> bytes:
        async with an_echo(tls=server_settings(certificates)) as served:
            served.listener._port._tls._handshakes = Handshakes(seconds=0.1)  # type: ignore[attr-defined]
            half: Pair = await served.connect()
            half.writer.write(_client_hello(certificates))
            silent: Pair = await served.connect()
            assert await silent.rest() == b""
            return await half.rest()

    assert run(test).startswith(b"\x16\x03")
    assert [line.partition("reason=")[2] for line in complaints(caplog)] == [
        "it took longer than 0 seconds"
    ] * 2


def test_many_half_open_handshakes_do_not_keep_others_out(certificates: Certificates) -> None:
    async def test() -> int:
        async with an_echo(tls=server_settings(certificates), max_connections=60) as served:
            served.listener._port._tls._handshakes = Handshakes(most=20)  # type: ignore[attr-defined]
            hello = _client_hello(certificates)
            for number in range(200):
                half: Pair = await served.connect()
                if number % 2:
                    half.writer.write(hello)
            assert await who(served, client(certificates)) == b"User:ANONYMOUS"
            return len(served.shared.admission)

    assert run(test) <= 60


def test_new_certificates_are_for_new_connections_and_old_ones_go_on(
    certificates: Certificates,
) -> None:
    async def test() -> tuple[bytes, str, str]:
        async with an_echo(tls=server_settings(certificates)) as served:
            old: Pair = await served.connect(tls=client(certificates))
            network = served.listener._port._tls  # type: ignore[attr-defined]
            before = old.writer.get_extra_info("peercert")
            issued = certificates.issue("server-two").store
            from klamm.server.world.tls.context import TlsContexts

            network.contexts = TlsContexts(
                SslSettings(keystore_type="PEM", keystore_location=str(issued))
            )
            new: Pair = await served.connect(tls=client(certificates))
            old.writer.write(framed(b"still here"))
            after = new.writer.get_extra_info("peercert")
            return await old.frame(), _common_name(before), _common_name(after)

    assert run(test) == (b"still here", "server", "server-two")


def _common_name(certificate: dict[str, Any]) -> str:
    return dict(pair for rdn in certificate["subject"] for pair in rdn)["commonName"]


def _client_hello(certificates: Certificates) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = client(certificates).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        side.do_handshake()
    return outgoing.read()


def test_one_that_breaks_does_not_stop_the_handshakes_of_others() -> None:
    class Broken:
        host = "a"

        def shake_hands(self) -> None:
            raise LookupError

        def fail(self, why: str) -> None:
            pass

    class Whole(Broken):
        has_gone_on = False

        def shake_hands(self) -> None:
            self.has_gone_on = True

    async def test() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        handshakes = Handshakes()
        for _ in range(2):
            whole = Whole()
            handshakes.step_soon(Broken())
            handshakes.step_soon(whole)
            await until(lambda: whole.has_gone_on)  # noqa: B023
            handshakes.step_soon(Broken())
            for _ in range(3):
                await asyncio.sleep(0)

    run(test)


def test_a_stranger_sends_no_more_than_is_looked_at(certificates: Certificates) -> None:
    """The handshakes stand still, and the client sends on: it waits in the kernel, not in our memory."""

    async def test() -> int:
        async with an_echo(tls=server_settings(certificates)) as served:
            connection: list[Any] = []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Handshakes, "step_soon", lambda _, each: connection.append(each))
                pair: Pair = await served.connect(tls=None)
                pair.writer.write(bytes(1 << 20))
                await until(lambda: bool(connection))
                for _ in range(200):
                    await asyncio.sleep(0)
            assert len(connection) == 1
            return connection[0]._incoming.pending

    assert run(test) <= 17 * 1024
