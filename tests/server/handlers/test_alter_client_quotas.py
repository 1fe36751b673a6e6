"""AlterClientQuotas: for whom and how much. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from server.wire_client import WireClient

Entity = list[tuple[str, str | None]]
OK = (0, None)


def entry(entity: Entity, **ops: float | None) -> AlterClientQuotasRequestEntryData:
    """None removes."""
    return AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[
            OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops.items()
        ],
    )


def alter(
    client: WireClient, *entries: AlterClientQuotasRequestEntryData, dry: bool = False
) -> Any:
    answer = client.ask(AlterClientQuotasRequest(entries=list(entries), validate_only=dry))
    return [(each.error_code, each.error_message) for each in answer.entries]


def invalid(sentence: str) -> list[tuple[int, str]]:
    return [(ErrorCode.INVALID_REQUEST, sentence)]


@pytest.mark.parametrize(
    ("entity", "sentence"),
    [
        ([], "Invalid empty client quota entity"),
        ([("group", "x")], "Unhandled client quota entity type: group"),
        ([("user", "")], "Empty user not supported"),
        (
            [("ip", "127.0.0.9"), ("user", "b")],
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ([("ip", "not an ip")], "not an ip is not a valid IP or resolvable host."),
        ([("ip", "127.0.0.9")], "Invalid configuration key producer_byte_rate"),
    ],
)
def test_who_cannot_have_a_quota(client: WireClient, entity: Entity, sentence: str) -> None:
    assert alter(client, entry(entity, producer_byte_rate=1e9)) == invalid(sentence)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("nope", 1.0, "Invalid configuration key nope"),
        ("connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        ("producer_byte_rate", -1.0, "Quota producer_byte_rate must be greater than 0"),
        ("consumer_byte_rate", 0.0, "Quota consumer_byte_rate must be greater than 0"),
        ("consumer_byte_rate", 1.5, "consumer_byte_rate cannot be a fractional value."),
        (
            "consumer_byte_rate",
            1e30,
            "Proposed value for consumer_byte_rate is too large for a LONG.",
        ),
    ],
)
def test_what_cannot_be_a_quota(
    client: WireClient, new_name: str, key: str, value: float, sentence: str
) -> None:
    entity: Entity = [("user", new_name)]

    assert alter(client, entry(entity, **{key: value})) == invalid(sentence)


def test_what_is_no_number_is_no_quota(client: WireClient, new_name: str) -> None:
    """Kafka takes it."""
    answer = alter(client, entry([("user", new_name)], request_percentage=float("nan")))

    assert answer == invalid("Quota request_percentage must be greater than 0")


def test_fractions_of_time_are_fine(client: WireClient, new_name: str) -> None:
    entity: Entity = [("user", new_name), ("client-id", "c")]

    assert alter(client, entry(entity, request_percentage=1e9 + 0.5)) == [OK]
    assert alter(client, entry(entity, request_percentage=None)) == [OK]


def test_removing_what_is_not_there_is_fine(client: WireClient, new_name: str) -> None:
    assert alter(client, entry([("user", new_name)], producer_byte_rate=None)) == [OK]


def test_one_entity_stands_once(client: WireClient, new_name: str) -> None:
    one = entry([("user", new_name)], producer_byte_rate=1e9)

    assert alter(client, one, one) == invalid(
        f"Ignoring duplicate entity ClientQuotaEntity(entries={{user={new_name}}})"
    )
