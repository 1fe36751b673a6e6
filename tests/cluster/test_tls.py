"""A cluster whose nodes speak nothing but TLS with each other and with clients, each with a certificate of its own."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from cluster.conftest import MakeCluster
from cluster.processes import until
from support.tls.certificates import Certificates

pytestmark = pytest.mark.cluster


def secured(certificates: Certificates, **more: object) -> dict[str, object]:
    return {
        # The names of the listeners stay; what they speak is TLS.
        "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.ca,
        "ssl.client.auth": "required",
        **more,
    }


def of_node(certificates: Certificates, number: int) -> dict[str, object]:
    keys = certificates.issue(f"node-{number}")
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": keys.store}


def test_nodes_that_know_each_other_by_certificates_replicate_and_take_over(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path)
    cluster = make_cluster(
        # The directories are formatted before each node has its own.
        settings=secured(certificates, **of_node(certificates, 0)),
        of_node={number: of_node(certificates, number) for number in (1, 2, 3)},
    )
    client = {
        "bootstrap.servers": cluster.bootstrap,
        "log_level": 0,
        **certificates.librdkafka(certificates.issue("ann")),
    }
    admin = AdminClient(client)
    (made,) = admin.create_topics([NewTopic("t", 1, 3)]).values()
    made.result(30)

    def partition() -> object:
        return admin.list_topics("t", timeout=10).topics["t"].partitions[0]

    def produce(*values: bytes) -> None:
        failures: list[object] = []
        producer = Producer({**client, "acks": "all"})
        for value in values:
            producer.produce("t", value, on_delivery=lambda e, _: failures.append(e) if e else None)
        assert producer.flush(60) == 0
        assert failures == []

    until(lambda: len(partition().isrs) == 3)
    produce(b"one", b"x" * 500_000)
    leader = partition().leader
    cluster.kill(leader)
    until(lambda: partition().leader not in (leader, -1))
    produce(b"two")

    consumer = Consumer({**client, "group.id": "g"})
    consumer.assign([TopicPartition("t", 0, 0)])
    found: list[bytes] = []
    while len(found) < 3:
        found += [each.value() for each in consumer.consume(3, timeout=30) if not each.error()]
    consumer.close()
    assert found == [b"one", b"x" * 500_000, b"two"]


def test_a_client_without_a_certificate_is_kept_out(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path)
    cluster = make_cluster(roles="x", settings=secured(certificates, **of_node(certificates, 1)))
    stranger = {
        "bootstrap.servers": cluster.bootstrap,
        "log_level": 0,
        **certificates.librdkafka(),
    }

    with pytest.raises(KafkaException):
        AdminClient(stranger).list_topics(timeout=3)
    until(lambda: "it showed no certificate" in cluster.log_of(1))
