"""One set of settings, in the words of two clients."""

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from klamm.pipeline.client import (
    BadClientSettings,
    check_client,
    connection,
    for_librdkafka,
    for_spark,
)
from klamm.pipeline.names import delta_path, iceberg_name
from klamm.pipeline.place import Place

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


def test_settings_may_have_the_prefix_that_spark_gives_them() -> None:
    of_spark = {f"kafka.{name}": value for name, value in LOGIN.items()}

    assert for_spark(of_spark) == for_spark(LOGIN)
    assert for_librdkafka(of_spark) == for_librdkafka(LOGIN)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A certificate and its key, as files that librdkafka reads."""
    folder = tmp_path_factory.mktemp("certificates")
    names = {"ssl.certificate.location": folder / "me.crt", "ssl.key.location": folder / "me.key"}
    certificate, key = names.values()
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=me -days 2 -keyout {key} -out {certificate}"
    subprocess.run(made.split(), check=True, capture_output=True)
    return {name: str(path) for name, path in names.items()}


def test_certificate_and_key_in_files_are_a_store_for_java(own: dict[str, str]) -> None:
    texts = {name: Path(file).read_text() for name, file in own.items()}

    assert for_spark({"security.protocol": "SSL", **own, "ssl.key.password": "p"}) == {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.key.password": "p",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": texts["ssl.certificate.location"],
        "kafka.ssl.keystore.key": texts["ssl.key.location"],
    }


def test_librdkafka_reads_the_stores_of_java_that_are_pem(
    own: dict[str, str], tmp_path: Path
) -> None:
    texts = {name: Path(file).read_text() for name, file in own.items()}
    both = tmp_path / "me.pem"
    both.write_text("".join(texts.values()))
    trust = {"ssl.truststore.certificates": texts["ssl.certificate.location"]}
    by_file = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both), **trust}
    by_text = {
        "ssl.keystore.certificate.chain": texts["ssl.certificate.location"],
        "ssl.keystore.key": texts["ssl.key.location"],
    }

    # It reads them when it is made.
    for store in (by_file, by_text):
        Producer({**for_librdkafka({"security.protocol": "SSL", **store}), "log_level": 0})
    bad = {**by_text, "ssl.keystore.key": "no key"}
    with pytest.raises(Exception, match=r"ssl\.key\.pem"):
        Producer({**for_librdkafka({"security.protocol": "SSL", **bad}), "log_level": 0})


def test_librdkafka_reads_a_store_of_pkcs12(own: dict[str, str], tmp_path: Path) -> None:
    store = tmp_path / "me.p12"
    certificate, key = own.values()
    made = (
        f"openssl pkcs12 -export -in {certificate} -inkey {key} -out {store} -passout pass:secret"
    )
    subprocess.run(made.split(), check=True, capture_output=True)
    client = {"ssl.keystore.location": str(store), "ssl.keystore.password": "secret"}

    Producer({**for_librdkafka({"security.protocol": "SSL", **client}), "log_level": 0})
    assert for_spark(client) == {f"kafka.{name}": value for name, value in client.items()}


OAUTH = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
}
OAUTH_FOR_LIBRDKAFKA = {
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.client.secret": 's"1',
    "sasl.oauthbearer.scope": "all",
    "sasl.oauthbearer.extensions": "tenant=a",
}


def test_tokens_are_fetched_by_both_clients() -> None:
    java = for_spark({**OAUTH, **OAUTH_FOR_LIBRDKAFKA})

    module = "org.apache.kafka.common.security.oauthbearer"
    assert java == {
        **{f"kafka.{name}": value for name, value in OAUTH.items()},
        "kafka.sasl.login.callback.handler.class": f"{module}.OAuthBearerLoginCallbackHandler",
        "kafka.sasl.jaas.config": (
            f'{module}.OAuthBearerLoginModule required clientId="me" clientSecret="s\\"1" scope="all" '
            'extension_tenant="a";'
        ),
    }
    assert for_librdkafka(java) == {**OAUTH, **OAUTH_FOR_LIBRDKAFKA, **SOON_BACK}


def test_every_client_of_a_pipeline_is_told_how_to_log_in() -> None:
    place = Place(bootstrap="there:9092", client=LOGIN, checkpoint="", warehouse="")

    told = connection(place)

    assert told.items() >= {**LOGIN, "bootstrap.servers": "there:9092", "log_level": 0}.items()


@pytest.mark.parametrize(
    ("client", "sentence"),
    [
        ({"security.protocol": "SASL_SSL"}, r"needs a sasl\.mechanism of PLAIN.* none is given"),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"}, "found GSSAPI"),
        ({"enable.ssl.certificate.verification": "false"}, "always checks certificates"),
        ({"ssl.certificate.location": "/no/such.crt"}, r"/no/such\.crt .* cannot be read"),
        ({"ssl.certificate.pem": "x"}, "without its key"),
        ({"ssl.certificate.pem": "x", "ssl.key.pem": "BEGIN RSA PRIVATE KEY"}, "PKCS #8"),
        ({"ssl.keystore.location": "a.jks", "ssl.keystore.type": "JKS"}, "only Java reads"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "needs .*token.endpoint.url"),
        (
            {"sasl.jaas.config": 'x required username="a" password="b" tokenauth="true";'},
            "delegation token",
        ),
    ],
)
def test_settings_that_one_of_the_clients_cannot_use_are_refused(
    client: dict[str, str], sentence: str
) -> None:
    with pytest.raises(BadClientSettings, match=sentence):
        check_client(client)


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
