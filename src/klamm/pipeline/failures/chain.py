"""The exceptions inside a failure, of Java and of Python, and what they say without codes, plans and stack traces."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

TRACEBACK = "Traceback (most recent call last):"
# Whose frames in a traceback tell the user nothing.
NOT_THE_USERS = ("/pyspark/", "/py4j/", "/klamm/pipeline/", "importlib")
_JAVA = re.compile(
    r"^(?:Caused by: )?((?:[a-z_][\w]*\.)+[A-Z][\w$]*)(?:: (.*?))?(?=\n\s*at |\nCaused by: |\n\s*\.\.\. \d+ more|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ")
_LIBRDKAFKA = re.compile(r'KafkaError\{.*?str="(.*)"\}', re.DOTALL)
_STATE = re.compile(r" ?SQLSTATE: [0-9A-Z]{5}")
# Some messages hold what a user gave, and that may be anything.
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Link:
    """One exception of the chain, of Java or of Python."""

    name: str
    message: str
    # Of Spark's own table of errors, such as UNRESOLVED_COLUMN.WITH_SUGGESTION, and what its sentence is filled with.
    condition: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2].rpartition("$")[2]


def chain_of(error: BaseException | None) -> Iterator[Link]:
    """From what was raised down to its deepest cause; what Python said inside comes where Java quotes it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text = getattr(error, "_desc", None)
        if hasattr(error, "java_exception"):
            # What PySpark did not translate: its text is Java's stack trace.
            yield from _links_in(str(error).partition("\n: ")[2])
        elif text is None:
            yield Link(_qualified(error), str(error))
        else:
            yield _captured(error, text)
            yield from _links_in(getattr(error, "_stackTrace", None) or "")
            yield from _python_links(text)
        error = getattr(error, "_cause", None) or error.__cause__


def _links_in(stack_trace: str) -> Iterator[Link]:
    for found in _JAVA.finditer(stack_trace):
        message = (found[2] or "").strip()
        yield Link(found[1], message, _condition_in(message))
        yield from _python_links(message)


def _captured(error: BaseException, text: str) -> Link:
    """An exception of Java's that PySpark translated. What it does not carry, it asks the JVM for, which may be gone."""
    condition, parameters = None, {}
    with suppress(Exception):
        condition = error.getCondition()  # type: ignore[attr-defined]
        parameters = dict(error.getMessageParameters() or {})  # type: ignore[attr-defined]
    return Link(_qualified(error), text, condition or _condition_in(text), parameters)


def _condition_in(message: str) -> str | None:
    """Spark writes it at the head of the message; there is nothing else of it in a stack trace."""
    found = _CONDITION.match(message.lstrip())
    return found[1] if found else None


def _python_links(text: str) -> Iterator[Link]:
    """The last line of each traceback in a text names what Python raised."""
    for part in text.split(TRACEBACK)[1:]:
        for line in part.splitlines()[1:]:
            if line and not line[0].isspace() and (found := _PYTHON_ERROR.match(line)):
                yield Link(found[1], found[2] or "")
                break


def _qualified(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def is_of_java(error: BaseException) -> bool:
    return hasattr(error, "_desc") or hasattr(error, "java_exception")


def any_says(chain: list[Link], *signs: str) -> bool:
    return any(sign in link.message for link in chain for sign in signs)


def with_condition(chain: list[Link], *conditions: str) -> Link | None:
    """The one of these conditions, or of their parts, that says most."""
    found = [link for link in chain if is_condition(link.condition, *conditions)]
    return next((link for link in found if link.parameters), found[0] if found else None)


def is_condition(condition: str | None, *wanted: str) -> bool:
    """A name that ends with an underscore stands for all that begin with it."""
    return condition is not None and any(
        condition == each
        or condition.startswith(f"{each}.")
        or (each.endswith("_") and condition.startswith(each))
        for each in wanted
    )


def last_words(chain: list[Link]) -> str:
    """The deepest cause that has something to say."""
    for link in reversed(chain):
        if words := clean(link.message):
            return words
    return chain[0].short_name if chain else "nobody knows why"


def place_of(error: BaseException) -> str:
    """Where the user's own code raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if not any(part in frame.filename for part in NOT_THE_USERS):
            return f" ({Path(frame.filename).name}, line {frame.lineno}, in {frame.name})"
    return ""


def clean(message: str) -> str:
    """A message as one line for people."""
    if found := _LIBRDKAFKA.search(message):
        return found[1]
    # The logical plan, the query, the SQL itself and the contexts follow on lines of their own.
    text = re.split(r"\n+===? |;\n|\n\nJVM stacktrace|\n\s+at ", message.strip(), maxsplit=1)[0]
    text = _STATE.sub("", _CONDITION.sub("", text))
    text = re.sub(r"\s+", " ", text).strip().rstrip(";").replace(".;", ";")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."
