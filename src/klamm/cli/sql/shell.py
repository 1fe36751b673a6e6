"""`klamm sql` without a question: a shell. Spark starts while the first one is being typed, and stays."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaException
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from klamm.cli.connect import explain
from klamm.cli.output import CommandError, Format, complain, notice
from klamm.cli.sql.answers import show_answer
from klamm.cli.sql.asker import Asker
from klamm.cli.sql.worker import Cancelled, Worker
from klamm.pipeline.adhoc.completing import completions
from klamm.pipeline.adhoc.known import Known
from klamm.pipeline.adhoc.lake import full_name, short_name
from klamm.pipeline.adhoc.statements import is_blank, split
from klamm.pipeline.running import registry

_HISTORY = "sql_history"
_PROMPT, _MORE = "klamm> ", "    -> "
_LEAVE = frozenset({"exit", "quit", "\\q"})
_HELP_WORDS = frozenset({"help", "?", "\\h"})
_HELP = """\
  a statement may have several lines and ends with ;
  SHOW TABLES;        topics and tables          DESCRIBE clicks;   its columns
  REFRESH clicks;     learns its columns anew    Tab                completes names, columns and keywords
  Ctrl-C              cancels the question       exit, Ctrl-D       leaves"""
# The list of topics is asked for at every key, so it may be this old.
_NAMES_SECONDS = 2.0
_STARTING = "Spark starts; a question that you send now waits for it"


def run_shell(asker: Asker, output: Format | None) -> None:
    """Until the user leaves."""
    worker, quick = Worker(), Worker()
    completer = Names(asker.known)

    def begin() -> None:
        asker.begin(is_quiet=True)
        completer.functions = asker.warm_up()

    start = worker.submit(begin)
    ask = partial(_ask, asker, worker, quick, start, output)
    notice("SQL over topics and tables; help helps, exit leaves")
    prompt = _prompt(completer, start)
    while True:
        try:
            text = prompt.prompt(_PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        word = text.strip().rstrip(";").lower()
        if word in _LEAVE:
            return
        if word in _HELP_WORDS:
            notice(_HELP)
            continue
        for sql in split(text).all:
            if not ask(sql):
                break


def _ask(
    asker: Asker,
    worker: Worker,
    quick: Worker,
    start: Future[None],
    output: Format | None,
    sql: str,
) -> bool:
    """Whether there was an answer. What `quick` can tell does not wait for Spark."""
    began = time.monotonic()
    try:
        answer = quick.run(lambda: asker.without_spark(sql), cancel=asker.cancel)
        if answer is None:
            answer = worker.run(lambda: asker.with_spark(sql), cancel=asker.cancel)
    except Cancelled:
        notice("cancelled")
    except KafkaException as error:
        complain(explain("the topics cannot be read", error.args[0]))
    except CommandError as failure:
        complain(failure)
    else:
        show_answer(answer, output)
        count = len(answer.rows)
        more = " and there are more; --limit sets how many are shown" if answer.has_more else ""
        rows = f"{count} row{'' if count == 1 else 's'}" if answer.names else "done"
        notice(f"{rows} in {time.monotonic() - began:.2f} s{more}")
        return True
    if start.done() and (why := start.exception()) is not None:
        # Without Spark there is nothing left to ask.
        raise why
    return False


def _prompt(completer: Completer, start: Future[None]) -> PromptSession[str]:
    return PromptSession(
        multiline=True,
        prompt_continuation=_MORE,
        history=_history(),
        completer=completer,
        # Completion may ask the broker, and must not hold up the keys.
        complete_in_thread=True,
        complete_while_typing=False,
        key_bindings=_keys(),
        bottom_toolbar=lambda: None if start.done() else _STARTING,
        refresh_interval=0.5,
    )


def _keys() -> KeyBindings:
    keys = KeyBindings()
    keys.add("enter")(_enter)
    return keys


def _enter(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if is_whole(buffer.text):
        buffer.validate_and_handle()
    else:
        buffer.insert_text("\n")


def is_whole(text: str) -> bool:
    """Whether Enter sends it: statements that have ended, a word of the shell, or nothing."""
    word = text.strip().lower()
    return word in _LEAVE | _HELP_WORDS or is_blank(split(text).rest)


def _history() -> History:
    file = registry.state_home() / _HISTORY
    try:
        _touch(file)
    except OSError as error:
        notice(f"questions are not remembered: {file}: {error.strerror}")
        return InMemoryHistory()
    return FileHistory(str(file))


def _touch(file: Path) -> None:
    """For the user's eyes only: questions may hold what answers do."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))


class Names(Completer):  # type: ignore[misc]
    """Completes from what is known; what cannot be asked now is not offered."""

    def __init__(self, known: Known) -> None:
        self.functions: list[str] = []
        self._known = known
        self._topics: list[str] = []
        self._tables: list[str] = []
        self._asked_at: float | None = None

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        try:
            self._look()
            found = completions(
                document.text_before_cursor,
                document.text_after_cursor,
                names=[*self._topics, *self._tables],
                columns_of=self._columns_of,
                functions=self.functions,
            )
        except KafkaException:
            return
        for word in found.words:
            yield Completion(word, start_position=found.start - len(document.text_before_cursor))

    def _columns_of(self, name: str) -> list[str]:
        return self._known.columns_of(name) if name in self._topics else []

    def _look(self) -> None:
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at > _NAMES_SECONDS:
            self._topics = self._known.topics()
            tables = self._known.tables() or []
            self._tables = [short_name(each) or full_name(each) for each in tables]
            self._asked_at = now
