"""`python -m examples.delivery`: kill consumers, and show in a table what was lost and what was repeated."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from rich import box
from rich.console import Console
from rich.table import Table

from examples.delivery.broker import running_klamm
from examples.delivery.experiment import Tally, run_all


async def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.delivery", description=__doc__)
    parser.add_argument("--kills", type=int, default=6, help="of each consumer [default: 6]")
    parser.add_argument("--seed", type=int, default=1, help="of the moments to kill [default: 1]")
    parser.add_argument("--bootstrap", help="HOST:PORT of any Kafka, instead of a klamm of its own")
    options = parser.parse_args(arguments)
    place = nullcontext(options.bootstrap) if options.bootstrap else running_klamm()
    async with place as bootstrap:
        tallies = await run_all(bootstrap, kills=options.kills, seed=options.seed)
    Console().print(table_of(tallies))
    return 0 if all(tally.is_as_promised for tally in tallies) else 1


def table_of(tallies: Sequence[Tally]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
    for heading in ("semantics", "client"):
        table.add_column(heading, no_wrap=True)
    for heading in ("orders", "killed", "lost", "repeated", "hidden", "kept"):
        table.add_column(heading, justify="right")
    for tally in tallies:
        counts = (tally.orders, len(tally.killed), tally.lost, tally.repeated, tally.hidden)
        table.add_row(
            tally.semantics.value,
            tally.client,
            *map(str, counts),
            "yes" if tally.is_as_promised else "NO",
        )
    return table


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
