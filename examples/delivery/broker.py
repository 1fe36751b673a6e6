"""A klamm of the experiment's own, in memory, on a free port."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

# Nobody else comes: the first round of a group need not wait for more members.
_SETTINGS = ("group.initial.rebalance.delay.ms=0",)


class Unready(Exception):
    """It did not start."""


@asynccontextmanager
async def running_klamm() -> AsyncIterator[str]:
    """Its address. It is gone, with its data, at the end."""
    command = [str(Path(sys.executable).with_name("klamm")), "serve", "--memory", "--port", "0"]
    for setting in _SETTINGS:
        command += ["--set", setting]
    process = await asyncio.create_subprocess_exec(
        *command, "--json", "--log-level", "error", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            raise Unready(f"klamm ended with {await process.wait()}")
        yield str(json.loads(line)["address"])
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
