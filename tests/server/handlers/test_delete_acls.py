"""DeleteAcls: filters take away what they match, and nothing beside it."""

from klamm.base.acl import AclPermission, PatternType
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_acls import CreateAclsRequest
from klamm.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from server.handlers.acls import a_rule, anything, names_in
from server.wire_client import WireClient


def test_without_an_authorizer_there_are_no_rules(client: WireClient) -> None:
    wanted = DeleteAclsFilter(**anything())
    (result,) = client.ask(DeleteAclsRequest(filters=[wanted])).filter_results

    assert result.error_code == ErrorCode.SECURITY_DISABLED


def test_what_a_filter_matches_is_gone_and_told(ruler: WireClient, new_name: str) -> None:
    rules = [
        a_rule(new_name),
        a_rule(new_name, permission_type=AclPermission.DENY, principal="User:bob"),
        a_rule(f"{new_name}-other"),
    ]
    ruler.ask(CreateAclsRequest(creations=rules))
    wanted = DeleteAclsFilter(**anything(new_name, principal_filter="User:ann"))

    (result,) = ruler.ask(DeleteAclsRequest(filters=[wanted])).filter_results

    assert result.error_code == ErrorCode.NONE
    assert [acl.principal for acl in result.matching_acls] == ["User:ann"]
    # CVE-2024-27309: the sibling of a rule that went must stay.
    assert names_in(ruler, name=new_name, permission_type=AclPermission.DENY) == {
        (new_name, PatternType.LITERAL)
    }
    assert names_in(ruler, name=f"{new_name}-other")


def test_a_filter_of_numbers_that_mean_nothing_is_refused(ruler: WireClient) -> None:
    wanted = DeleteAclsFilter(**anything(operation=99))

    (result,) = ruler.ask(DeleteAclsRequest(filters=[wanted])).filter_results

    assert result.error_code == ErrorCode.INVALID_REQUEST
