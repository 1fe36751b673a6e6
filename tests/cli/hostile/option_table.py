"""Every command with every option it has, read from typer's and argparse's own tables."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from typer.main import get_command

from klamm.cli.app import COMMANDS

Words = tuple[str, ...]
WITH_ARGPARSE = ("serve", "storage")


class Slot(NamedTuple):
    """A place where a value can stand: behind an option, or by itself (`option` is empty then).

    `is_endless`: a number without a lowest or a highest.
    """

    name: str
    option: str
    is_flag: bool
    is_required: bool
    is_endless: bool = False


def table() -> dict[Words, list[Slot]]:
    found: dict[Words, list[Slot]] = {}
    for name, command in COMMANDS.items():
        module = import_module(command.module)
        if name in WITH_ARGPARSE:
            found |= _of_argparse((name,), module._parser())
        else:
            found |= _of_typer((name,), get_command(module.app))
    return found


def _of_typer(words: Words, command: Any) -> dict[Words, list[Slot]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        return {words: list(_typer_slots(command))}
    found: dict[Words, list[Slot]] = {}
    for name, each in inner.items():
        found |= _of_typer((*words, name), each)
    return found


def _typer_slots(command: Any) -> Iterator[Slot]:
    for parameter in command.params:
        first = parameter.opts[0]
        is_option = first.startswith("-")
        is_flag = is_option and parameter.is_flag
        yield Slot(
            parameter.name,
            first if is_option else "",
            is_flag,
            parameter.required,
            is_endless=_is_number(parameter) and None in (parameter.min, parameter.max),
        )


def _is_number(parameter: Any) -> bool:
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return kind in (int, float, list[int], list[float])


def _of_argparse(words: Words, parser: argparse.ArgumentParser) -> dict[Words, list[Slot]]:
    found: dict[Words, list[Slot]] = {}
    slots = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                found |= _of_argparse((*words, name), each)
        elif action.option_strings:
            is_flag = action.nargs == 0
            slots.append(Slot(action.dest, action.option_strings[0], is_flag, action.required))
    return found or {words: slots}
