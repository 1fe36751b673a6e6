"""klamm protocol list and show."""

from cli.commands import Klamm


def test_list_has_every_api_with_its_versions(klamm: Klamm) -> None:
    rows = klamm("protocol", "list").rows

    heartbeat = next(row for row in rows if row["api"] == "Heartbeat")
    assert (heartbeat["key"], heartbeat["lowest"], heartbeat["highest"]) == (12, 0, 4)


def test_show_prints_python_for_both_ways(klamm: Klamm) -> None:
    text = klamm("protocol", "show", "HeartbeatRequest", "3").text

    compile(text, "shown", "exec")
    assert "def encode(" in text
    assert "def decode(" in text


def test_show_can_print_one_way(klamm: Klamm) -> None:
    assert "def encode(" not in klamm("protocol", "show", "ResponseHeader", "1", "--decode").text


def test_unknown_message_suggests_the_nearest(klamm: Klamm) -> None:
    answer = klamm("protocol", "show", "HartbeatRequest", "3")

    assert answer.code == 2
    assert "HeartbeatRequest" in answer.err


def test_unknown_version_says_which_there_are(klamm: Klamm) -> None:
    answer = klamm("protocol", "show", "HeartbeatRequest", "9")

    assert answer.code == 2
    assert "0-4" in answer.err
