from klamm.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from server.handlers.test_create_delegation_token import create
from server.wire_client import WireClient


def owned_by(client: WireClient, *names: str) -> list[str]:
    owners = [
        DescribeDelegationTokenOwner(principal_type="User", principal_name=each) for each in names
    ]
    return [
        each.token_id
        for each in client.ask(DescribeDelegationTokenRequest(owners=owners or None)).tokens
    ]


def test_owners_and_renewers_see_a_token_and_nobody_else_does(
    admin: WireClient,
    ann: WireClient,
) -> None:
    shared, own = create(admin, "ann").token_id, create(admin).token_id

    assert {shared, own} <= set(owned_by(admin))
    assert shared in owned_by(ann)
    assert own not in owned_by(ann)
    assert shared in owned_by(ann, "admin")
    assert shared in owned_by(ann, "ann"), "who may renew it is asked for, too"
    assert shared not in owned_by(ann, "bob")
