"""`klamm protocol`: the messages there are, and the code that is compiled for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Literal

import typer

from klamm.cli.connect import Output, command_group, run_typer
from klamm.cli.output import Row, UsageError, show, write
from klamm.protocol.apis import APIS
from klamm.protocol.compile import source
from klamm.protocol.declare import schema_of

app = command_group("Show the messages of the protocol and their compiled codecs.")
# Messages that belong to no API.
_MODULES = ("headers", "control")


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "protocol", arguments)


@app.command("list")
def list_apis(output: Output = None) -> None:
    """List the APIs and the versions that klamm can speak of them."""
    rows: Iterator[Row] = (
        {
            "key": api.key,
            "api": api.title,
            "lowest": api.lowest,
            "highest": api.highest_stable,
            "flexible_since": api.flexible_since,
            "listeners": list(api.listeners),
        }
        for api in APIS.values()
    )
    show(rows, output)


@app.command("show")
def show_message(
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="For example FetchRequest.")],
    version: Annotated[
        int, typer.Argument(metavar="VERSION", min=0, max=32767, help="For example 12.")
    ],
    decode: Annotated[bool, typer.Option("--decode", "-d", help="Only the decoder.")] = False,
    encode: Annotated[bool, typer.Option("--encode", "-e", help="Only the encoder.")] = False,
) -> None:
    """Print the Python that reads and writes one message in one version."""
    ways: list[Literal["encode", "decode"]] = []
    if encode or not decode:
        ways.append("encode")
    if decode or not encode:
        ways.append("decode")
    try:
        for way in ways:
            write(source(find_message(message), version, way).encode() + b"\n")
    except ValueError as error:
        raise UsageError(f"{message} cannot be shown", why=str(error)) from error


def find_message(name: str) -> type:
    """Loads the message's module and no other."""
    for api in APIS.values():
        if name == f"{api.title}Request":
            return api.request
        if name == f"{api.title}Response":
            return api.response
    others = {cls.__name__: cls for module in _MODULES for cls in _messages_of(module)}
    if name in others:
        return others[name]
    known = [f"{api.title}{kind}" for api in APIS.values() for kind in ("Request", "Response")]
    near = get_close_matches(name, [*known, *others], n=3, cutoff=0.4)
    raise UsageError(f"there is no message {name!r}", hint=", ".join(near) or "klamm protocol list")


def _messages_of(module: str) -> Iterator[type]:
    loaded = import_module(f"klamm.protocol.messages.{module}")
    for thing in vars(loaded).values():
        if (
            isinstance(thing, type)
            and hasattr(thing, "SCHEMA")
            and schema_of(thing).kind != "struct"
        ):
            yield thing
