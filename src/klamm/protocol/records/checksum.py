"""CRC-32C, the checksum of record batches and of snapshots of producers.

The function is the crc32c package's, but the package itself is not imported: it asks the installation for its own version
first, which parses metadata for 45 ms, as long as a tenth of a broker's start.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import cast

Checksum = Callable[[bytes | bytearray | memoryview], int]


def _load() -> Checksum:
    package = find_spec("crc32c")
    if package is None:
        raise ImportError("the crc32c package is not installed")
    inner = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if inner is None or inner.loader is None:
        from crc32c import crc32c as public

        return public
    module = module_from_spec(inner)
    inner.loader.exec_module(module)
    return cast(Checksum, module.crc32c)


crc32c = _load()
