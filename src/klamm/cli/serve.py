"""`klamm serve`: read the settings, run the broker, print one line when clients can connect.

argparse and no typer, rich or confluent-kafka: this process is the broker, and each of them would stay in its memory.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from klamm.base.settings.load import ConfigFile, SettingsError, load

if TYPE_CHECKING:
    from klamm.base.settings.broker import Settings
    from klamm.cli.certs.secure import SecureFolder
    from klamm.server.node import Ready

USAGE_ERROR = 2
# Ours, but of the other commands: not the name of a setting.
_NOT_SETTINGS = {
    "KLAMM_BOOTSTRAP",
    "KLAMM_COMMAND_CONFIG",
    "KLAMM_STORE_PASSWORD",
    "KLAMM_MAVEN_MIRROR",
}
_LEVELS = ("debug", "info", "warning", "error")

_EPILOG = """\
Settings have Kafka's names. Flags win over KLAMM_... variables (KLAMM_LOG_SEGMENT_BYTES is log.segment.bytes), these
over files, files over defaults. Without log.dirs the data lives in $XDG_DATA_HOME/klamm or ~/.local/share/klamm.
Answers go to stdout, the log goes to stderr. Exit codes: 0 stopped, 1 cannot start, 2 wrong settings.
"""


def run(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    secure = None
    if options.secure:
        from klamm.cli.certs.secure import prepare

        secure = prepare(options.data or default_data_directory(os.environ), options.set)
    try:
        settings = read_settings(
            options.config,
            env=os.environ,
            overrides=[
                *(secure.overrides() if secure is not None else ()),
                *_overrides(options.data, options.set),
            ],
            port=options.port,
        )
    except SettingsError as error:
        for problem in error.problems:
            print(f"klamm: {problem}", file=sys.stderr)
        return USAGE_ERROR
    logging.basicConfig(
        level=options.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    # Not before the settings are known to be good: a mistake should be told at once.
    from klamm.server.process import serve

    announce = _announcer(as_json=options.json, secure=secure)
    if not options.memory:
        return serve(settings, announce=announce, ends_with_stdin=options.end_with_stdin)
    from klamm.server.world.memory import memory_directory

    with memory_directory() as directory:
        settings = _kept_in(directory, settings)
        return serve(settings, announce=announce, ends_with_stdin=options.end_with_stdin)


def _kept_in(directory: str, settings: Settings) -> Settings:
    """All of it, the metadata as well: what is left of it would not fit to the next start's partitions."""
    return replace(
        settings,
        log=replace(settings.log, log_dirs=(directory,)),
        quorum=replace(settings.quorum, metadata_log_dir=None),
    )


def read_settings(
    names: Iterable[str],
    *,
    env: Mapping[str, str],
    overrides: Sequence[str] = (),
    port: int | None = None,
) -> Settings:
    """SettingsError for files that cannot be read, too: it is the same mistake to whoever made it."""
    files = [ConfigFile("default", f"log.dirs={default_data_directory(env)}"), *map(_read, names)]
    variables = {name: text for name, text in env.items() if name not in _NOT_SETTINGS}
    settings = load(files, env=variables, overrides=overrides)
    if port is None:
        return settings
    return load(
        files, env=variables, overrides=[*overrides, f"listeners={_with_port(settings, port)}"]
    )


def default_data_directory(env: Mapping[str, str]) -> str:
    home = env.get("XDG_DATA_HOME") or os.path.join(env.get("HOME") or "~", ".local", "share")
    return os.path.join(os.path.expanduser(home), "klamm")


def _with_port(settings: Settings, port: int) -> str:
    """The listeners as configured, with this port for the first one that serves clients, or controllers."""
    first = (settings.listeners.for_clients() or settings.listeners.all())[0]
    return ",".join(
        str(each).removesuffix(f":{each.port}") + f":{port if each == first else each.port}"
        for each in settings.listeners.all()
    )


def _read(name: str) -> ConfigFile:
    from klamm.base.settings.load import Problem

    try:
        with open(name, encoding="utf-8") as file:
            return ConfigFile(name, file.read())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError([Problem(name, "", None, f"cannot be read: {reason}")]) from error


def _overrides(data: str | None, settings: Sequence[str]) -> list[str]:
    return [*([f"log.dirs={os.path.abspath(data)}"] if data is not None else []), *settings]


def _announcer(*, as_json: bool, secure: SecureFolder | None) -> Callable[[Ready], None]:
    def announce(ready: Ready) -> None:
        facts = {
            "address": ready.address,
            "cluster_id": ready.cluster_id,
            "node_id": ready.node_id,
            "data": ready.data,
            "pid": os.getpid(),
        }
        line = f"klamm ready on {ready.address} (cluster {ready.cluster_id}, data {ready.data})"
        if secure is not None:
            secure.write_client_file(ready.address)
            facts["client_settings"] = str(secure.client_file)
            line += (
                f"\nclient settings: {secure.client_file} (klamm topic list --command-config FILE)"
            )
        print(json.dumps({"event": "ready", **facts}) if as_json else line, flush=True)

    return announce


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="klamm serve",
        description="Run a broker until Ctrl-C or SIGTERM. An empty data directory is formatted by itself.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--config",
        "-c",
        metavar="FILE",
        action="append",
        default=[],
        help="server.properties or .toml; repeatable",
    )
    add(
        "--port",
        "-p",
        type=_port,
        metavar="PORT",
        help="port for clients; 0 takes a free one [default: 9092]",
    )
    add("--data", "-d", metavar="DIR", help="where to keep the data (log.dirs)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--secure",
        action="store_true",
        help="TLS and a SCRAM user, in a new data directory; prints where the client settings are",
    )
    where.add_argument(
        "--memory",
        "-m",
        action="store_true",
        help="keep the data in memory and forget it at the end",
    )
    add(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="any setting; repeatable",
    )
    add("--json", action="store_true", help="print the ready line as a JSON object")
    add(
        "--end-with-stdin",
        action="store_true",
        help="stop when stdin is closed: with the program that started it, however that ends",
    )
    add("--log-level", choices=_LEVELS, default="info", help="how much to log [default: info]")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)
