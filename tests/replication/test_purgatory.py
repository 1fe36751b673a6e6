from klamm.replication.purgatory import Purgatory


def a_waiting_room() -> Purgatory[str]:
    waiting: Purgatory[str] = Purgatory()
    waiting.park("ann", [("t", 0), ("t", 1)], deadline=100)
    waiting.park("bob", [("t", 1)], deadline=50)
    return waiting


def test_a_change_touches_those_who_wait_there_in_order_of_arrival() -> None:
    waiting = a_waiting_room()

    assert waiting.touched(("t", 1)) == ("ann", "bob")
    assert waiting.touched(("t", 0)) == ("ann",)
    assert waiting.touched(("u", 0)) == ()


def test_one_who_is_done_is_found_nowhere() -> None:
    waiting = a_waiting_room()

    waiting.done("ann")

    assert waiting.touched(("t", 0)) == ()
    assert waiting.touched(("t", 1)) == ("bob",)
    assert waiting.overdue(1000) == ["bob"]


def test_the_overdue_are_named_once() -> None:
    waiting = a_waiting_room()

    assert waiting.overdue(60) == ["bob"]
    assert waiting.overdue(60) == []
    waiting.done("bob")
    assert len(waiting) == 1
