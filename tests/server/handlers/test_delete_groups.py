"""DeleteGroups: each group by itself."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_groups import DeleteGroupsRequest
from server.asking import error
from server.handlers.classic_groups import a_join, stable
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


def test_each_group_has_its_own_outcome_when_several_are_deleted(
    client: WireClient, new_name: str
) -> None:
    stable(client, new_name)
    empty = f"{new_name}-empty"
    client.ask(a_join(empty))

    answer = client.ask(DeleteGroupsRequest(groups_names=[new_name, empty, "none", "", new_name]))

    assert {r.group_id: error(r.error_code) for r in answer.results} == {
        new_name: ErrorCode.NON_EMPTY_GROUP,
        empty: ErrorCode.NONE,
        "none": ErrorCode.GROUP_ID_NOT_FOUND,
        "": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert len(answer.results) == 4
