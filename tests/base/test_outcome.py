"""Outcome is a fact: it compares by value, cannot be changed, and by default says that nothing happened."""

from dataclasses import FrozenInstanceError

import pytest

from klamm.base.outcome import Outcome


def test_nothing_happened_unless_it_is_said():
    assert Outcome() == Outcome(records=(), replies=())


def test_outcome_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Outcome(records=("record",)).records = ()  # type: ignore[misc]
