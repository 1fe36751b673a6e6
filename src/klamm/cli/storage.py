"""`klamm storage`: prepare data directories as Kafka's storage tool does, with its option letters.

argparse, as `klamm serve`: scripts call it right before the broker, and it needs nothing heavier.
"""

from __future__ import annotations

import argparse
import os
import time
import uuid
from collections.abc import Sequence
from random import SystemRandom

from klamm.base.ids import Uuid
from klamm.base.settings.load import SettingsError
from klamm.cli.output import CommandError, Format, Row, notice, show
from klamm.cli.serve import USAGE_ERROR, read_settings
from klamm.log.disk import RealDisk


def run(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "random-uuid":
        print(random_uuid())
        return 0
    # Not for an id: the server's modules take longer to load than that to make.
    from klamm.server.storage import StorageError

    try:
        if options.command == "format":
            _format(
                options.config,
                options.set,
                options.cluster_id,
                ignore_formatted=options.ignore_formatted,
            )
        else:
            _info(options.config, options.set, options.output)
    except SettingsError as error:
        for problem in error.problems:
            notice(f"klamm: {problem}")
        return USAGE_ERROR
    except StorageError as error:
        raise CommandError(str(error)) from error
    return 0


def random_uuid() -> Uuid:
    """Never one that begins with a dash: it is made to be pasted behind an option."""
    while str(made := Uuid(uuid.uuid4().bytes)).startswith("-"):
        pass
    return made


def _format(
    configs: Sequence[str], settings: Sequence[str], cluster_id: str, *, ignore_formatted: bool
) -> None:
    from klamm.server.storage import Paths, format_directories

    read = read_settings(configs, env=os.environ, overrides=settings)
    lines = format_directories(
        RealDisk(),
        Paths.of(read),
        cluster_id=cluster_id,
        node_id=read.node.node_id,
        chance=SystemRandom(),
        now=int(time.time() * 1000),
        ignore_formatted=ignore_formatted,
    )
    print("\n".join(lines))


def _info(configs: Sequence[str], settings: Sequence[str], output: Format | None) -> None:
    from klamm.server.storage import Paths

    paths = Paths.of(read_settings(configs, env=os.environ, overrides=settings))
    show([_row(path, is_metadata=path == paths.metadata) for path in paths.all], output)


def _row(path: str, *, is_metadata: bool) -> Row:
    from klamm.server.storage import read_identity

    identity = read_identity(RealDisk(), path)
    place: Row = {"directory": path, "metadata": is_metadata, "formatted": identity is not None}
    if identity is None:
        return place
    return {
        **place,
        "cluster_id": identity.cluster_id,
        "node_id": identity.node_id,
        "directory_id": str(identity.directory_id),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="klamm storage",
        description="Prepare data directories, or say what is in them.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    formatting = commands.add_parser(
        "format", help="make the directories of a config ready for a broker"
    )
    formatting.add_argument(
        "--cluster-id", "-t", required=True, metavar="ID", help="the cluster they belong to"
    )
    formatting.add_argument(
        "--ignore-formatted",
        "-g",
        action="store_true",
        help="leave directories alone that are ready already",
    )
    _add_config(formatting)

    info = commands.add_parser("info", help="say which directories there are and whose they are")
    info.add_argument(
        "--output", "-o", type=Format, choices=list(Format), help="table on a terminal, else json"
    )
    _add_config(info)

    commands.add_parser("random-uuid", help="print an id for a new cluster")
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        "-c",
        metavar="FILE",
        action="append",
        default=[],
        help="server.properties or .toml",
    )
    parser.add_argument(
        "--set", "-s", metavar="KEY=VALUE", action="append", default=[], help="any setting"
    )
