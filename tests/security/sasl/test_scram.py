"""SCRAM against itself, against the example of RFC 7677, and against those who cheat."""

import random
from base64 import b64decode

import pytest

from klamm.base.principal import KafkaPrincipal
from klamm.security.sasl import scram
from klamm.security.sasl.exchange import LoginRefused
from klamm.security.sasl.scram import (
    MECHANISMS,
    SHA_256,
    SHA_512,
    Account,
    ScramClient,
    ScramMechanism,
    ScramServer,
    credential_of,
    new_credential,
    salted_password,
)

CHANCE = random.Random(7)
ANN = KafkaPrincipal("User", "ann")
PASSWORD = "an apple; a pear, = café"


def server_of(
    mechanism: ScramMechanism, *, user: str = "ann", iterations: int = 4096
) -> ScramServer:
    credential = new_credential(mechanism, PASSWORD, CHANCE, iterations)

    def find(name: str, is_token: bool) -> Account | None:
        return Account(credential, ANN) if name == user and not is_token else None

    return ScramServer(mechanism, find, CHANCE, b"secret")


def exchange(server: ScramServer, client: ScramClient) -> None:
    answer = server.step(client.first())
    proof = client.step(answer)
    assert proof is not None
    assert client.step(server.step(proof)) is None


@pytest.mark.parametrize("mechanism", MECHANISMS.values())
@pytest.mark.parametrize("user", ["ann", "a,n=n", "änn"])
def test_who_knows_the_password_is_in(mechanism: ScramMechanism, user: str) -> None:
    server = server_of(mechanism, user=user)

    exchange(server, ScramClient(mechanism, user, PASSWORD, CHANCE))

    assert server.is_done
    assert server.principal == ANN


@pytest.mark.parametrize(("user", "password"), [("ann", "guess"), ("bob", PASSWORD), ("ann", "")])
def test_wrong_users_and_wrong_passwords_fail_at_the_same_step(user: str, password: str) -> None:
    server = server_of(SHA_256)
    client = ScramClient(SHA_256, user, password, CHANCE)

    proof = client.step(server.step(client.first()))

    assert proof is not None
    with pytest.raises(LoginRefused, match="unknown user or wrong password"):
        server.step(proof)
    assert not server.is_done


def test_the_salt_of_nobody_is_always_the_same() -> None:
    salts = {server_of(SHA_256).step(b"n,,n=nobody,r=abc").split(b",s=")[1] for _ in range(3)}

    assert len(salts) == 1


def test_the_example_of_rfc_7677(monkeypatch: pytest.MonkeyPatch) -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = salted_password(SHA_256, "pencil", salt, 4096)
    credential = credential_of(SHA_256, salted, salt, 4096)
    server = ScramServer(SHA_256, lambda *_: Account(credential, ANN), CHANCE, b"")
    monkeypatch.setattr(scram, "_nonce", lambda _: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")

    first = server.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    last = server.step(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )

    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert last == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"p=tls-unique,,n=ann,r=abc",
        b"n,,n=ann",
        b"n,,r=abc,n=ann",
        b"n,,n=ann,r=",
        b"n,,n=a=ZZ,r=abc",
        b"n,a=bob,n=ann,r=abc",
        b"\xff\xfe",
        b"n,,n=ann,r=a b",
        b"n,,n=ann\x00,r=abc",
    ],
)
def test_a_malformed_beginning_is_refused(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        server_of(SHA_256).step(message)


def test_a_proof_for_another_exchange_is_refused() -> None:
    server, other = server_of(SHA_512), server_of(SHA_512)
    client = ScramClient(SHA_512, "ann", PASSWORD, CHANCE)
    proof = client.step(server.step(client.first()))
    other.step(client.first())

    assert proof is not None
    with pytest.raises(LoginRefused):
        other.step(proof)


def test_a_server_without_the_credential_is_found_out() -> None:
    client = ScramClient(SHA_256, "ann", PASSWORD, CHANCE)
    server = server_of(SHA_256)
    client.step(server.step(client.first()))

    with pytest.raises(LoginRefused):
        client.step(b"v=bm90IHRoZSBzaWduYXR1cmU=")


def test_a_server_that_asks_for_few_iterations_is_not_answered() -> None:
    client = ScramClient(SHA_256, "ann", PASSWORD, CHANCE)
    first = client.first().decode()
    nonce = first.split("r=")[1]

    with pytest.raises(LoginRefused, match="1 iterations"):
        client.step(f"r={nonce}x,s=c2FsdA==,i=1".encode())


def test_secrets_are_not_in_what_is_printed() -> None:
    credential = new_credential(SHA_256, PASSWORD, CHANCE)

    assert credential.stored_key.hex() not in repr(credential)
    assert "stored_key" not in repr(credential)


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        ("r={nonce}x,s=c2FsdA==,i=9999999", "too many"),
        ("r={nonce}x,s=c2FsdA==,i=100", "iterations only"),
    ],
)
def test_a_server_cannot_choose_how_long_its_client_counts(challenge: str, why: str) -> None:
    client = ScramClient(SHA_256, "ann", "pear", random.Random(1))
    nonce = client.first().decode().rpartition("r=")[2]

    with pytest.raises(LoginRefused, match=why):
        client.step(challenge.format(nonce=nonce).encode())


def test_a_last_word_that_is_no_ascii_is_refused_like_any_other() -> None:
    client = ScramClient(SHA_256, "ann", "pear", random.Random(1))
    nonce = client.first().decode().rpartition("r=")[2]
    client.step(f"r={nonce}x,s=c2FsdA==,i=4096".encode())

    with pytest.raises(LoginRefused, match="does not know the password"):
        client.step("v=ä".encode())
