"""The exceptions inside a failure, of Java and of Python, and what they say without codes, plans and stack traces."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TRACEBACK = "Traceback (most recent call last):"
# Whose frames in a traceback tell the user nothing.
NOT_THE_USERS = ("/pyspark/", "/py4j/", "/klamm/pipeline/", "importlib")
_JAVA = re.compile(
    r"^(?:Caused by: )?((?:[a-z_][\w]*\.)+[A-Z][\w$]*)(?:: (.*?))?(?=\n\s*at |\nCaused by: |\n\s*\.\.\. \d+ more|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$")
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] ")
_LIBRDKAFKA = re.compile(r'KafkaError\{.*?str="(.*)"\}', re.DOTALL)
_STATE = re.compile(r" ?SQLSTATE: [0-9A-Z]{5}")


@dataclass(frozen=True, slots=True)
class Link:
    """One exception of the chain, of Java or of Python."""

    name: str
    message: str

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
            yield Link(_qualified(error), text)
            yield from _links_in(getattr(error, "_stackTrace", None) or "")
            yield from _python_links(text)
        error = getattr(error, "_cause", None) or error.__cause__


def _links_in(stack_trace: str) -> Iterator[Link]:
    for found in _JAVA.finditer(stack_trace):
        message = (found[2] or "").strip()
        yield Link(found[1], message)
        yield from _python_links(message)


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
    # The logical plan, the SQL itself and the contexts follow on lines of their own.
    text = re.split(r"\n\n?== |;\n|\n\nJVM stacktrace|\n\s+at ", message.strip(), maxsplit=1)[0]
    text = _STATE.sub("", _CONDITION.sub("", text))
    return re.sub(r"\s+", " ", text).strip().rstrip(";").replace(".;", ";")
