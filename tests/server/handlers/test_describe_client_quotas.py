"""DescribeClientQuotas: which quotas a filter finds. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from server.handlers.test_alter_client_quotas import alter, entry
from server.wire_client import WireClient

EXACT, DEFAULT, SPECIFIED = range(3)
Component = tuple[str, int, str | None]


def describe(client: WireClient, *components: Component, strict: bool = False) -> Any:
    return client.ask(
        DescribeClientQuotasRequest(
            components=[
                ComponentData(entity_type=kind, match_type=match, match=name)
                for kind, match, name in components
            ],
            strict=strict,
        )
    )


def found(answer: Any) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    return {
        tuple(sorted((part.entity_type, part.entity_name) for part in each.entity)): {
            value.key: value.value for value in each.values
        }
        for each in answer.entries
    }


def test_a_filter_finds_what_it_names_and_more_unless_it_is_strict(
    client: WireClient, new_name: str
) -> None:
    user, other = f"{new_name}-u", f"{new_name}-o"
    alter(
        client,
        entry([("user", user)], producer_byte_rate=1e9, consumer_byte_rate=2e9),
        entry([("user", user), ("client-id", new_name)], request_percentage=1e9),
        entry([("client-id", other)], request_percentage=1e9),
    )
    alone = (("user", user),)
    both = (("client-id", new_name), ("user", user))

    answer = found(describe(client, ("user", EXACT, user)))
    assert answer == {
        alone: {"producer_byte_rate": 1e9, "consumer_byte_rate": 2e9},
        both: {"request_percentage": 1e9},
    }
    assert set(found(describe(client, ("user", EXACT, user), strict=True))) == {alone}
    assert {alone, both} <= set(found(describe(client, ("user", SPECIFIED, None))))
    assert {alone, both, (("client-id", other),)} <= set(found(describe(client)))
    assert found(describe(client, strict=True)) == {}

    alter(
        client,
        entry([("user", user)], producer_byte_rate=None, consumer_byte_rate=None),
        entry([("user", user), ("client-id", new_name)], request_percentage=None),
        entry([("client-id", other)], request_percentage=None),
    )
    assert found(describe(client, ("user", EXACT, user))) == {}


@pytest.mark.parametrize(
    ("components", "error", "sentence"),
    [
        (
            [("user", EXACT, "a"), ("user", EXACT, "b")],
            ErrorCode.INVALID_REQUEST,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [("group", EXACT, "a")],
            ErrorCode.UNSUPPORTED_VERSION,
            "Unsupported entity type group",
        ),
        ([("", EXACT, "a")], ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        ([("user", 7, "a")], ErrorCode.INVALID_REQUEST, "Unknown match type 7"),
        (
            [("user", EXACT, None)],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", DEFAULT, "a")],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [("ip", SPECIFIED, None), ("user", SPECIFIED, None)],
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component.",
        ),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    client: WireClient, components: list[Component], error: ErrorCode, sentence: str
) -> None:
    answer = describe(client, *components)

    assert (answer.error_code, answer.error_message) == (error, sentence)
