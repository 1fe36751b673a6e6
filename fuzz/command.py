"""`python -m fuzz`: which targets, by which fuzzer, for how long."""

import argparse
import logging
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from fuzz import guided, mutation
from fuzz.targets import TARGETS


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    # What a broker tells its operator about bad clients is not what we look for.
    logging.getLogger("klamm").setLevel(logging.ERROR)
    if options.replay is not None:
        (name,) = options.target or ("requests",)
        return 0 if _replay(name, options.replay) else 1
    names = options.target or list(TARGETS)
    seconds = max(1, options.seconds // len(names))
    is_guided = options.engine == "atheris" or (options.engine == "auto" and guided.is_available())
    with tempfile.TemporaryDirectory(prefix="klamm-fuzz-") as temporary:
        corpus = options.corpus or Path(temporary)
        found = [
            name
            for name in names
            if not (
                guided.fuzz(name, seconds, corpus / name)
                if is_guided
                else _mutate(name, seconds, options.seed)
            )
        ]
    print("findings: " + ", ".join(found) if found else "nothing found")
    return 1 if found else 0


def _mutate(name: str, seconds: int, seed: int) -> bool:
    tried, found = mutation.fuzz(TARGETS[name], seed=seed, seconds=seconds)
    print(f"{name}: {tried} inputs", flush=True)
    if found is None:
        return True
    traceback.print_exception(found.problem)
    path = Path(tempfile.gettempdir()) / f"klamm-finding-{name}"
    path.write_bytes(found.data)
    print(
        f"again: python -m fuzz --target {name} --replay {path}",
        file=sys.stderr,
    )
    return False


def _replay(name: str, path: Path) -> bool:
    target = TARGETS[name]
    try:
        target.check(path.read_bytes())
    finally:
        target.close()
    print("nothing found")
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together [60]")
    parser.add_argument(
        "--target", action="append", choices=list(TARGETS), help="one of them; repeatable [all]"
    )
    parser.add_argument(
        "--engine",
        choices=("auto", "atheris", "mutation"),
        default="auto",
        help="atheris looks at coverage; auto takes it if it is installed [auto]",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the mutations [1]")
    parser.add_argument("--corpus", type=Path, help="keep atheris's inputs here")
    parser.add_argument("--replay", type=Path, help="run one input, with --target")
    return parser
