"""The `klamm` command: the first word names a file of this package, the rest of the line is that file's.

A table and not one typer application, for the sake of `klamm serve`: typer costs about 150 ms and 15 MB, rich and
confluent-kafka as much again, and a broker needs none of them. So the top level is plain text, `serve` and `storage`
parse with argparse, and every other command is a typer application that is imported when it is called.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from klamm import __version__
from klamm.cli.output import (
    CommandError,
    ReaderGone,
    UsageError,
    complain,
    drop_unwritten,
    flush,
    prepare_streams,
    reason,
)

OK, CLUSTER_ERROR, USAGE_ERROR, INTERRUPTED = 0, 1, 2, 130


class Command(NamedTuple):
    module: str
    summary: str


class CommandModule(Protocol):
    def run(self, arguments: Sequence[str]) -> int: ...


SECTIONS: dict[str, dict[str, Command]] = {
    "Run": {
        "serve": Command("klamm.cli.serve", "Run a broker."),
        "demo": Command(
            "klamm.cli.demo.command", "Start a broker and show records and a pipeline."
        ),
        "certs": Command("klamm.cli.certs.command", "Make certificates for a development cluster."),
        "storage": Command("klamm.cli.storage", "Prepare a data directory, or say what is in it."),
    },
    "Use": {
        "topic": Command("klamm.cli.topic", "Create, list, describe, alter and delete topics."),
        "produce": Command("klamm.cli.produce", "Send records from stdin or files."),
        "consume": Command("klamm.cli.consume", "Print the records of a topic."),
        "group": Command(
            "klamm.cli.group.command", "List, describe, reset and delete groups, watch their lag."
        ),
        "txn": Command("klamm.cli.txn.command", "List, describe and abort transactions."),
        "acl": Command(
            "klamm.cli.acl.command", "List, create, delete and try the rules about who may do what."
        ),
        "cluster": Command(
            "klamm.cli.cluster.command", "Run a cluster on this machine; say who is in one."
        ),
    },
    "Protect": {
        "user": Command("klamm.cli.user.command", "Create, list and delete users (SCRAM)."),
        "quota": Command("klamm.cli.quota.command", "Say how much clients may ask for."),
        "token": Command("klamm.cli.token.command", "Create, list and end delegation tokens."),
    },
    "Process": {
        "pipeline": Command(
            "klamm.cli.pipeline.command", "Write, check, run and watch pipelines on Spark."
        ),
        "sql": Command("klamm.cli.sql.sql", "Ask topics and tables with SQL."),
        "table": Command("klamm.cli.sql.table", "Keep a topic as an Iceberg table."),
    },
    "Look inside": {
        "log": Command("klamm.cli.log.command", "Dump and verify log files, without a broker."),
        "protocol": Command("klamm.cli.protocol", "Show the messages and their compiled codecs."),
        "doctor": Command(
            "klamm.cli.doctor", "Check this machine, the data directory and the broker."
        ),
    },
}
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    prepare_streams()
    code = _exit_code(list(sys.argv[1:] if arguments is None else arguments))
    try:
        flush()
    except ReaderGone:
        drop_unwritten()
    except CommandError as failure:
        drop_unwritten()
        if code == OK:
            complain(failure)
            return CLUSTER_ERROR
    return code


def _exit_code(words: list[str]) -> int:
    """Every way in which a command can end but a mistake of ours, which should be seen with its traceback."""
    try:
        code = dispatch(words)
        flush()
    except UsageError as problem:
        complain(problem)
        return USAGE_ERROR
    except CommandError as failure:
        complain(failure)
        return CLUSTER_ERROR
    except (ReaderGone, BrokenPipeError):
        return OK
    except OSError as error:
        # The machine's own no: a full disk, a file that went away.
        complain(CommandError(reason(error)))
        return CLUSTER_ERROR
    except SystemExit as end:
        # How argparse and typer leave, with 2 for wrong usage and 0 after --help.
        return end.code if isinstance(end.code, int) else OK
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return OK if words else USAGE_ERROR
    if words[0] in ("-V", "--version", "version"):
        print(f"klamm {__version__}")
        return OK
    for number, word in enumerate(words, 1):
        if not _is_text(word):
            raise UsageError(
                f"word {number} of the command line is not text in UTF-8", why=repr(word)
            )
    if words[0] not in COMMANDS:
        raise UsageError(f"there is no command {words[0]!r}", hint=_nearest(words[0]))
    module = cast(CommandModule, import_module(COMMANDS[words[0]].module))
    return module.run(words[1:])


def _is_text(word: str) -> bool:
    """Python smuggles bytes that are no text through its strings; nothing behind this place would expect them."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def overview() -> str:
    lines = [
        "Usage: klamm COMMAND [OPTIONS] [ARGUMENTS]",
        "",
        "Apache Kafka rebuilt in Python: a broker, and the commands to work with it or with any Kafka.",
    ]
    for title, commands in SECTIONS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:<10}{command.summary}" for name, command in commands.items()]
    return "\n".join([*lines, "", *_OVERVIEW_END])


_OVERVIEW_END = (
    "Answers go to stdout, as tables on a terminal and as one JSON object per line in a pipe (-o table|json decides).",
    "Exit codes: 0 done, 1 the cluster or the machine said no, 2 wrong usage.",
    "The broker to ask: -b HOST:PORT, or KLAMM_BOOTSTRAP, or 127.0.0.1:9092.",
    "More: klamm COMMAND --help, klamm --version",
)


def _nearest(word: str) -> str:
    # Imported here: a right command should not pay for the advice on a wrong one.
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, n=1)
    return f"klamm {near[0]}" if near else "klamm --help"
