"""`broker.faults`: what a test lets go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypedDict, Unpack

from klamm.base.errors import ApiError, ErrorCode
from klamm.client import Admin
from klamm.testing.kit.client import administer
from klamm.testing.kit.faults.rules import Action, Rule, api_named, code_named

# A method of the rig, by its name.
Call = Callable[..., Any]
_CONSUMER = "consumer"


class Fault:
    """At work from the call that made it until `remove`, the end of its `with`, a reset, or as often as was asked for."""

    def __init__(self, call: Call, rule: Rule) -> None:
        self._call = call
        self._rule = rule
        self._number = call("add_fault", rule)

    @property
    def count(self) -> int:
        """How often it struck."""
        return int(self._call("fault_count", self._number))

    def assert_injected(self, times: int | None = None) -> None:
        """That often, or at least once; without a number a fault of `times` must have struck that often."""
        count, wanted = self.count, self._rule.times if times is None else times
        if count == 0 or (wanted is not None and count != wanted):
            told = "at least once" if wanted is None else f"{wanted} times"
            raise AssertionError(f"{self._rule} should have struck {told}, it did {count} times")

    def remove(self) -> None:
        self._call("remove_fault", self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Whom(TypedDict, total=False):
    """Who and what it is for, and how often."""

    client_id: str
    topic: str
    partition: int
    group: str
    times: int


class Faults:
    """Each takes an API by its name (PRODUCE, Fetch), None for all, and whom it is for: a client id, topic, partition, group.

    The kit's own client is spared.
    """

    def __init__(self, call: Call, bootstrap_servers: Callable[[], str]) -> None:
        self._call = call
        self._bootstrap_servers = bootstrap_servers

    # Requests.

    def error(self, api: str, code: str | ErrorCode, **whom: Unpack[Whom]) -> Fault:
        """The request is refused with this code, by its name, and has no other effect."""
        return self._add(Action.ERROR, api, code=code_named(code), **whom)

    def delay(self, api: str | None, seconds: float, **whom: Unpack[Whom]) -> Fault:
        """The request is looked at that much later, and so is what comes behind it on its connection."""
        return self._add(Action.DELAY, api, seconds=seconds, **whom)

    def drop(self, api: str | None, *, after: bool = False, **whom: Unpack[Whom]) -> Fault:
        """No answer, ever, on that connection; `after`: the request is done, only the answer is lost."""
        return self._add(Action.DROP, api, after=after, **whom)

    def disconnect(self, api: str | None, *, after: bool = False, **whom: Unpack[Whom]) -> Fault:
        """The connection is closed instead of an answer; `after`: when the request is done."""
        return self._add(Action.DISCONNECT, api, after=after, **whom)

    def throttle(self, api: str, seconds: float, **whom: Unpack[Whom]) -> Fault:
        """The answer tells the client to wait, as quotas do."""
        return self._add(Action.THROTTLE, api, seconds=seconds, **whom)

    # The disk.

    def full_disk(
        self, *, topic: str | None = None, partition: int | None = None, times: int | None = None
    ) -> Fault:
        """Writes to logs fail; the broker takes their directory offline until a restart."""
        return self._add(Action.FULL_DISK, None, times=times, topic=topic, partition=partition)

    def torn_write(
        self, *, topic: str | None = None, partition: int | None = None, times: int = 1
    ) -> Fault:
        """Half of a write reaches the log and the disk fails: what a restart has to mend."""
        return self._add(Action.TORN_WRITE, None, times=times, topic=topic, partition=partition)

    # What others would do to a client. These happen once, now.

    def rebalance(self, group: str) -> None:
        """All members are put out of the group, and have to join again."""
        left = administer(self._bootstrap_servers(), lambda admin: _put_out(admin, group))
        if left:
            fenced = ErrorCode.FENCED_MEMBER_EPOCH
            self.error("CONSUMER_GROUP_HEARTBEAT", fenced, group=group, times=left)

    def fence(self, transactional_id: str) -> None:
        """Another producer takes over this transactional id: the one that has it is fenced."""
        administer(
            self._bootstrap_servers(), lambda admin: admin.transactions.fence(transactional_id)
        )

    # What there was.

    def counts(self) -> list[tuple[str, int]]:
        """Each fault in words, and how often it struck."""
        return list(self._call("fault_counts"))

    def clear(self) -> None:
        """None is at work any more; what they did can still be asked for."""
        self._call("clear_faults")

    def _add(self, action: Action, api: str | None, **facts: Any) -> Fault:
        # A Topic has more in it than its name.
        plain: dict[str, Any] = {
            name: str(each) if isinstance(each, str) else each for name, each in facts.items()
        }
        rule = Rule(action=action, api=None if api is None else api_named(api), **plain)
        return Fault(self._call, rule)


async def _put_out(admin: Admin, group: str) -> int:
    """How many are left: those of a group that the broker balances (KIP-848) go only when they hear it themselves."""
    found = await admin.groups.describe(group)
    if not found.members:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group} has no members")
    if found.kind == _CONSUMER:
        return len(found.members)
    await admin.groups.remove_members(group, member_ids=[each.member_id for each in found.members])
    return 0
