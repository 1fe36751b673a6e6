"""DescribeCluster: who is there. Expectations hold for Apache Kafka 4.3.1 as well."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_cluster import DescribeClusterRequest
from klamm.protocol.messages.metadata import MetadataRequest
from server.wire_client import WireClient

NOT_ASKED = -(2**31)
# create, alter, describe, cluster action, describe and alter configs, idempotent write
ALL_OPERATIONS = 0b1_1111_1010_0000


@pytest.mark.parametrize("version", range(3))
def test_each_version_names_the_broker_and_the_controller(
    client: WireClient, address: str, version: int
) -> None:
    answer = client.ask(DescribeClusterRequest(), version)

    (broker,) = answer.brokers
    assert (answer.error_code, answer.controller_id, answer.endpoint_type) == (0, 1, 1)
    assert (broker.broker_id, f"{broker.host}:{broker.port}") == (1, address)
    assert answer.cluster_id == client.ask(MetadataRequest(topics=[])).cluster_id
    assert answer.cluster_authorized_operations == NOT_ASKED


def test_operations_are_told_on_demand(client: WireClient) -> None:
    answer = client.ask(DescribeClusterRequest(include_cluster_authorized_operations=True))

    assert answer.cluster_authorized_operations == ALL_OPERATIONS


def test_fenced_brokers_are_told_on_demand_and_there_are_none(client: WireClient) -> None:
    (broker,) = client.ask(DescribeClusterRequest(include_fenced_brokers=True)).brokers

    assert not broker.is_fenced


@pytest.mark.parametrize(
    ("endpoint", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_a_broker_does_not_speak_for_controllers(
    client: WireClient, endpoint: int, code: ErrorCode
) -> None:
    answer = client.ask(DescribeClusterRequest(endpoint_type=endpoint))

    assert (answer.error_code, answer.brokers) == (code, [])
