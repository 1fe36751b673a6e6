"""`${NAME}` in a pipeline: filled in just before it runs, so that no file and no plan holds a secret."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.problems import BadPipeline, Path, Problem, nearest, show_path
from klamm.pipeline.spec.sections import Key, keys_of

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_OPTION = re.compile(
    r"password|secret|token|jaas|credential|key\.pem|keystore\.key", re.IGNORECASE
)

SectionT = TypeVar("SectionT")
Change = Callable[[Key, str, Path], str]


def filled(pipeline: Pipeline, environment: Mapping[str, str]) -> Pipeline:
    """The pipeline with `${NAME}` and `${NAME:-default}` filled in. Raises BadPipeline if a name is not set."""
    problems = []

    def fill(key: Key, text: str, path: Path) -> str:
        def value(found: re.Match[str]) -> str:
            if found[1] in environment:
                return environment[found[1]]
            if found[2] is None:
                expected = f"the variable {found[1]} in the environment"
                near = nearest(found[1], environment)
                where = show_path(path)
                problems.append(
                    Problem(path=where, expected=expected, found="it not set", nearest=near)
                )
            return found[2] or ""

        return _VARIABLE.sub(value, text) if key.from_environment else text

    result = _changed(pipeline, fill, ())
    if problems:
        raise BadPipeline(pipeline.name, problems)
    return result


def with_secrets_hidden(pipeline: Pipeline) -> Pipeline:
    """The pipeline as it may be shown: passwords are stars, unless they only name a variable."""

    def hide(key: Key, text: str, path: Path) -> str:
        is_secret = key.secret or (key.from_environment and _SECRET_OPTION.search(str(path[-1])))
        return "***" if is_secret and not _VARIABLE.fullmatch(text) else text

    return _changed(pipeline, hide, ())


def _changed(section: SectionT, change: Change, path: Path) -> SectionT:
    values = {}
    for key in keys_of(type(section)):
        value = getattr(section, key.attribute)
        values[key.attribute] = _changed_value(key, value, change, (*path, key.name))
    return replace(section, **values)  # type: ignore[type-var]  # every section is a dataclass


def _changed_value(key: Key, value: object, change: Change, path: Path) -> object:
    if type(value) is str:
        return change(key, value, path)
    if isinstance(value, tuple):
        return tuple(_changed_item(key, each, change, (*path, i)) for i, each in enumerate(value))
    return value


def _changed_item(key: Key, item: object, change: Change, path: Path) -> object:
    if isinstance(item, tuple):  # an option: its name stays
        return (item[0], change(key, item[1], (*path[:-1], item[0])))
    if hasattr(item, "__dataclass_fields__"):
        return _changed(item, change, path)
    return item
