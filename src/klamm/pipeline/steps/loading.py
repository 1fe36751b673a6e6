"""Functions that users wrote: found by `module:name` on the driver, and carried to the workers."""

from __future__ import annotations

import hashlib
import importlib
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


class NotThere(Exception):
    """The file names a function that cannot be had. The text says what is wrong with the name."""


def look_first_in(folder: Path) -> None:
    """Modules beside the pipeline file win over installed ones, as they do beside a script."""
    place = str(folder.resolve())
    if sys.path[:1] != [place]:
        sys.path.insert(0, place)
    importlib.invalidate_caches()


def load(reference: str) -> Any:
    """What `module:name` names. An error inside the module is the user's own and passes as it is."""
    module_name, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not (module_name + ".").startswith(missing.name + "."):
            raise
        raise NotThere(
            f"there is no module {missing.name}: put {missing.name.replace('.', '/')}.py beside the pipeline file"
            " or install it"
        ) from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise NotThere(f"the module {module_name} has no {path}")
        found = getattr(found, name)
    if not callable(found):
        raise NotThere(f"{reference} cannot be called: it is {type(found).__name__}")
    return found


def carry_to_workers(spark: SparkSession, folder: Path) -> None:
    """Workers import the modules by name as the driver does, and on a cluster they do not see its folder."""
    files = sorted(set(_carried(folder.resolve())))
    if not files:
        return
    context = spark.sparkContext
    digest = hashlib.sha256()
    for inside, path in files:
        digest.update(f"{inside}\0".encode() + path.read_bytes())
    # Spark refuses a file of a known name and other content, so the name is the content's.
    bundle = Path(str(context._temp_dir)) / f"klamm-{digest.hexdigest()[:16]}.zip"
    if bundle.exists():
        return
    with zipfile.ZipFile(bundle, "w") as archive:
        for inside, path in files:
            archive.write(path, inside)
    context.addPyFile(str(bundle))


def _carried(folder: Path) -> Iterator[tuple[str, Path]]:
    """The modules beside the pipeline file and the packages there that were imported: the folder may hold much else."""
    yield from _inside(folder, folder.glob("*.py"))
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        package = folder / name
        if origin and "." not in name and Path(origin) == package / "__init__.py":
            yield from _inside(folder, package.rglob("*.py"))


def _inside(folder: Path, files: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for path in files:
        yield str(path.relative_to(folder)), path
