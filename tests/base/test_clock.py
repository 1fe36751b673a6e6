"""The two clocks."""

import time

import pytest

from klamm.base.clock import Clock, SystemClock
from klamm.testing.clock import ManualClock


def test_system_clock_tells_milliseconds_since_1970():
    before = int(time.time() * 1000)

    now = SystemClock().now()

    assert before - 1 <= now <= int(time.time() * 1000) + 1


def test_manual_clock_stands_still_until_it_is_moved():
    clock = ManualClock(100)

    assert (clock.now(), clock.now()) == (100, 100)
    assert clock.advance(50) == 150
    assert clock.now() == 150


def test_manual_clock_can_be_set_back_but_not_advanced_back():
    clock = ManualClock(100)
    clock.set_to(40)

    assert clock.now() == 40
    with pytest.raises(AssertionError):
        clock.advance(-1)


def test_both_are_clocks():
    clocks: list[Clock] = [SystemClock(), ManualClock()]

    assert all(isinstance(clock.now(), int) for clock in clocks)
