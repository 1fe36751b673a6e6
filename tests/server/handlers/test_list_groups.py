"""ListGroups: groups of both protocols, by state and type."""

import pytest

from klamm.protocol.messages.list_groups import ListGroupsRequest
from server.conftest import MakeTopic
from server.handlers import consumer_groups
from server.handlers.classic_groups import stable
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


def test_a_consumer_group_is_listed_as_one(
    client: WireClient, make_topic: MakeTopic, new_name: str
) -> None:
    consumer_groups.join(client, new_name, make_topic().name)

    listed = client.ask(ListGroupsRequest(types_filter=["consumer"], states_filter=["Stable"]))

    mine = [each for each in listed.groups if each.group_id == new_name]
    assert [(g.protocol_type, g.group_state, g.group_type) for g in mine] == [
        ("consumer", "Stable", "consumer")
    ]


@pytest.mark.parametrize(
    ("states", "types", "is_listed"),
    [
        ([], [], True),
        ([], ["Classic"], True),
        (["STABLE "], ["classic"], True),
        (["Empty", "stable"], [], True),
        (["Empty"], [], False),
        (["nonsense"], [], False),
        ([], ["consumer"], False),
        ([], ["nonsense"], False),
    ],
)
def test_groups_are_listed_by_state_and_type(
    client: WireClient, new_name: str, states: list[str], types: list[str], is_listed: bool
) -> None:
    stable(client, new_name)

    answer = client.ask(ListGroupsRequest(states_filter=states, types_filter=types))

    found = [(g.group_state, g.group_type) for g in answer.groups if g.group_id == new_name]
    assert found == ([("Stable", "classic")] if is_listed else [])
