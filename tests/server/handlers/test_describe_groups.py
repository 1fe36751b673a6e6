"""DescribeGroups: classic groups, those that are there and others."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_groups import DescribeGroupsRequest
from server.asking import error
from server.handlers.classic_groups import stable
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("group_coordinator")


def test_a_group_that_is_not_there_is_dead_or_an_error_by_version(client: WireClient) -> None:
    request = DescribeGroupsRequest(groups=["none"], include_authorized_operations=True)

    (old,), (new,) = (client.ask(request, version).groups for version in (5, 6))

    assert (old.error_code, old.group_state, old.authorized_operations) == (0, "Dead", 3400)
    assert (error(new.error_code), new.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group none not found.",
    )
    assert (new.group_state, new.authorized_operations) == ("Dead", -(2**31))


def test_what_one_may_do_with_a_group_is_told_who_asks(client: WireClient, new_name: str) -> None:
    stable(client, new_name)

    for wanted, operations in ((True, 3400), (False, -(2**31))):
        request = DescribeGroupsRequest(
            groups=[new_name, new_name], include_authorized_operations=wanted
        )
        groups = client.ask(request).groups
        assert [group.authorized_operations for group in groups] == [operations] * 2
