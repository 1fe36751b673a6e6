"""The stories of examples/cluster: each keeps what it promises, and tells its steps."""

import re

import pytest
from examples.cluster.__main__ import STORIES, main
from examples.cluster.clients import spans

# What is said where the story turns, and at its end.
TURNS = {
    "leader-dies": ("the next record is acknowledged already; broker", "read back: 200 records"),
    "nobody-in-sync": ("lost although acknowledged: 10-19", "It has 0-19; nothing is lost"),
    "zombie": ("20 more acknowledged by the new leader", "read back: 60 records"),
    "growing": ("$ klamm cluster reassign orders --to 4,3 --wait", "each once, in order"),
    "acks": (
        "acks=1   lost although acknowledged: 10-14",
        "acks=all lost although acknowledged: none",
    ),
}


@pytest.mark.cluster
@pytest.mark.parametrize("story", STORIES)
def test_the_story_comes_to_its_end(story: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = main([story])

    told, complaints = capfd.readouterr()
    assert (code, complaints) == (0, "")
    turn, end = TURNS[story]
    assert turn in told
    assert end in told.splitlines()[-1]
    assert re.search(r"^ +\d+\.\d s  ", told, re.MULTILINE)


def test_numbers_are_told_as_people_write_them() -> None:
    assert spans({0, 1, 2, 5, 7, 8}) == "0-2, 5, 7-8"
    assert spans(set()) == "none"
