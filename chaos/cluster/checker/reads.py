"""Anomalies of what was read: unseen, skipped, going back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from chaos.cluster.checker.evidence import Evidence
from chaos.cluster.checker.history import Outcome, Poll
from klamm.base.ids import TopicPartition


def unseen(evidence: Evidence) -> Iterator[str]:
    """Acknowledged, committed, and a reader that went to the end has not met it."""
    for send in evidence.history.sends:
        part_of = send.transaction
        if send.outcome is not Outcome.OK or (part_of is not None and not part_of.is_committed):
            continue
        for readers in (evidence.final_committed, evidence.final_uncommitted):
            for reader, places in readers.items():
                found = places.get(send.place, {})
                is_found = send.value in (
                    (found.get(send.offset),) if send.offset >= 0 else found.values()
                )
                if not is_found:
                    yield f"{reader} did not find {send.value!r} at {send.place}@{send.offset}"


def readers_disagree(evidence: Evidence) -> Iterator[str]:
    """Two readers of the same kind went to the end and found different things, or others than the log has."""
    for place in evidence.logs:
        visible = evidence.visible[place]
        for reader, places in evidence.final_committed.items():
            found = sorted(places.get(place, {}))
            if found != visible:
                odd = sorted(set(found) ^ set(visible))
                yield f"{place}: {reader} and the log differ in what is committed at {odd[:9]}"
        everything = evidence.everything[place]
        for reader, places in evidence.final_uncommitted.items():
            found = sorted(places.get(place, {}))
            if found != everything:
                odd = sorted(set(found) ^ set(everything))
                yield f"{place}: {reader} and the log differ at {odd[:9]}"


def int_nonmonotonic_poll(evidence: Evidence) -> Iterator[str]:
    """Within one poll, or all those of a transaction, a partition's offsets do not rise."""
    for poll in evidence.history.polls:
        yield from _backwards([poll])
    for transaction in evidence.history.transactions:
        if transaction.polls:
            yield from _backwards(transaction.polls)


def nonmonotonic_poll(evidence: Evidence) -> Iterator[str]:
    """Between two polls of a session a partition's offsets do not rise."""
    for polls in _sessions(evidence).values():
        yield from _backwards(polls)


def int_poll_skip(evidence: Evidence) -> Iterator[str]:
    """Within one poll something is left out that the reader should have been given."""
    for poll in evidence.history.polls:
        yield from _skips(evidence, [poll])


def poll_skip(evidence: Evidence) -> Iterator[str]:
    """Between two polls of a session something is left out."""
    for polls in _sessions(evidence).values():
        yield from _skips(evidence, polls)


def _sessions(evidence: Evidence) -> dict[tuple[str, int], list[Poll]]:
    found: dict[tuple[str, int], list[Poll]] = {}
    for poll in evidence.history.polls:
        found.setdefault((poll.process, poll.session), []).append(poll)
    return found


def _backwards(polls: list[Poll]) -> Iterator[str]:
    last: dict[TopicPartition, int] = {}
    for poll in polls:
        for place, offset, _ in poll.records:
            if offset <= last.get(place, -1):
                yield f"{poll.process} was at {place}@{last[place]} and was given @{offset}"
            last[place] = offset


def _skips(evidence: Evidence, polls: list[Poll]) -> Iterator[str]:
    last: dict[TopicPartition, int] = {}
    for poll in polls:
        for place, offset, _ in poll.records:
            before = last.get(place)
            last[place] = offset
            if before is None or place not in evidence.logs:
                continue
            offsets = (evidence.visible if poll.is_committed else evidence.everything)[place]
            passed = offsets[bisect_right(offsets, before) : bisect_left(offsets, offset)]
            if passed:
                yield f"{poll.process} went from {place}@{before} to @{offset} past {passed[:9]}"
