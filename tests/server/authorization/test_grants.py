"""What is kept of an authorizer's answers."""

from klamm.base.principal import ANONYMOUS
from klamm.security.acl.standard import StandardAuthorizer
from klamm.server.authorization.grants import Grants
from klamm.server.authorization.rights import READ_TOPIC


def test_a_name_that_nothing_can_have_is_not_kept() -> None:
    grants = Grants(StandardAuthorizer(), ANONYMOUS, "127.0.0.1")

    assert not grants.has(READ_TOPIC, "t")
    assert not grants.has(READ_TOPIC, "x" * 30_000)

    assert list(grants.known) == [(READ_TOPIC.code, "t")]
