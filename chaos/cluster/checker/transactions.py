"""Anomalies of transactions: read too early, read although aborted, torn, written by somebody who was fenced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.cluster.checker.evidence import Evidence
from chaos.cluster.checker.history import Outcome, Poll, Send, Transaction


def aborted_read(evidence: Evidence) -> Iterator[str]:
    """G1a: a reader of committed records was given one whose write failed or whose transaction was aborted."""
    for who, value in _committed_reads(evidence):
        send = evidence.send_of.get(value)
        if send is None:
            continue
        if send.outcome is Outcome.FAILED:
            yield f"{who} read {value!r}, which was not written"
        if send.transaction is not None and send.transaction.is_aborted:
            yield f"{who} read {value!r}, which was aborted"


def dirty_read(evidence: Evidence) -> Iterator[str]:
    """A reader of committed records had a record before anybody asked for its transaction to be committed."""
    for poll in evidence.history.polls:
        if not poll.is_committed:
            continue
        for place, offset, value in poll.records:
            part_of = evidence.transaction_of(value)
            if part_of is not None and poll.completed < part_of.ending:
                yield f"{poll.process} read {value!r} at {place}@{offset} while its transaction was open"


def precommitted_read(evidence: Evidence) -> Iterator[str]:
    """A transaction was given its own writes."""
    for transaction in evidence.history.transactions:
        own = {send.value for send in transaction.sends}
        for poll in transaction.polls:
            for place, offset, value in poll.records:
                if value in own:
                    yield f"{_name(transaction)} read {value!r} at {place}@{offset}, its own"


def torn_transaction(evidence: Evidence) -> Iterator[str]:
    """G1b in the final log: a part of a transaction is to be seen, and not all of what was acknowledged in it."""
    for transaction in evidence.history.transactions:
        done = [send for send in transaction.sends if send.outcome is Outcome.OK]
        shown = [send for send in done if evidence.is_visible(send)]
        if transaction.is_committed and len(shown) < len(done):
            yield f"{_name(transaction)} was committed; {len(done) - len(shown)} of {len(done)} are not to be seen"
        elif transaction.is_aborted and shown:
            yield f"{_name(transaction)} was aborted; {len(shown)} of {len(done)} are to be seen"
        elif 0 < len(shown) < len(done):
            yield f"{_name(transaction)}: {len(shown)} of {len(done)} are to be seen"


def never_ended(evidence: Evidence) -> Iterator[str]:
    """All is quiet, and a transaction still holds readers up."""
    for place, log in evidence.logs.items():
        held = [each.offset for each in log.records if each.is_committed is None]
        if held:
            yield f"{place}: the transaction at {held[0]} has no end"


def cycle_of_reads(evidence: Evidence) -> Iterator[str]:
    """G1c: transactions that each read what the next one wrote, round in a circle."""
    graph: dict[int, set[int]] = {}
    named: dict[int, Transaction] = {}
    for reader in evidence.history.transactions:
        for poll in reader.polls:
            for _, _, value in poll.records:
                writer = evidence.transaction_of(value)
                if writer is not None and writer is not reader:
                    graph.setdefault(id(writer), set()).add(id(reader))
                    named[id(writer)], named[id(reader)] = writer, reader
    for cycle in _cycles(graph):
        yield " -> ".join(_name(named[each]) for each in cycle)


def zombie_write(evidence: Evidence) -> Iterator[str]:
    """Whoever lost its transactional id had something acknowledged that it began afterwards."""
    fenced: dict[str, list[tuple[int, float]]] = {}
    for each in evidence.history.takeovers:
        fenced.setdefault(each.transactional_id, []).append((each.run, each.completed))
    for transaction in evidence.history.transactions:
        since = min(
            (
                at
                for run, at in fenced.get(transaction.transactional_id, ())
                if run > transaction.run
            ),
            default=None,
        )
        if since is None:
            continue
        for send in transaction.sends:
            if send.outcome is Outcome.OK and send.invoked > since:
                yield f"{_name(transaction)} wrote {send.value!r} after it was fenced"
        is_empty = not transaction.sends and not transaction.offsets
        if transaction.is_committed and transaction.ending > since and not is_empty:
            yield f"{_name(transaction)} was committed after it was fenced"


def copied_wrong(evidence: Evidence) -> Iterator[str]:
    """Reading, writing and committing offsets in one transaction copies each record once, and nothing else."""
    for target, source in evidence.copies.items():
        # A client may have written a value twice: then two records are to be copied.
        wanted = Counter(_visible_values(evidence, source))
        found = Counter(value.rpartition(b"=")[2] for value in _visible_values(evidence, target))
        for value in wanted | found:
            if wanted[value] != found[value]:
                yield f"{value!r} is {wanted[value]} times in {source}, {found[value]} in {target}"


def _visible_values(evidence: Evidence, topic: str) -> Iterator[bytes]:
    for place, log in evidence.logs.items():
        if place.topic == topic:
            yield from (each.value for each in log.records if each.is_committed is True)


def _committed_reads(evidence: Evidence) -> Iterator[tuple[str, bytes]]:
    for poll in evidence.history.polls:
        if poll.is_committed:
            yield from _values(poll)
    for reader, places in evidence.final_committed.items():
        for found in places.values():
            for value in found.values():
                yield reader, value


def _values(poll: Poll) -> Iterator[tuple[str, bytes]]:
    for _, _, value in poll.records:
        yield poll.process, value


def _name(transaction: Transaction) -> str:
    first: list[Send] = transaction.sends[:1]
    with_value = f" with {first[0].value!r}" if first else ""
    return f"{transaction.transactional_id} run {transaction.run}{with_value}"


def _cycles(graph: dict[int, set[int]]) -> Iterator[list[int]]:
    """One circle, if there are any: in what is left when all that lead nowhere have gone, every way ends in one."""
    left = {node: set(targets) for node, targets in graph.items()}
    while ends := [node for node, targets in left.items() if not targets & left.keys()]:
        for node in ends:
            del left[node]
    if left:
        path = [next(iter(left))]
        while (following := min(left[path[-1]] & left.keys())) not in path:
            path.append(following)
        yield path[path.index(following) :]
