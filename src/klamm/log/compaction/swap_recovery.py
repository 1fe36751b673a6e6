"""After a crash: compacted copies that were not whole go, those that were get their place.

`Segments.swap_in` gives all files of a copy the ending `.swap`, takes the originals away, oldest first, and then the
ending off, each time beginning with the log. So a copy of which any file still ends in `.cleaned` had not begun to
replace anything, and one whose log has no ending any more needs only its indexes renamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from klamm.log import scan
from klamm.log.disk import Disk
from klamm.log.segment import CLEANED, INDEX, LOG, SNAPSHOT, SWAP, TIME_INDEX, TXN_INDEX

# The kind of a file, by what follows its offset -> the offsets.
Files = Mapping[str, Sequence[int]]


def finish_swaps(disk: Disk, directory: str, files: Files) -> None:
    """files: those of the directory. It must be listed again afterwards."""
    cleaned = _with_ending(files, CLEANED)
    swaps = _with_ending(files, SWAP)
    unfinished = min((offset for _, offset in cleaned), default=None)
    if unfinished is not None:
        for kind, offset in swaps:
            if offset >= unfinished:
                disk.remove(_path(directory, offset, kind))
        # Only then: it is the `.cleaned` that tells what the `.swap` was worth.
        disk.fsync_dir(directory)
        for kind, offset in cleaned:
            disk.remove(_path(directory, offset, kind))
        swaps = [(kind, offset) for kind, offset in swaps if offset < unfinished]
    for kind, base in swaps:
        if kind == LOG + SWAP:
            _remove_originals(disk, directory, files, base)
    for kind in (LOG, INDEX, TIME_INDEX, TXN_INDEX):
        for base in [offset for each, offset in swaps if each == kind + SWAP]:
            disk.rename(_path(directory, base, kind + SWAP), _path(directory, base, kind))


def _with_ending(files: Files, ending: str) -> list[tuple[str, int]]:
    kinds = [kind for kind in files if kind.endswith(ending)]
    return [(kind, offset) for kind in kinds for offset in files[kind]]


def _remove_originals(disk: Disk, directory: str, files: Files, base: int) -> None:
    """As far as the copy reaches. What lay behind its last batch is cleaned again: no checkpoint speaks of it yet."""
    file = disk.open(_path(directory, base, LOG + SWAP))
    last = base
    for found in scan.headers(file, 0, file.size(), window=scan.WIDE):
        last = found.header.last_offset
    for kind in (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT):
        for offset in files.get(kind, ()):
            if base <= offset <= last and (offset, kind) != (base, SNAPSHOT):
                disk.remove(_path(directory, offset, kind))


def _path(directory: str, offset: int, kind: str) -> str:
    return f"{directory}/{offset:020d}{kind}"
