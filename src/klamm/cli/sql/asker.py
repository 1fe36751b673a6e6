"""Asks: starts Spark with the first question that needs it, and tells what went wrong in the words of the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from klamm.cli.output import CommandError, UsageError, notice
from klamm.cli.sql.count_records import CannotCount, asks_for_a_count, count_records
from klamm.pipeline.adhoc.answer import Answer
from klamm.pipeline.adhoc.known import Known, NothingOfThatName, same_name
from klamm.pipeline.adhoc.topics import SchemaNeeded
from klamm.pipeline.place import Place
from klamm.pipeline.running import registry
from klamm.pipeline.sources.trouble import SourceFailed
from klamm.pipeline.spec import RecordFormat

if TYPE_CHECKING:
    from klamm.pipeline.adhoc.asking import Desk

_LOG = "sql.log"
_SHOWN_LINES = 5
# To compress what is kept of topics takes as long as to decode it, and saves little.
_OPTIONS = {"spark.sql.inMemoryColumnarStorage.compressed": "false"}


class Asker:
    """Raises CommandError and UsageError, and librdkafka's KafkaException."""

    def __init__(
        self, known: Known, place: Place, *, limit: int | None, keeps: bool = False
    ) -> None:
        self.known = known
        self.limit = limit
        self._keeps = keeps
        self._place = place
        self._desk: Desk | None = None
        self._stack = ExitStack()
        self._stop = Event()

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, statements: Sequence[str] = (), *, is_quiet: bool = False) -> None:
        """Starts Spark, if these statements have a meaning; they are not asked yet."""
        if self._desk is not None:
            return
        with _explained():
            self.known.check(statements)
            self._check_syntax(statements)
            self._desk = self._opened(statements, is_quiet=is_quiet)

    def ask(self, sql: str) -> Answer:
        return self.without_spark(sql) or self.with_spark(sql)

    def with_spark(self, sql: str) -> Answer:
        self.begin([sql])
        assert self._desk is not None, "it has begun"
        with _explained():
            return self._desk.ask(sql, limit=self.limit)

    def without_spark(self, sql: str) -> Answer | None:
        """What can be told faster, whether Spark runs or not."""
        _check_text(sql)
        answer = self.known.shown(sql, self.known.tables) or self._count(sql)
        return answer and answer.cut(self.limit)

    def _count(self, sql: str) -> Answer | None:
        asked = asks_for_a_count(sql)
        if asked is None:
            return None
        name, column = asked
        topic = same_name(name, self.known.topics())
        if topic is None or (self._desk is not None and not self._desk.means_topic(name)):
            return None
        self._stop.clear()
        place = self._place
        try:
            count = count_records(place.bootstrap, topic, place.client, stop=self._stop)
        except CannotCount:
            return None
        return Answer([column], [(count,)])

    def warm_up(self) -> list[str]:
        """What the first question would have to wait for. Gives the names of Spark's functions."""
        assert self._desk is not None, "it has begun"
        return self._desk.warm_up()

    def cancel(self) -> None:
        """From another thread: the one that asks gets an error."""
        self._stop.set()
        if self._desk is not None:
            self._desk.cancel()

    def _check_syntax(self, statements: Sequence[str]) -> None:
        from klamm.pipeline.adhoc.syntax import check_doubtful
        from klamm.pipeline.java import JavaMissing

        try:
            check_doubtful(statements)
        except JavaMissing as missing:
            raise CommandError("Spark cannot start", why=str(missing)) from missing

    def _opened(self, statements: Sequence[str], *, is_quiet: bool) -> Desk:
        from klamm.cli.pipeline.fetch import bring
        from klamm.pipeline.adhoc.asking import Desk
        from klamm.pipeline.adhoc.syntax import check_syntax
        from klamm.pipeline.jars import Use, jars_for
        from klamm.pipeline.session import JavaStart, SessionSettings, a_session

        needs_avro = self.known.format is RecordFormat.AVRO
        uses = (Use.TOPICS, Use.ICEBERG, *((Use.AVRO,) if needs_avro else ()))
        bring(jars_for(uses), quiet=is_quiet)
        if not is_quiet:
            notice("Spark starts (some seconds)")
        settings = SessionSettings(
            name="klamm sql", uses=uses, warehouse=self._place.warehouse, options=_OPTIONS
        )
        log = registry.state_home() / _LOG
        java = JavaStart(log, lambda jvm: check_syntax(jvm, statements))
        with _start_explained(log):
            spark = self._stack.enter_context(a_session(settings, java=java))
        return Desk(spark, self._place, self.known, keeps=self._keeps)


def _check_text(sql: str) -> None:
    """What was no UTF-8 on the command line or in a pipe is in Python's text, and cannot be sent to Java."""
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the SQL is not text in UTF-8") from error


@contextmanager
def _explained() -> Iterator[None]:
    from klamm.pipeline.adhoc.mistakes import WrongSql

    try:
        yield
    except (WrongSql, SchemaNeeded) as wrong:
        raise UsageError(str(wrong)) from wrong
    except NothingOfThatName as missing:
        hint = missing.hint or "`klamm topic list` shows the topics"
        raise CommandError(str(missing), hint=hint) from missing
    except SourceFailed as failure:
        raise CommandError(str(failure)) from failure


@contextmanager
def _start_explained(log: Path) -> Iterator[None]:
    from pyspark.errors import PySparkRuntimeError

    from klamm.pipeline.java import JavaMissing

    try:
        yield
    except JavaMissing as missing:
        raise CommandError("Spark cannot start", why=str(missing)) from missing
    except PySparkRuntimeError as error:
        said = log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
        raise CommandError("Spark cannot start", why="\n".join([str(error), *said])) from error
