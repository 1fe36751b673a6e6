"""`klamm pipeline reset`: progress that is forgotten, on a real cluster."""

from pathlib import Path

from cli.commands import Klamm
from klamm.pipeline.running import registry
from klamm.pipeline.spec import Edge


def test_reset_shows_what_it_would_forget(
    ask: Klamm, name: str, file: str, checkpoint: Path
) -> None:
    answer = ask("reset", file)

    assert [(row["what"], row["name"], row["forgotten"]) for row in answer.rows] == [
        ("group", f"pipeline.{name}", False),
        ("checkpoint", str(checkpoint / "landed.orders"), False),
        ("checkpoint", str(checkpoint / "topic.out"), False),
    ]
    assert (checkpoint / "topic.out").is_dir()
    assert ask("lag", file).code == 0


def test_reset_forgets_the_checkpoint_and_the_group_and_nothing_else(
    ask: Klamm, name: str, file: str, checkpoint: Path
) -> None:
    registry.set_start_override(name, Edge.EARLIEST)

    answer = ask("reset", file, "--execute")

    assert answer.code == 0
    assert sorted(each.name for each in checkpoint.iterdir() if each.is_dir()) == ["notes"]
    assert registry.start_override(name) is None
    assert "has not processed anything yet" in ask("lag", file).err


def test_reset_is_done_twice_without_complaint(ask: Klamm, file: str, checkpoint: Path) -> None:
    assert ask("reset", file, "--execute").code == 0
    assert ask("reset", file, "--execute").code == 0
