"""All anomalies, and the verdict on a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from chaos.cluster.checker import groups, reads, transactions, writes
from chaos.cluster.checker.evidence import Evidence

Anomaly = Callable[[Evidence], Iterator[str]]

ANOMALIES: tuple[Anomaly, ...] = (
    writes.lost_write,
    writes.lost_after_read,
    writes.inconsistent_offsets,
    writes.moved_write,
    writes.duplicate,
    writes.resent_by_our_client,
    writes.sequence_gap,
    writes.older_epoch_after_newer,
    writes.nonmonotonic_send,
    writes.int_nonmonotonic_send,
    writes.phantom,
    reads.unseen,
    reads.readers_disagree,
    reads.int_nonmonotonic_poll,
    reads.nonmonotonic_poll,
    reads.int_poll_skip,
    reads.poll_skip,
    transactions.aborted_read,
    transactions.dirty_read,
    transactions.precommitted_read,
    transactions.torn_transaction,
    transactions.never_ended,
    transactions.cycle_of_reads,
    transactions.zombie_write,
    transactions.copied_wrong,
    groups.two_owners,
    groups.commit_of_a_former_owner,
    groups.commit_of_an_older_generation,
    groups.committed_offset_lost,
    groups.offset_went_back,
    groups.skipped_by_group,
)
# Told of, and no fault of a broker.
NOTES: tuple[Anomaly, ...] = (writes.resent_by_client,)
_MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self.count}", *(f"  {each}" for each in self.examples)])


def check(evidence: Evidence) -> list[Finding]:
    """Empty if all is well."""
    return _look(ANOMALIES, evidence)


def notes(evidence: Evidence) -> list[Finding]:
    return _look(NOTES, evidence)


def _look(kinds: tuple[Anomaly, ...], evidence: Evidence) -> list[Finding]:
    findings = []
    for kind in kinds:
        found = kind(evidence)
        examples = tuple(islice(found, _MOST_EXAMPLES))
        if examples:
            count = len(examples) + sum(1 for _ in found)
            findings.append(Finding(kind.__name__, count, examples))
    return findings
