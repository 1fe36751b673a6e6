"""Keeps the queries of a pipeline running: watches them, starts again what may pass, ends them when asked to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from klamm.pipeline.failures.trouble import PipelineFailed, Trouble, trouble_of
from klamm.pipeline.identity.rules import TopicsChanged
from klamm.pipeline.running.cluster_watch import ClusterWatch
from klamm.pipeline.running.offsets import GroupOffsets, Readers, processed_offsets
from klamm.pipeline.running.progress import Report, Reporter
from klamm.pipeline.running.queries import Startable
from klamm.pipeline.running.query import RunningQuery
from klamm.pipeline.sources.trouble import SourceUnreachable

Watch: TypeAlias = Callable[[Report], None]
Notice: TypeAlias = Callable[[str], None]

_LOOK_SECONDS = 0.2
_REPORT_SECONDS = 1.0
_SHORTEST_PAUSE = 1.0
_LONGEST_PAUSE = 15.0


@dataclass(slots=True)
class Pauses:
    """How long to wait before the next try: longer each time, until something works again."""

    # In all, since the last time that something worked; None: for ever.
    patience_seconds: float | None
    _next: float = _SHORTEST_PAUSE
    _failing_since: float | None = None

    def next(self, now: float) -> float | None:
        """None when the patience is at its end."""
        if self._failing_since is None:
            self._failing_since = now
        if self.patience_seconds is not None and now - self._failing_since > self.patience_seconds:
            return None
        pause, self._next = self._next, min(self._next * 2, _LONGEST_PAUSE)
        return pause

    def over(self) -> bool:
        """Something worked. True if it did not before."""
        was_failing = self._failing_since is not None
        self._next = _SHORTEST_PAUSE
        self._failing_since = None
        return was_failing


@dataclass(slots=True)
class _Kept:
    """A query that is to run."""

    startable: Startable
    pauses: Pauses
    running: RunningQuery | None = None
    # When it is to be started again.
    due: float | None = 0.0

    @property
    def has_ended(self) -> bool:
        return self.running is None and self.due is None


@dataclass(slots=True, kw_only=True)
class Supervisor:
    startables: Sequence[Startable]
    reporter: Reporter
    readers: Readers
    offsets: GroupOffsets
    cluster: ClusterWatch
    watch: Watch
    notice: Notice
    patience_seconds: float | None
    # How long a batch that runs may take to its end after the run was asked to stop.
    stop_seconds: float
    _kept: list[_Kept] = field(default_factory=list)
    _next_report: float = 0.0

    def run(self, stop: threading.Event) -> None:
        """Until all queries have ended, or `stop` is set. Raises PipelineFailed if one fails for good."""
        self._kept = [_Kept(each, Pauses(self.patience_seconds)) for each in self.startables]
        try:
            while not stop.is_set() and not all(each.has_ended for each in self._kept):
                for kept in self._kept:
                    self._look_after(kept)
                self._report()
                stop.wait(_LOOK_SECONDS)
        finally:
            self._end()
        self._report(is_last=True)

    def _look_after(self, kept: _Kept) -> None:
        if kept.running is not None and not kept.running.is_active:
            self._take_news(kept)
            running, kept.running = kept.running, None
            running.close()
            if (failure := running.failure()) is not None:
                self._try_later(kept, failure)
        elif kept.running is None and kept.due is not None and time.monotonic() >= kept.due:
            kept.due = None
            try:
                kept.running = kept.startable.start()
            except PipelineFailed as failure:
                self._try_later(kept, failure)

    def _try_later(self, kept: _Kept, failure: BaseException) -> None:
        name, trouble = kept.startable.name, trouble_of(failure)
        pause = kept.pauses.next(time.monotonic()) if trouble.may_pass else None
        if pause is None:
            trouble = self._cause(kept, trouble)
            sentence = trouble.sentence
            if not sentence.startswith(f"{name}: "):
                sentence = f"{name}: {sentence}"
            raise PipelineFailed(sentence, exit_code=trouble.exit_code) from failure
        self.notice(again(name, trouble, pause))
        kept.due = time.monotonic() + pause

    def _cause(self, kept: _Kept, trouble: Trouble) -> Trouble:
        """A topic that was made again has many faces: offsets that are not there, records that do not decode."""
        try:
            if kept.startable.check is not None:
                kept.startable.check()
        except TopicsChanged as changed:
            return trouble_of(changed)
        except SourceUnreachable:
            pass
        return trouble

    def _take_news(self, kept: _Kept) -> None:
        assert kept.running is not None
        news = kept.running.news()
        for progress in news:
            self.reporter.add(progress)
        # A batch, or that it found nothing new: whatever it was that failed, it did not this time.
        if news and kept.pauses.over():
            self.notice(f"{kept.startable.name}: works again")

    def _report(self, *, is_last: bool = False) -> None:
        now = time.monotonic()
        if now < self._next_report and not is_last:
            return
        self._next_report = now + _REPORT_SECONDS
        for kept in self._kept:
            if kept.running is not None:
                self._take_news(kept)
        report = self._with_ends(self.reporter.report(), is_last=is_last)
        ended = {each.startable.name for each in self._kept if each.has_ended}
        self.offsets.commit(processed_offsets(report, self.readers, ended))
        self.watch(report)

    def _with_ends(self, report: Report, *, is_last: bool) -> Report:
        if is_last:
            self.cluster.ask_once_more(report.partitions)
        elif self.cluster.look(report.partitions):
            # What failed because it was away need not wait for its time.
            for kept in self._kept:
                kept.due = None if kept.due is None else 0.0
        return report.with_ends(self.cluster.ends)

    def _end(self) -> None:
        """All at the same time: each may have a batch to finish."""
        still = [each for each in self._kept if each.running is not None]
        threads = [threading.Thread(target=self._end_one, args=(each,)) for each in still]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _end_one(self, kept: _Kept) -> None:
        running = kept.running
        assert running is not None
        try:
            running.stop(within_seconds=self.stop_seconds)
            self._take_news(kept)
        except Exception as error:  # noqa: BLE001 - it is to end, and the JVM may be gone already
            sentence = trouble_of(error).sentence.split("\n", 1)[0]
            self.notice(f"{kept.startable.name} was left behind as it did not end: {sentence}")
        finally:
            running.close()
            kept.running = kept.due = None


def again(name: str, trouble: Trouble, pause: float) -> str:
    """The one line that tells of a failure that may pass."""
    sentence = trouble.sentence.removeprefix(f"{name}: ").split("\n", 1)[0].rstrip(".")
    return f"{name}: {sentence}; trying again in {pause:.0f} s"
