"""What is kept beside the checkpoint of each query, and what Spark's own files there tell. No Spark.

Spark wants the folder of a new query to be empty, so klamm's files lie in a folder of their own, one for each query.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from klamm.pipeline.identity.definition import Definition
from klamm.pipeline.identity.rules import Identity, from_plain, to_plain

# A sink's name cannot begin with a dot, so no query's folder has this name.
OWN_FOLDER = ".klamm"
_SWAP = ".swap"


class Files(Protocol):
    """The folder of the checkpoint, on whatever file system."""

    def names(self, below: str = "") -> list[str]: ...
    def read_text(self, below: str) -> str: ...
    def write_text(self, below: str, text: str) -> None: ...
    def remove(self, below: str) -> None: ...


class LocalFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, below: str = "") -> list[str]:
        """What lies in it, sorted; nothing if it is not there."""
        try:
            return sorted(each.name for each in (self._root / below).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read_text(self, below: str) -> str:
        return (self._root / below).read_text()

    def write_text(self, below: str, text: str) -> None:
        """A reader sees the old file or the new one."""
        path = self._root / below
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        with open(unfinished, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)

    def remove(self, below: str) -> None:
        path = self._root / below
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """What was known when the query last ran."""

    identity: Identity
    # None where klamm did not keep it yet.
    definition: Definition | None = None


def read_kept(files: Files, query: str) -> Kept | None:
    """None for a query that never ran, or ran before anything was kept."""
    if f"{query}.json" not in files.names(OWN_FOLDER):
        return None
    try:
        facts = json.loads(files.read_text(kept_file(query)))
        definition = facts.get("definition")
        return Kept(from_plain(facts), Definition(**definition) if definition else None)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None  # Of another version, or cut off where files are not replaced at once.


def write_kept(files: Files, query: str, kept: Kept) -> None:
    definition = None if kept.definition is None else asdict(kept.definition)
    files.write_text(
        kept_file(query), json.dumps({**to_plain(kept.identity), "definition": definition})
    )


def forget_query(files: Files, query: str) -> None:
    files.remove(query)
    files.remove(kept_file(query))


def forget_batches(files: Files, query: str) -> None:
    """All but where the query starts. It gets another id: what it writes now is no repetition of what it wrote before."""
    for part in ("offsets", "commits", "state", ".metadata.crc"):
        files.remove(f"{query}/{part}")
    files.write_text(f"{query}/metadata", json.dumps({"id": str(uuid4())}))


def kept_queries(files: Files) -> list[str]:
    names = files.names(OWN_FOLDER)
    return [name.removesuffix(".json") for name in names if name.endswith(".json")]


def positions(
    files: Files, query: str, *, before_batch: int | None = None
) -> dict[str, dict[int, int]] | None:
    """By topic and partition: the next offset that the query would read, after the last batch that was planned or, with
    `before_batch`, at the beginning of that one. Before the first one there is only what that plans. None: no position."""
    batches = _numbers(files, f"{query}/offsets")
    wanted = max(batches, default=0) if before_batch is None else max(before_batch - 1, 0)
    return offsets_in(files.read_text(f"{query}/offsets/{wanted}")) if wanted in batches else None


def offsets_in(text: str) -> dict[str, dict[int, int]]:
    """What Spark has written of a batch: a version, facts of the batch, and a line for each source."""
    found: dict[str, dict[int, int]] = {}
    for line in text.splitlines()[2:]:
        try:
            source = json.loads(line)
        except ValueError:
            continue
        if not isinstance(source, dict):
            continue
        for topic, partitions in source.items():
            # Sources of other kinds have numbers and texts here.
            if isinstance(partitions, dict) and all(each.isdigit() for each in partitions):
                of_topic = found.setdefault(topic, {})
                for number, offset in partitions.items():
                    # Read by two sources of the query: the one that is behind has more to lose.
                    of_topic[int(number)] = min(int(offset), of_topic.get(int(number), int(offset)))
    return found


def has_committed(files: Files, query: str) -> bool:
    return bool(committed_batches(files, query))


def committed_batches(files: Files, query: str) -> set[int]:
    """The last ones: Spark forgets those before them."""
    return _numbers(files, f"{query}/commits")


def _numbers(files: Files, folder: str) -> set[int]:
    return {int(name) for name in files.names(folder) if name.isdigit()}


def kept_file(query: str) -> str:
    return f"{OWN_FOLDER}/{query}.json"


def swap_note(query: str) -> str:
    """It is there while something else takes the place of the query's result and progress."""
    return f"{OWN_FOLDER}/{query}{_SWAP}"


def swapping(files: Files) -> list[str]:
    names = files.names(OWN_FOLDER)
    return [name.removesuffix(_SWAP) for name in names if name.endswith(_SWAP)]
