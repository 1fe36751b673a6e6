"""`python -m examples.cluster STORY`: plays a story and tells it step by step, with the seconds since its beginning."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Callable, Sequence

from examples.cluster import acks, growing, leader_dies, nobody_in_sync, zombie
from examples.cluster.scene import Broken
from klamm.cli.output import CommandError

_MODULES = (leader_dies, nobody_in_sync, zombie, growing, acks)
STORIES: dict[str, Callable[[], None]] = {
    module.__name__.rpartition(".")[2].replace("_", "-"): module.play for module in _MODULES
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m examples.cluster",
        description="Stories about brokers that die, sleep, come and go.",
        epilog="\n\n".join(f"{name}\n{_shown(name)}" for name in STORIES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("story", choices=[*STORIES, "all"], help="which of them, or all")
    wanted = parser.parse_args(arguments).story
    return max(_play(name) for name in (STORIES if wanted == "all" else (wanted,)))


def _play(name: str) -> int:
    print(f"\n{name}\n{_shown(name)}\n", flush=True)
    try:
        STORIES[name]()
    except (Broken, CommandError) as failure:
        print(f"examples.cluster {name}: {failure}", file=sys.stderr)
        return 1
    return 0


def _shown(name: str) -> str:
    text = inspect.getdoc(inspect.getmodule(STORIES[name])) or ""
    return textwrap.indent(textwrap.fill(text, 100), "  ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
