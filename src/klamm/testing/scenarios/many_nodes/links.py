"""Faults of the network."""

from __future__ import annotations

import asyncio
from random import Random

from klamm.testing.scenarios.many_nodes.trouble import Trouble


def _names(trouble: Trouble) -> list[str]:
    return [trouble.cluster.name_of(each) for each in trouble.cluster.ids]


async def cut(trouble: Trouble, rng: Random) -> None:
    """Some nodes, and some clients, from the rest."""
    names = trouble.simulation.names()
    some = rng.sample(names, rng.randint(1, max(1, len(names) // 2)))
    others = [name for name in names if name not in some]
    await _cut_off(trouble, rng, some, others, both=True)


async def cut_one_way(trouble: Trouble, rng: Random) -> None:
    names = _names(trouble)
    one = rng.choice(names)
    others = [name for name in names if name != one]
    ways = ([one], others) if rng.random() < 0.5 else (others, [one])
    await _cut_off(trouble, rng, *ways, both=False)


async def _cut_off(
    trouble: Trouble, rng: Random, some: list[str], others: list[str], *, both: bool
) -> None:
    seconds = rng.choice((1, 5, 20))
    way = "and" if both else "to"
    trouble.tell(f"for {seconds} s nothing gets from {_list(some)} {way} {_list(others)}")
    made = trouble.simulation.network.cut(some, others, both=both)
    await asyncio.sleep(seconds)
    trouble.simulation.network.heal(made)


async def cut_ring(trouble: Trouble, rng: Random) -> None:
    """Each node sees a majority, and no two see the same one."""
    names = _names(trouble)
    seconds = rng.choice((2, 10, 20))
    trouble.tell(f"for {seconds} s each node sees a majority, no two the same")
    cuts = []
    for place, name in enumerate(names):
        opposite = names[(place + len(names) // 2) % len(names)]
        if opposite != name:
            cuts.append(trouble.simulation.network.cut([name], [opposite]))
    await asyncio.sleep(seconds)
    for made in cuts:
        trouble.simulation.network.heal(made)


async def reset(trouble: Trouble, rng: Random) -> None:
    """Once, or again and again: who asks again and again is answered twice by who does not know it again."""
    name, times = rng.choice(_names(trouble)), rng.choice((1, 5, 25))
    trouble.tell(f"all connections of {name} are reset, {times} times")
    for _ in range(times):
        trouble.simulation.network.reset_connections(name)
        await asyncio.sleep(rng.expovariate(4))


async def lossy(trouble: Trouble, rng: Random) -> None:
    """Everywhere: packets are lost and sent again, or are long on their way."""
    weather = trouble.simulation.network.weather
    weather.loss, weather.latency = rng.choice(((0.1, 0.0005), (0.0, 0.05), (0.02, 0.005)))
    trouble.tell(f"the network loses {weather.loss:.0%} and takes {weather.latency * 1000:g} ms")
    await asyncio.sleep(rng.choice((5, 20, 60)))
    weather.loss, weather.latency = 0.0, 0.000_5


async def slow_node(trouble: Trouble, rng: Random) -> None:
    """One that is far away for a while."""
    name, seconds = rng.choice(_names(trouble)), rng.choice((0.02, 0.2, 1.0))
    slow = trouble.simulation.network.slow_hosts
    trouble.tell(f"{name} is {seconds * 1000:g} ms further away")
    slow[name] = seconds
    await asyncio.sleep(rng.choice((3, 10, 20)))
    slow.pop(name, None)


def _list(names: list[str]) -> str:
    return ", ".join(names)
