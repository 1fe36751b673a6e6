"""One set of settings, in the words of two clients."""

import pytest
from confluent_kafka import Producer

from klamm.pipeline.client import BadClientSettings, for_librdkafka, for_spark
from klamm.pipeline.names import delta_path, iceberg_name

LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "ann",
    "sasl.password": 'a"b\\c',
    "ssl.ca.location": "/etc/ca.pem",
}
SOON_BACK = {"reconnect.backoff.max.ms": "1000"}


def test_names_of_librdkafka_are_translated_for_java() -> None:
    assert for_spark(LOGIN) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="ann" password="a\\"b\\\\c";'
        ),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/etc/ca.pem",
    }


def test_names_of_java_are_translated_for_librdkafka() -> None:
    java = {name.removeprefix("kafka."): value for name, value in for_spark(LOGIN).items()}

    assert for_librdkafka(java) == {**LOGIN, **SOON_BACK}


def test_what_tunes_one_client_does_not_reach_the_other() -> None:
    client = {"fetch.max.wait.ms": "5", "max.poll.records": "9", "socket.nagle.disable": "true"}

    assert for_spark(client)["kafka.fetch.max.wait.ms"] == "5"
    assert for_librdkafka(client) == {"socket.nagle.disable": "true", **SOON_BACK}


def test_librdkafka_is_back_as_soon_as_java_unless_it_is_told_otherwise() -> None:
    own = {"reconnect.backoff.ms": "5000", "reconnect.backoff.max.ms": "20000"}

    assert for_librdkafka({}) == SOON_BACK
    assert for_librdkafka(own) == own


def test_librdkafka_takes_what_it_is_given() -> None:
    settings = {"security.protocol": "PLAINTEXT", "sasl.mechanism": "PLAIN", "client.id": "me"}
    java = {"sasl.login.refresh.window.factor": "0.8", "ssl.endpoint.identification.algorithm": ""}

    Producer({"bootstrap.servers": "", **for_librdkafka({**settings, **java})})


@pytest.mark.parametrize(
    ("client", "sentence"),
    [
        ({"ssl.truststore.location": "a.jks"}, "give the authority's certificate as a PEM file"),
        ({"sasl.jaas.config": "x.Krb5LoginModule required;"}, "names no username"),
    ],
)
def test_settings_that_only_java_can_use_are_refused(client: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadClientSettings, match=sentence):
        for_librdkafka(client)


def test_user_without_a_mechanism_is_refused() -> None:
    with pytest.raises(
        BadClientSettings, match=r"needs a sasl\.mechanism that takes one .* found none"
    ):
        for_spark({"sasl.username": "ann"})


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("page_stats", "lake.default.page_stats"),
        ("sales.page_stats", "lake.sales.page_stats"),
        ("lake.sales.page_stats", "lake.sales.page_stats"),
        ("eu.sales.page_stats", "lake.eu.sales.page_stats"),
    ],
)
def test_table_without_a_full_name_is_in_the_lake(table: str, name: str) -> None:
    assert iceberg_name(table) == name


def test_delta_table_is_a_folder_of_the_warehouse() -> None:
    assert delta_path("sales.page_stats", "/lake/") == "/lake/delta/sales.page_stats"
