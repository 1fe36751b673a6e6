"""Lives of a consumer: it is started, and killed with -9 at a point of its loop or at any moment, again and again."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.delivery.job import KILL_VARIABLE, WORKING, Job, Point

ROOT = Path(__file__).parents[2]
# Far more than a life takes: past it something is broken.
PATIENCE_SECONDS = 60.0
# Of records that go well before the killing, and of time where no point is named.
_MOST_PASSES = 4
_MOST_SECONDS = 0.02


class Misbehaved(Exception):
    """A consumer did something else than work, end when all was done, or die by our hand."""


@dataclass(frozen=True, slots=True)
class Kill:
    """At a point that is passed a few times before; without a point, so long after the first record came."""

    point: Point | None
    passes: int = 0
    seconds: float = 0.0


def plan(points: Sequence[Point], kills: int, chance: random.Random) -> list[Kill]:
    """Two of three at points, each in its turn; then the others, at any moment."""
    at_points = kills - kills // 3
    return [
        *(
            Kill(points[number % len(points)], passes=chance.randint(0, _MOST_PASSES))
            for number in range(at_points)
        ),
        *(Kill(None, seconds=chance.uniform(0, _MOST_SECONDS)) for _ in range(kills - at_points)),
    ]


async def live(module: str, job: Job, kill: Kill | None) -> bool:
    """One life. Was it killed? If not it has come to the end of its job."""
    environment = dict(os.environ)
    if kill is not None and kill.point is not None:
        environment[KILL_VARIABLE] = f"{kill.point.name}:{kill.passes}"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", module, *job.as_arguments()),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            if kill is not None and await _has_come(process, kill):
                process.send_signal(signal.SIGKILL)
            code = await process.wait()
    except TimeoutError:
        raise Misbehaved(f"{module} did nothing for {PATIENCE_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code not in (0, -signal.SIGKILL):
        raise Misbehaved(f"{module} ended with {code}")
    return code != 0


async def _has_come(process: asyncio.subprocess.Process, kill: Kill) -> bool:
    """The moment to kill it; False if it ended before."""
    assert process.stdout is not None
    if (await process.stdout.readline()).decode().strip() != WORKING:
        return False
    if kill.point is None:
        await asyncio.sleep(kill.seconds)
        return True
    return (await process.stdout.readline()).decode().strip() == kill.point.name
