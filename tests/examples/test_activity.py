"""examples/activity: what plain Python makes of the clicks. test_commands.py runs the pipeline and compares."""

from datetime import timedelta

from examples.activity.clicks import EVENING, Click, visits_of


def click(user: str, minute: int, page: str = "/") -> Click:
    return Click(user, page, 10, EVENING + timedelta(minutes=minute))


def test_visits_end_after_ten_minutes_of_silence_and_open_ones_are_left_out() -> None:
    own = [
        click("ann", 0, "/"),
        click("ann", 9, "/cart"),
        click("ann", 20, "/pay"),  # eleven minutes later: another visit
        click("bob", 30),  # no other click comes, but one may
        click("eve", 32),  # the latest: what ended by minute 31 is over
    ]

    visits = visits_of(own)

    assert [(v["user"], v["clicks"], v["first_page"], v["last_page"]) for v in visits] == [
        ("ann", 2, "/", "/cart"),
        ("ann", 1, "/pay", "/pay"),
    ]
    assert visits[0]["began"] == EVENING
    assert visits[0]["ended"] == EVENING + timedelta(minutes=9)
