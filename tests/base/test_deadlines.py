"""Keyed alarms."""

from hypothesis import given
from hypothesis import strategies as st

from klamm.base.deadlines import Deadlines


def deadlines_at(**times: int) -> Deadlines[str]:
    deadlines: Deadlines[str] = Deadlines()
    for key, at in times.items():
        deadlines.set(key, at)
    return deadlines


def test_nothing_is_next_when_nothing_is_set():
    deadlines = deadlines_at()

    assert deadlines.next is None
    assert deadlines.due(now=10**15) == []


def test_earliest_is_next():
    assert deadlines_at(late=30, early=10, middle=20).next == 10


def test_due_are_taken_out_earliest_first():
    deadlines = deadlines_at(late=30, early=10, middle=20)

    assert deadlines.due(now=20) == ["early", "middle"]
    assert deadlines.due(now=20) == []
    assert deadlines.next == 30


def test_equal_times_fire_in_the_order_they_were_set():
    deadlines = deadlines_at(zoe=5, ann=5, bob=5)

    assert deadlines.due(now=5) == ["zoe", "ann", "bob"]


def test_setting_again_moves_the_alarm_to_the_end_of_its_time():
    deadlines = deadlines_at(a=5, b=5, c=9)

    deadlines.set("a", 5)
    deadlines.set("c", 1)

    assert deadlines.due(now=9) == ["c", "b", "a"]


def test_moved_alarm_does_not_fire_at_its_old_time():
    deadlines = deadlines_at(session=10)

    deadlines.set("session", 50)

    assert deadlines.next == 50
    assert deadlines.due(now=49) == []
    assert deadlines.due(now=50) == ["session"]


def test_cancelled_alarm_never_fires():
    deadlines = deadlines_at(a=1, b=2)

    deadlines.cancel("a")

    assert deadlines.next == 2
    assert deadlines.due(now=9) == ["b"]


def test_cancelling_what_is_not_set_is_fine():
    deadlines = deadlines_at(a=1)

    deadlines.cancel("b")
    deadlines.due(now=1)
    deadlines.cancel("a")

    assert len(deadlines) == 0


def test_alarm_can_be_set_again_after_it_fired_or_was_cancelled():
    deadlines = deadlines_at(a=1)
    deadlines.due(now=1)
    deadlines.set("a", 1)
    deadlines.cancel("a")
    deadlines.set("a", 1)

    assert deadlines.due(now=1) == ["a"]
    assert deadlines.due(now=1) == []


def test_keys_need_no_order():
    deadlines: Deadlines[object] = Deadlines()
    deadlines.set(("group", 1), 5)
    deadlines.set("session", 5)

    assert deadlines.due(now=5) == [("group", 1), "session"]


def test_time_of_a_key_can_be_asked():
    deadlines = deadlines_at(a=7)

    assert deadlines.at("a") == 7
    assert deadlines.at("b") is None
    assert "a" in deadlines
    assert "b" not in deadlines


def test_alarm_that_is_moved_for_ever_does_not_grow_the_heap():
    deadlines = deadlines_at(session=0)

    for now in range(10_000):
        deadlines.set("session", now + 45_000)

    assert len(deadlines._heap) < 100


class NaiveDeadlines:
    """The same by sorting everything each time."""

    def __init__(self) -> None:
        self.alarms: dict[int, int] = {}

    def set(self, key: int, at: int) -> None:
        self.alarms.pop(key, None)
        self.alarms[key] = at

    def cancel(self, key: int) -> None:
        self.alarms.pop(key, None)

    @property
    def next(self) -> int | None:
        return min(self.alarms.values(), default=None)

    def due(self, now: int) -> list[int]:
        keys = sorted(
            (k for k, at in self.alarms.items() if at <= now), key=self.alarms.__getitem__
        )
        for key in keys:
            del self.alarms[key]
        return keys


KEYS, TIMES = st.integers(0, 9), st.integers(0, 20)
STEPS = st.one_of(
    st.tuples(st.just("set"), KEYS, TIMES),
    st.tuples(st.just("cancel"), KEYS),
    st.tuples(st.just("due"), TIMES),
)


@given(steps=st.lists(STEPS, max_size=300))
def test_any_steps_give_what_the_naive_twin_gives(steps):
    deadlines: Deadlines[int] = Deadlines()
    twin = NaiveDeadlines()

    for name, *arguments in steps:
        answers = [getattr(machine, name)(*arguments) for machine in (deadlines, twin)]

        assert answers[0] == answers[1]
        assert deadlines.next == twin.next
        assert len(deadlines) == len(twin.alarms)
