"""Anomalies of what was written: lost, twice, elsewhere, out of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from chaos.cluster.checker.evidence import Evidence, Written
from chaos.cluster.checker.history import Outcome, Send
from klamm.base.ids import TopicPartition


def lost_write(evidence: Evidence) -> Iterator[str]:
    """Acknowledged, and not in the log."""
    for send in evidence.history.sends:
        if send.outcome is Outcome.OK and not evidence.places_of.get(send.value):
            yield f"{send.process}: {send.value!r}, acknowledged at {send.place}@{send.offset}, is gone"


def lost_after_read(evidence: Evidence) -> Iterator[str]:
    """Somebody read it, so it was committed to the log; now it is not there."""
    for poll in evidence.history.polls:
        for place, offset, value in poll.records:
            if place in evidence.logs and offset not in evidence.at[place]:
                yield f"{poll.process} read {value!r} at {place}@{offset}, where there is nothing now"


def inconsistent_offsets(evidence: Evidence) -> Iterator[str]:
    """One offset shows two values: to its writer, to readers or in the log."""
    seen: dict[tuple[TopicPartition, int], tuple[bytes, str]] = {}

    def look(place: TopicPartition, offset: int, value: bytes, who: str) -> Iterator[str]:
        first, by = seen.setdefault((place, offset), (value, who))
        if first != value:
            yield f"{place}@{offset} is {first!r} to {by} and {value!r} to {who}"

    for place, log in evidence.logs.items():
        for each in log.records:
            yield from look(place, each.offset, each.value, "the log")
    for send in evidence.history.sends:
        if send.outcome is Outcome.OK and send.offset >= 0:
            yield from look(send.place, send.offset, send.value, send.process)
    for poll in evidence.history.polls:
        for place, offset, value in poll.records:
            yield from look(place, offset, value, poll.process)
    for readers in (evidence.final_committed, evidence.final_uncommitted):
        for reader, places in readers.items():
            for place, found in places.items():
                for offset, value in found.items():
                    yield from look(place, offset, value, reader)


def moved_write(evidence: Evidence) -> Iterator[str]:
    """In the log, and not where its writer was told."""
    for send in evidence.history.sends:
        found = evidence.places_of.get(send.value, [])
        if send.outcome is not Outcome.OK or send.offset < 0 or not found:
            continue
        where = [(place, each.offset) for place, each in found]
        if (send.place, send.offset) not in where:
            yield f"{send.value!r} was acknowledged at {send.place}@{send.offset} and is at {where}"


def duplicate(evidence: Evidence) -> Iterator[str]:
    """One value twice by the broker's fault: the same producer, epoch and sequence, or the same epoch at all."""
    for value, found in evidence.places_of.items():
        seen: dict[tuple[TopicPartition, int, int], Written] = {}
        for place, each in found:
            other = seen.setdefault((place, each.producer_id, each.epoch), each)
            if other is not each:
                yield f"{value!r} is at {place}@{other.offset} and @{each.offset}, in one epoch"


def resent_by_client(evidence: Evidence) -> Iterator[str]:
    """One value twice since its client took a new epoch and sent it again (librdkafka's issue 4953)."""
    for value, found in evidence.places_of.items():
        writers = {(each.producer_id, each.epoch) for _, each in found}
        if len(writers) < 2:
            continue
        send = evidence.send_of.get(value)
        client = "unknown" if send is None else send.client
        yield f"{client}: {value!r} is in the log by {sorted(writers)}"


def resent_by_our_client(evidence: Evidence) -> Iterator[str]:
    """The same, and the client is klamm's own, which must not do so."""
    return (each for each in resent_by_client(evidence) if each.startswith("klamm:"))


def sequence_gap(evidence: Evidence) -> Iterator[str]:
    """Within an epoch of a producer its sequences are in the log without a gap, and in order."""
    for place, log in evidence.logs.items():
        last: dict[tuple[int, int], Written] = {}
        for each in log.records:
            if each.sequence < 0:
                continue
            before = last.get((each.producer_id, each.epoch))
            if before is not None and each.sequence != (before.sequence + 1) & 0x7FFFFFFF:
                yield (
                    f"{place}: producer {each.producer_id} epoch {each.epoch} wrote {before.sequence}"
                    f" @{before.offset} and then {each.sequence} @{each.offset}"
                )
            last[each.producer_id, each.epoch] = each


def older_epoch_after_newer(evidence: Evidence) -> Iterator[str]:
    """In a partition a producer's epochs only rise: an old one can add nothing."""
    for place, log in evidence.logs.items():
        newest: dict[int, Written] = {}
        for each in log.records:
            if each.producer_id < 0:
                continue
            before = newest.setdefault(each.producer_id, each)
            if each.epoch < before.epoch:
                yield (
                    f"{place}@{each.offset}: producer {each.producer_id} epoch {each.epoch}"
                    f" after epoch {before.epoch} @{before.offset}"
                )
            else:
                newest[each.producer_id] = each


def nonmonotonic_send(evidence: Evidence) -> Iterator[str]:
    """A process sent one record after another, and the later one has the lower offset."""
    yield from _falling(evidence.history.sends, lambda send: (send.process, send.place))


def int_nonmonotonic_send(evidence: Evidence) -> Iterator[str]:
    """The same within one transaction."""
    in_transactions = (send for send in evidence.history.sends if send.transaction is not None)
    yield from _falling(in_transactions, lambda send: (id(send.transaction), send.place))


def _falling(sends: Iterable[Send], key_of: Callable[[Send], object]) -> Iterator[str]:
    last: dict[object, Send] = {}
    for send in sends:
        if send.outcome is not Outcome.OK or send.offset < 0:
            continue
        before = last.get(key_of(send))
        if before is not None and send.offset <= before.offset:
            yield (
                f"{send.process}: {before.value!r} is at {send.place}@{before.offset},"
                f" {send.value!r}, sent after it, @{send.offset}"
            )
        last[key_of(send)] = send


def phantom(evidence: Evidence) -> Iterator[str]:
    """In the log, and nobody has sent it."""
    for value, found in evidence.places_of.items():
        send = evidence.send_of.get(value)
        place, each = found[0]
        if send is None:
            yield f"{value!r} is at {place}@{each.offset}, and nobody has sent it"
        elif send.place != place:
            yield f"{value!r} was sent to {send.place} and is at {place}@{each.offset}"
