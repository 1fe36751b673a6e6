"""The two clocks."""

import time

import pytest

from klamm.base.clock import Clock, Now, SystemClock
from klamm.testing.clock import ManualClock


def test_system_clock_tells_milliseconds_since_1970():
    before = int(time.time() * 1000)

    now = SystemClock().wall()

    assert before - 1 <= now <= int(time.time() * 1000) + 1


def test_manual_clock_stands_still_until_it_is_moved():
    clock = ManualClock(100)

    assert (clock.now(), clock.now()) == (Now(100, 100), Now(100, 100))
    assert clock.advance(50) == 150
    assert clock.now() == Now(150, 150)


def test_manual_clock_can_be_set_back_but_not_advanced_back():
    clock = ManualClock(100)
    clock.set_to(40)

    assert clock.now() == Now(monotonic=100, wall=40)
    with pytest.raises(AssertionError):
        clock.advance(-1)


def test_both_are_clocks():
    clocks: list[Clock] = [SystemClock(), ManualClock()]

    for clock in clocks:
        now = clock.now()
        assert now.wall <= clock.wall()
        assert now.monotonic <= clock.monotonic()
