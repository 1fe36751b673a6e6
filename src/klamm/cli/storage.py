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
            _format(options)
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


def _format(options: argparse.Namespace) -> None:
    from klamm.server.quorum import initial_users, initial_voters
    from klamm.server.storage import Paths, format_directories

    settings = read_settings(options.config, env=os.environ, overrides=options.set)
    chance = SystemRandom()
    initial_voters.check(
        settings,
        has_voters=options.standalone or options.initial_controllers is not None,
        is_without=options.no_initial_controllers,
    )
    voters = None
    if options.standalone:
        voters = initial_voters.standalone(settings, chance)
    elif options.initial_controllers is not None:
        voters = initial_voters.parse(options.initial_controllers, settings)
    lines = format_directories(
        RealDisk(),
        Paths.of(settings),
        cluster_id=options.cluster_id,
        node_id=settings.node.node_id,
        chance=chance,
        now=int(time.time() * 1000),
        ignore_formatted=options.ignore_formatted,
        voters=voters,
        records=initial_users.records_of(options.add_scram, chance),
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
    formatting.add_argument(
        "--add-scram",
        "-S",
        action="append",
        default=[],
        metavar="USER",
        help="a user of the new cluster, as SCRAM-SHA-256=[name=ann,password=pear]",
    )
    quorum = formatting.add_mutually_exclusive_group()
    quorum.add_argument(
        "--standalone", "-s", action="store_true", help="begin a quorum with this controller alone"
    )
    quorum.add_argument(
        "--initial-controllers",
        "-I",
        metavar="VOTERS",
        help="begin a quorum with these, as id@host:port:directory,...",
    )
    quorum.add_argument(
        "--no-initial-controllers",
        "-N",
        action="store_true",
        help="take part in a quorum that others begin",
    )
    _add_config(formatting)

    info = commands.add_parser("info", help="say which directories there are and whose they are")
    info.add_argument(
        "--output", "-o", type=Format, choices=list(Format), help="table on a terminal, else json"
    )
    _add_config(info, "-s")

    commands.add_parser("random-uuid", help="print an id for a new cluster")
    return parser


def _add_config(parser: argparse.ArgumentParser, *letters: str) -> None:
    parser.add_argument(
        "--config",
        "-c",
        metavar="FILE",
        action="append",
        default=[],
        help="server.properties or .toml",
    )
    parser.add_argument(
        "--set", *letters, metavar="KEY=VALUE", action="append", default=[], help="any setting"
    )
