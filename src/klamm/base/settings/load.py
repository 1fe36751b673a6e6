"""Reads settings: files, then environment, then flags; the later wins. All problems are told at once.

Pure: gets the text of files and the environment as mappings, and knows where each text came from only by its label.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from klamm.base.settings.broker import NOTHING, Settings, build_settings
from klamm.base.settings.declare import InvalidValueError, Setting
from klamm.base.settings.properties import Entry, read_properties
from klamm.base.settings.removed import REMOVED, removed_prefix
from klamm.base.settings.rules import broken_rules
from klamm.base.settings.startup import findings
from klamm.base.settings.table import (
    AUTHORIZER,
    BROKER,
    DYNAMIC_ONLY,
    PLUGIN_PREFIXES,
    find_broker_setting,
    without_listener,
)

ENVIRONMENT_PREFIX = "KLAMM_"

# Where a setting has several names, setting one in a stronger place silences all of them in a weaker one.
_FAMILIES = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.dirs", "log.dir"),
    ("node.id", "broker.id"),
)


class ConfigFile(NamedTuple):
    """The name of a file, for messages and for its format (`.toml`, or else properties), and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of a refusal: where, which key, which value, what is wrong, what would be right."""

    where: str
    key: str
    value: str | None
    wrong: str
    expected: str | None = None

    def __str__(self) -> str:
        said = self.key if self.value is None else f"{self.key} = {self.value}"
        line = f"{self.where}: {said}: {self.wrong}" if self.key else f"{self.where}: {self.wrong}"
        return f"{line} (expected: {self.expected})" if self.expected else line


class SettingsError(Exception):
    """The settings cannot be used; one line per problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class Given(NamedTuple):
    """A text and where it was given."""

    text: str
    where: str


def load(
    files: Iterable[ConfigFile] = (),
    *,
    env: Mapping[str, str] = NOTHING,
    overrides: Iterable[str] = (),
) -> Settings:
    """Settings from files (later ones win), `KLAMM_...` variables and `key=value` flags; else a SettingsError."""
    problems: list[Problem] = []
    layers = [_file_layer(file, problems) for file in files]
    layers += [_environment_layer(env), _override_layer(overrides, problems)]
    given = _merge(layers)
    problems += _check_each(given)
    texts = {name: each.text for name, each in given.items()}
    if not problems:
        problems += _check_together(texts, given)
    if problems:
        raise SettingsError(problems)
    return build_settings(texts)


def _file_layer(file: ConfigFile, problems: list[Problem]) -> dict[str, Given]:
    try:
        entries = (
            _read_toml(file.text) if file.name.endswith(".toml") else read_properties(file.text)
        )
        return {
            entry.name: Given(entry.text, f"{file.name}:{entry.line}" if entry.line else file.name)
            for entry in entries
        }
    except (ValueError, RecursionError) as error:
        wrong = str(error) if isinstance(error, ValueError) else "it is nested too deep"
        problems.append(Problem(file.name, "", None, wrong))
        return {}


def _read_toml(text: str) -> Iterator[Entry]:
    # Most files are properties, and the module takes 5 ms to load.
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # `max.connections` and `max.connections.per.ip` are both settings, which TOML takes for a value and a table.
        hint = '; where one key begins another, quote it: "max.connections" = 100'
        raise ValueError(f"{error}{hint if 'overwrite' in str(error) else ''}") from None
    return _flatten("", document)


def _flatten(prefix: str, table: Mapping[str, object]) -> Iterator[Entry]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flatten(f"{name}.", value)
        else:
            yield Entry(name, _toml_text(name, value), 0)


def _toml_text(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list():
            return ",".join(_toml_text(name, member) for member in value)
    raise ValueError(f"{name}: a {type(value).__name__} cannot be the value of a setting")


def _environment_layer(env: Mapping[str, str]) -> dict[str, Given]:
    """`KLAMM_LOG_SEGMENT_BYTES` is `log.segment.bytes`; two underscores stand for one, three for a hyphen."""
    layer = {}
    for variable, text in env.items():
        if variable.startswith(ENVIRONMENT_PREFIX):
            words = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            name = (
                words.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")
            )
            layer[name] = Given(text, f"environment {variable}")
    return layer


def _override_layer(overrides: Iterable[str], problems: list[Problem]) -> dict[str, Given]:
    layer = {}
    for flag in overrides:
        name, equals, text = flag.partition("=")
        if equals:
            layer[name.strip()] = Given(text.strip(), "flag")
        else:
            problems.append(Problem("flag", flag, None, "has no value", "key=value"))
    return layer


def _merge(layers: Iterable[Mapping[str, Given]]) -> dict[str, Given]:
    merged: dict[str, Given] = {}
    for layer in layers:
        for family in _FAMILIES:
            if any(name in layer for name in family):
                for name in family:
                    merged.pop(name, None)
        merged |= layer
    return merged


def _check_each(given: Mapping[str, Given]) -> Iterator[Problem]:
    for name, (text, where) in given.items():
        declared = find_broker_setting(name)
        if name in DYNAMIC_ONLY:
            yield Problem(where, name, None, "can be set only while the broker runs")
            continue
        if declared is None:
            yield from _check_unknown(name, where)
            continue
        try:
            declared.read(text)
        except InvalidValueError as error:
            yield Problem(where, name, _shown(declared, text), _reason(error), declared.expected)


def _check_unknown(name: str, where: str) -> Iterator[Problem]:
    if name.startswith(PLUGIN_PREFIXES) or without_listener(name) is not None:
        return
    if sentence := REMOVED.get(name) or removed_prefix(name):
        yield Problem(where, name, None, sentence)
        return
    # Deviation: Kafka passes over keys that it does not know, misspelt ones included.
    near = get_close_matches(name, [*BROKER, *AUTHORIZER], n=1, cutoff=0.5)
    yield Problem(
        where, name, None, "unknown setting" + (f"; did you mean {near[0]}?" if near else "")
    )


def _check_together(texts: Mapping[str, str], given: Mapping[str, Given]) -> Iterator[Problem]:
    broken = [(rule.name, rule.sentence) for rule in broken_rules(texts)]
    for name, wrong in [*broken, *findings(texts)]:
        if name in given:
            declared = find_broker_setting(name)
            assert declared is not None
            yield Problem(given[name].where, name, _shown(declared, given[name].text), wrong)
        else:
            yield Problem("settings", name, None, wrong)


def _shown(declared: Setting, text: str) -> str:
    return "[hidden]" if declared.sensitive else text


def _reason(error: InvalidValueError) -> str:
    """Kafka's sentence without the part that repeats key and value."""
    message = error.message
    if message.startswith("Invalid value"):
        return message.partition(": ")[2]
    return message.removeprefix(f"Configuration '{error.setting.name}' ").partition(". ")[0]
