"""Transactions: all or nothing, decided once, by the one who owns the id."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.ids import TopicPartition
from klamm.testing.history import Outcome, Transaction
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence


def _visible(evidence: Evidence, transaction: Transaction) -> list[bool]:
    """Of each record of it that must be somewhere: whether readers of committed records see it."""
    found = []
    for sent in transaction.sent:
        log = evidence.log_of(sent.place, sent.began)
        if sent.outcome is not Outcome.DONE or log is None or sent.offset < log.start:
            continue
        if not log.is_compacted:
            found.append(log.decisions().get(sent.offset) is True)
    return found


@invariant("T1")
def a_transaction_is_seen_whole_or_not_at_all(evidence: Evidence) -> Iterator[str]:
    """In every partition alike, and as its client was told."""
    for each in evidence.history.transactions:
        visible = _visible(evidence, each)
        name = f"{each.transactional_id} run {each.run} from {each.began:.3f}"
        if each.outcome is Outcome.DONE:
            if each.is_commit and not all(visible):
                yield f"{name} was committed, and {visible.count(False)} records are not to be seen"
            if not each.is_commit and any(visible):
                yield f"{name} was aborted, and {visible.count(True)} records are to be seen"
        elif len(set(visible)) > 1:
            yield f"{name} is torn: {visible}"


@invariant("T1")
def offsets_of_a_transaction_are_committed_with_it(evidence: Evidence) -> Iterator[str]:
    """The group has the offsets of the last transaction that committed, and of none that did not."""
    offsets = evidence.looks[-1].offsets
    asked_from, asked_to = evidence.looks[-1].asked
    committed: dict[str, dict[TopicPartition, int]] = {}
    possible: dict[str, dict[TopicPartition, set[int]]] = {}
    for each in evidence.history.transactions:
        if each.group is None or each.group not in offsets:
            continue
        for place, offset in each.group_offsets.items():
            if not each.is_commit or each.began > asked_to:
                continue
            if each.outcome is Outcome.DONE and each.ended < asked_from:
                known = committed.setdefault(each.group, {})
                known[place] = max(offset, known.get(place, -1))
            else:
                possible.setdefault(each.group, {}).setdefault(place, set()).add(offset)
    for group, places in committed.items():
        for place, offset in places.items():
            found = offsets[group].get(place, -1)
            allowed = {o for o in possible.get(group, {}).get(place, ()) if o > offset} | {offset}
            if found not in allowed:
                yield f"{group}: {place} is at {found}, and {sorted(allowed)} were committed"


@invariant("T2")
def readers_of_committed_records_see_no_others(evidence: Evidence) -> Iterator[str]:
    """Nothing of an aborted or an open transaction was ever returned."""
    aborted = {
        sent.value: each
        for each in evidence.history.transactions
        if each.outcome is Outcome.DONE and not each.is_commit
        for sent in each.sent
    }
    for read in evidence.history.reads:
        if not read.is_committed:
            continue
        if read.value in aborted:
            yield f"{read.reader} read {read.value!r}, which was aborted"
        log = evidence.log_of(read.place, read.at)
        if log is None or not log.start <= read.offset < log.end:
            continue
        if log.decisions().get(read.offset, True) is not True:
            yield f"{read.reader} read {read.place} at {read.offset}, which is not committed"


@invariant("T2")
def nothing_is_stable_behind_an_open_transaction(evidence: Evidence) -> Iterator[str]:
    """The last stable offset is not above the first record of a transaction without an end."""
    for log in evidence.scan.values():
        undecided = [at for at, decision in log.decisions().items() if decision is None]
        if undecided and log.last_stable_offset > min(undecided):
            yield f"{log.place}: stable up to {log.last_stable_offset}, open from {min(undecided)}"


@invariant("T2")
def the_last_stable_offset_never_goes_back(evidence: Evidence) -> Iterator[str]:
    """What was stable stays so, unless it was taken away: by a power failure, or the log begins earlier again."""
    before = evidence.before
    if before is None or evidence.looks[-1].is_after_power_failure:
        return
    for place, old in before.scan.items():
        new = evidence.scan.get(place)
        if new is None or new.topic_id != old.topic_id:
            continue
        if new.start >= old.start and new.last_stable_offset < old.last_stable_offset:
            yield f"{place}: stable up to {old.last_stable_offset}, now {new.last_stable_offset}"


@invariant("T3")
def an_older_run_of_a_producer_is_fenced(evidence: Evidence) -> Iterator[str]:
    """What it begins after a newer one was let in fails."""
    history = evidence.history
    for each in history.transactions:
        own = history.initialized.get((each.transactional_id, each.run))
        if own is None:
            continue
        fenced = [
            ended
            for (name, _), (began, ended) in history.initialized.items()
            if name == each.transactional_id and began > own[1]
        ]
        if not fenced:
            continue
        name = f"{each.transactional_id} run {each.run}"
        for sent in each.sent:
            if sent.outcome is Outcome.DONE and sent.began > min(fenced):
                yield f"{name} wrote {sent.value!r} after it was fenced at {min(fenced):.3f}"
        is_committed = each.outcome is Outcome.DONE and each.is_commit
        is_empty = not (each.sent or each.group_offsets)
        if is_committed and not is_empty and each.ending_began > min(fenced):
            yield f"{name} committed after it was fenced at {min(fenced):.3f}"


@invariant("T4")
def a_decision_stands(evidence: Evidence) -> Iterator[str]:
    """What was decided before is decided alike now, also after a crash."""
    before = evidence.before
    if before is None or evidence.looks[-1].is_after_power_failure:
        return
    for place, old in before.scan.items():
        new = evidence.scan.get(place)
        if new is None or new.topic_id != old.topic_id:
            continue
        now = new.decisions()
        for offset, decision in old.decisions().items():
            if decision is not None and now.get(offset, decision) is not decision:
                yield f"{place}: the transaction at {offset} was decided otherwise before"


@invariant("T4")
def a_transaction_is_ended_once(evidence: Evidence) -> Iterator[str]:
    """Each has an epoch of its own, so the markers of one epoch say the same, however often they were written."""
    for log in evidence.scan.values():
        ends: dict[tuple[int, int], bool] = {}
        for batch in log.batches:
            if batch.marker is None:
                continue
            producer = batch.producer_id, batch.epoch
            if ends.setdefault(producer, batch.marker) is not batch.marker:
                yield f"{log.place}: {producer} is committed and aborted, at {batch.base_offset}"


@invariant("T2")
def every_transaction_ends(evidence: Evidence) -> Iterator[str]:
    """When all timeouts have passed, everything that is committed is stable."""
    for log in evidence.scan.values():
        if log.last_stable_offset < log.high_watermark:
            yield (
                f"{log.place}: stable up to {log.last_stable_offset}, committed up to "
                f"{log.high_watermark}"
            )
