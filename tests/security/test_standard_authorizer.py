"""StandardAuthorizer: rule by rule, against a naive model, and with very many rules."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klamm.base.acl import AclOperation as Op
from klamm.base.acl import AclPermission, AclResourceType, PatternType
from klamm.base.ids import Uuid
from klamm.base.principal import KafkaPrincipal
from klamm.metadata.image import AclImage
from klamm.security.acl.standard import StandardAuthorizer
from klamm.security.authorizer import Who

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

ANN = Who(KafkaPrincipal("User", "ann"), "10.1.2.3")
BOB = Who(KafkaPrincipal("User", "bob"), "10.1.2.3")


def acl(
    name: str = "orders",
    operation: Op = Op.READ,
    *,
    permission: AclPermission = ALLOW,
    pattern: PatternType = LITERAL,
    principal: str = "User:ann",
    host: str = "*",
    kind: AclResourceType = TOPIC,
) -> AclImage:
    return AclImage(kind, name, pattern, principal, host, operation, permission)


def authorizer(*acls: AclImage, **more: bool) -> StandardAuthorizer:
    made = StandardAuthorizer(("User:admin",), **more)
    made.follow({numbered(number): each for number, each in enumerate(acls)})
    return made


def numbered(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def test_what_no_rule_speaks_of_is_denied() -> None:
    assert not authorizer().authorize(ANN, Op.READ, TOPIC, "orders")


def test_what_no_rule_speaks_of_is_allowed_if_everyone_is() -> None:
    rules = authorizer(acl("orders"), allow_if_no_acl_found=True)

    assert rules.authorize(BOB, Op.READ, TOPIC, "payments")
    # One that speaks of the resource, though of another user, closes it to all others.
    assert not rules.authorize(BOB, Op.READ, TOPIC, "orders")


def test_a_super_user_may_do_what_is_denied_to_all() -> None:
    rules = authorizer(acl("*", Op.ALL, permission=DENY, principal="User:*"))

    assert rules.authorize(Who(KafkaPrincipal("User", "admin"), "::1"), Op.READ, TOPIC, "orders")
    assert not rules.authorize(ANN, Op.READ, TOPIC, "orders")


def test_a_super_user_is_one_by_type_and_name() -> None:
    assert not authorizer().authorize(
        Who(KafkaPrincipal("Group", "admin"), "::1"), Op.READ, TOPIC, "orders"
    )


@pytest.mark.parametrize("pattern", [LITERAL, PREFIXED])
def test_a_rule_that_denies_wins_over_any_that_allows(pattern: PatternType) -> None:
    name = "orders" if pattern == LITERAL else "ord"
    rules = authorizer(acl("orders"), acl("*"), acl(name, permission=DENY, pattern=pattern))

    assert not rules.authorize(ANN, Op.READ, TOPIC, "orders")


def test_a_prefix_covers_names_that_begin_with_it_and_no_others() -> None:
    rules = authorizer(acl("ord", pattern=PREFIXED))

    assert rules.authorize(ANN, Op.READ, TOPIC, "orders")
    assert rules.authorize(ANN, Op.READ, TOPIC, "ord")
    assert not rules.authorize(ANN, Op.READ, TOPIC, "or")
    assert not rules.authorize(ANN, Op.READ, GROUP, "orders")


def test_a_star_is_a_wildcard_as_a_literal_only() -> None:
    rules = authorizer(acl("*", pattern=PREFIXED, kind=GROUP))

    assert not rules.authorize(ANN, Op.READ, GROUP, "orders")
    assert rules.authorize(ANN, Op.READ, GROUP, "*rders")


@pytest.mark.parametrize("held", [Op.READ, Op.WRITE, Op.DELETE, Op.ALTER, Op.ALL])
def test_whoever_may_do_something_may_look(held: Op) -> None:
    assert authorizer(acl(operation=held)).authorize(ANN, Op.DESCRIBE, TOPIC, "orders")


def test_to_forbid_reading_does_not_forbid_to_look() -> None:
    rules = authorizer(acl(operation=Op.DESCRIBE), acl(permission=DENY))

    assert rules.authorize(ANN, Op.DESCRIBE, TOPIC, "orders")


def test_whoever_may_change_configs_may_read_them() -> None:
    rules = authorizer(acl(operation=Op.ALTER_CONFIGS))

    assert rules.authorize(ANN, Op.DESCRIBE_CONFIGS, TOPIC, "orders")
    assert not rules.authorize(ANN, Op.DESCRIBE, TOPIC, "orders")


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("10.1.2.3", True),
        ("10.1.2.4", False),
        ("10.1.0.0/16", True),
        ("10.2.0.0/16", False),
        ("2001:db8::/32", False),
        ("10.1.2.3/99", False),
        ("nonsense/8", False),
    ],
)
def test_a_rule_is_for_an_address_or_a_network(host: str, is_allowed: bool) -> None:
    assert authorizer(acl(host=host)).authorize(ANN, Op.READ, TOPIC, "orders") is is_allowed


def test_a_network_of_ipv6_covers_its_addresses_however_they_are_written() -> None:
    rules = authorizer(acl(host="2001:db8::/32"))
    ann = Who(ANN.principal, "2001:0db8:0:0:0:0:0:1")

    assert rules.authorize(ann, Op.READ, TOPIC, "orders")


def test_a_token_does_not_make_another_user() -> None:
    ann = Who(KafkaPrincipal("User", "ann", is_token=True), "::1")

    assert authorizer(acl()).authorize(ann, Op.READ, TOPIC, "orders")


def test_to_remove_a_rule_leaves_its_siblings() -> None:
    """CVE-2024-27309: with one of two rules of a resource removed, the other was lost; a denial among them."""
    rules = authorizer(acl(), acl(permission=DENY, principal="User:bob"), acl("*"))
    rules.follow({numbered(1): acl(permission=DENY, principal="User:bob"), numbered(2): acl("*")})

    assert rules.authorize(ANN, Op.READ, TOPIC, "orders")
    assert not rules.authorize(BOB, Op.READ, TOPIC, "orders")


def test_an_answer_may_be_kept_until_the_generation_changes() -> None:
    rules = authorizer(acl())
    before = rules.generation

    rules.follow({numbered(0): acl()})
    assert rules.generation == before
    rules.follow({})
    assert rules.generation != before


def test_writing_anywhere_is_enough_for_an_idempotent_producer() -> None:
    rules = authorizer(acl("orders", Op.WRITE))

    assert rules.authorize_by_resource_type(ANN, Op.WRITE, TOPIC)
    assert not rules.authorize_by_resource_type(BOB, Op.WRITE, TOPIC)


def test_a_permission_of_which_all_is_denied_is_none() -> None:
    allow = acl("orders", Op.WRITE)
    everywhere = acl("*", Op.WRITE, permission=DENY)
    shorter = acl("ord", Op.WRITE, permission=DENY, pattern=PREFIXED)
    other = acl("payments", Op.WRITE, permission=DENY)

    assert not authorizer(allow, everywhere).authorize_by_resource_type(ANN, Op.WRITE, TOPIC)
    assert not authorizer(allow, shorter).authorize_by_resource_type(ANN, Op.WRITE, TOPIC)
    assert authorizer(allow, other).authorize_by_resource_type(ANN, Op.WRITE, TOPIC)


def test_the_rule_that_decides_is_named() -> None:
    deny = acl(permission=DENY)

    assert authorizer(acl(), deny).explain(ANN, Op.READ, TOPIC, "orders").acl == deny
    assert "super user" in (
        authorizer().explain(Who(KafkaPrincipal("User", "admin"), ""), Op.READ, TOPIC, "x").reason
    )


# -- against a naive model ------------------------------------------------------------------------------------------

_names = st.sampled_from(["*", "a", "ab", "abc", "b", "ba"])
_hosts = st.sampled_from(["*", "10.0.0.1", "10.0.0.0/8", "11.0.0.0/8"])
_users = st.sampled_from(["User:ann", "User:bob", "User:*"])
_operations = st.sampled_from([Op.ALL, Op.READ, Op.WRITE, Op.DESCRIBE, Op.ALTER_CONFIGS])
_acls = st.builds(
    AclImage,
    st.sampled_from([TOPIC, GROUP]),
    _names,
    st.sampled_from([LITERAL, PREFIXED]),
    _users,
    _hosts,
    _operations,
    st.sampled_from([ALLOW, DENY]),
)
_changes = st.lists(st.tuples(st.integers(0, 12), st.none() | _acls), max_size=40)


def naive(acls: list[AclImage], user: str, operation: Op, kind: AclResourceType, name: str) -> bool:
    """Each rule is looked at, nothing is indexed. The host is 10.0.0.1."""
    looks = {Op.READ, Op.WRITE, Op.DELETE, Op.ALTER, Op.DESCRIBE}
    matching = []
    for each in acls:
        if each.resource_type != kind:
            continue
        if each.pattern_type == PREFIXED and not name.startswith(each.resource_name):
            continue
        if each.pattern_type == LITERAL and each.resource_name not in (name, "*"):
            continue
        if each.principal not in (user, "User:*") or each.host == "11.0.0.0/8":
            continue
        is_same = each.operation in (operation, Op.ALL)
        is_implied = each.permission_type == ALLOW and (
            (operation == Op.DESCRIBE and each.operation in looks)
            or (operation == Op.DESCRIBE_CONFIGS and each.operation == Op.ALTER_CONFIGS)
        )
        if is_same or is_implied:
            matching.append(each.permission_type)
    return ALLOW in matching and DENY not in matching


@settings(max_examples=300, deadline=None)
@given(_changes)
def test_it_decides_as_a_naive_model_whatever_was_added_and_removed(
    changes: list[tuple[int, AclImage | None]],
) -> None:
    rules = StandardAuthorizer()
    held: dict[Uuid, AclImage] = {}
    for number, change in changes:
        if change is None:
            held.pop(numbered(number), None)
        else:
            held[numbered(number)] = change
        rules.follow(dict(held))

    assert len(rules.index) == len(held)
    for user in ("ann", "bob"):
        who = Who(KafkaPrincipal("User", user), "10.0.0.1")
        for operation in (Op.READ, Op.WRITE, Op.DESCRIBE, Op.DESCRIBE_CONFIGS, Op.DELETE):
            for kind in (TOPIC, GROUP):
                for name in ("a", "ab", "abcd", "b", "c", "*"):
                    expected = naive(list(held.values()), f"User:{user}", operation, kind, name)
                    assert rules.authorize(who, operation, kind, name) is expected


def test_ten_thousand_rules_cost_hardly_more_than_one() -> None:
    many = [acl(f"topic-{number}", pattern=PREFIXED) for number in range(5_000)]
    many += [acl(f"literal-{number}") for number in range(5_000)]
    rules = authorizer(*many)

    began = perf_counter()
    for _ in range(1_000):
        assert rules.authorize(ANN, Op.READ, TOPIC, "topic-4711-of-mine")
    # Some microseconds each; to look at all rules would take a second for a few hundred.
    assert perf_counter() - began < 1.0
