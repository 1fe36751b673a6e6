"""klamm group lag."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from cli.commands import Klamm
from cli.group.words import lag_of

KLAMM = str(Path(sys.executable).with_name("klamm"))


def test_lag_is_what_is_left_to_read(ask: Klamm, group: str) -> None:
    assert lag_of(ask, group) == {0: (3, 10, 7)}


def test_a_watch_looks_again_until_it_is_stopped(broker: str, ask: Klamm, group: str) -> None:
    words = (KLAMM, "group", "lag", group, "-w", "-i", "0.1", "-b", broker)
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        text=True,
        # Whoever runs tests in the background of a script has SIGINT ignored in all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as watch:
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["lag"] == 7
        ask("group", "reset-offsets", group, "--all-topics", "--to-latest", "--execute")

        for line in watch.stdout:
            if json.loads(line)["lag"] == 0:
                break
        watch.send_signal(signal.SIGINT)

        assert watch.wait(timeout=20) == 0
