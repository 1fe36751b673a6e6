"""A broker that asks who is there, and clients that can tell."""

import asyncio
import warnings
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from klamm.testing import Broker

USERS = {"ann": 'it\'s "secret"', "bob": "other"}


def send(broker: Broker, value: str, **settings: object) -> None:
    producer = Producer({**broker.client_settings("confluent-kafka", "bob"), **settings})
    producer.produce("orders", value)
    assert producer.flush(30) == 0


@pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])
def test_a_user_comes_by_tls_with_a_password(process: bool) -> None:
    with Broker(["orders"], security="sasl_ssl", users=USERS, process=process) as broker:
        send(broker, "one")
        broker.restart()
        send(broker, "two")

        broker.expect("orders").within(20).equals("one", "two")
        assert Path(broker.client_settings("java")["ssl.truststore.location"]).exists()

    assert not Path(broker._security.folder).exists()  # type: ignore[union-attr]


def test_who_has_another_password_is_refused() -> None:
    with Broker(users=USERS) as broker:
        settings = broker.client_settings("confluent-kafka", "ann")
        admin = AdminClient({**settings, "sasl.password": "guessed", "log_level": 0})

        with pytest.raises(KafkaException) as refused:
            admin.list_topics(timeout=2)

        assert refused.value.args[0].code() in (KafkaError._TRANSPORT, KafkaError._AUTHENTICATION)
        assert AdminClient(settings).list_topics(timeout=20).topics == {}


def test_faults_hit_those_who_have_logged_in() -> None:
    with Broker(["orders"], security="sasl_plaintext", users=USERS) as broker:
        with broker.faults.error("PRODUCE", "NOT_LEADER_OR_FOLLOWER", times=1) as fault:
            send(broker, "one", **{"retry.backoff.ms": 10})

        fault.assert_injected(1)
        assert [each.text for each in broker.records("orders")] == ["one"]


def test_other_clients_get_settings_in_their_own_names() -> None:
    from aiokafka import AIOKafkaProducer

    async def send(broker: Broker) -> None:
        settings = broker.client_settings("aiokafka", "ann")
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait("orders", b"one")

    with Broker(["orders"], security="sasl_ssl", users=USERS) as broker:
        asyncio.run(send(broker))
        broker.expect("orders").within(20).equals("one")
        assert broker.client_settings("kafka-python") == {
            "bootstrap_servers": broker.bootstrap_servers,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "ann",
            "sasl_plain_password": USERS["ann"],
            "ssl_cafile": broker.client_settings("confluent-kafka")["ssl.ca.location"],
        }
        assert broker.client_settings("java")["sasl.jaas.config"] == (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            r'username="ann" password="it' + r"'s \"secret\"" + '";'
        )


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_kafka_python_comes_by_tls() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaProducer

    with Broker(["orders"], security="ssl") as broker:
        producer = KafkaProducer(**broker.client_settings("kafka-python"))
        producer.send("orders", b"one")
        producer.close()

        broker.expect("orders").within(20).equals("one")


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="is none of plaintext, ssl, sasl_plaintext, sasl_ssl"):
        Broker(security="tls")
    with pytest.raises(ValueError, match="users go with sasl_ssl"):
        Broker(security="sasl_ssl")
    with Broker() as broker:
        assert broker.client_settings("confluent-kafka") == {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "PLAINTEXT",
        }
        with pytest.raises(ValueError, match="plaintext has no users"):
            broker.client_settings("java", "ann")


def test_the_transcript_reads_what_was_said_by_tls() -> None:
    with Broker(["orders"], security="ssl") as broker:
        producer = Producer(broker.client_settings("confluent-kafka"))
        producer.produce("orders", b"one")
        assert producer.flush(30) == 0

        (said,) = broker.transcript(api="PRODUCE")
        assert (said.partitions, said.errors) == (("orders-0",), ())
        assert said.milliseconds is not None


def test_rights_are_settings_and_the_kit_keeps_its_own() -> None:
    """As docs/testing.md has them."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:ann",
    }
    with Broker(["orders"], users=USERS, settings=settings) as broker:
        told: list[KafkaError | None] = []
        for user in ("bob", "ann"):
            producer = Producer(broker.client_settings("confluent-kafka", user))
            producer.produce("orders", user, on_delivery=lambda error, _: told.append(error))
            producer.flush(30)

        refused, fine = told
        assert refused is not None
        assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert fine is None
        assert [each.text for each in broker.records("orders")] == ["ann"]
