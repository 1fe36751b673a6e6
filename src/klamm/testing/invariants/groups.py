"""Groups: who owns what, and what they have committed."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.ids import TopicPartition
from klamm.testing.history import Commit, Outcome
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence


@invariant("G1")
def a_partition_has_one_owner_in_a_generation(evidence: Evidence) -> Iterator[str]:
    """Of groups whose members are told all that they own with each generation."""
    owners: dict[tuple[str, int, TopicPartition], str] = {}
    for (group, generation, member), places in evidence.history.assignments.items():
        for place in places:
            other = owners.setdefault((group, generation, place), member)
            if other != member:
                yield f"{group} generation {generation}: {other} and {member} both own {place}"


@invariant("G2")
def an_older_generation_commits_nothing(evidence: Evidence) -> Iterator[str]:
    """Where generations are of the group: who commits in one is refused when a newer one has committed."""
    newest: dict[str, tuple[int, float]] = {}
    done = [each for each in evidence.history.commits if each.outcome is Outcome.DONE]
    for commit in sorted(done, key=lambda each: each.ended):
        generation, ended = newest.get(commit.group, (-1, -1.0))
        if commit.has_group_generation and commit.generation < generation and commit.began > ended:
            yield f"{commit.group}: {commit.member} committed in {commit.generation} after {generation}"
        if commit.generation > generation:
            newest[commit.group] = commit.generation, commit.ended


@invariant("G2")
def a_committed_offset_stays(evidence: Evidence) -> Iterator[str]:
    """A group has the offset that was committed last, or one whose client never heard the answer."""
    by_place: dict[tuple[str, TopicPartition], list[Commit]] = {}
    for commit in evidence.history.commits:
        by_place.setdefault((commit.group, commit.place), []).append(commit)
    for (group, place), commits in by_place.items():
        offsets = evidence.looks[-1].offsets.get(group)
        asked_from, asked_to = evidence.looks[-1].asked
        done = [each for each in commits if _is_done_by(each, asked_from)]
        if offsets is None or not done:
            continue
        last = max(done, key=lambda each: each.ended)
        # Those that were under way at the same time, or since, may have come last.
        allowed = {
            each.offset
            for each in commits
            if each.began < asked_to
            and (each.outcome is Outcome.UNKNOWN or each.ended >= last.began)
        }
        found = offsets.get(place, -1)
        if found not in allowed:
            yield f"{group}: {place} is at {found}, and {sorted(allowed)} may be"


def _is_done_by(commit: Commit, when: float) -> bool:
    return commit.outcome is Outcome.DONE and commit.ended < when


@invariant("G2")
def commits_never_fall(evidence: Evidence) -> Iterator[str]:
    """Who takes over goes on where the one before has committed, and commits nothing below that."""
    by_place: dict[tuple[str, TopicPartition], list[Commit]] = {}
    for commit in evidence.history.commits:
        if commit.outcome is Outcome.DONE:
            by_place.setdefault((commit.group, commit.place), []).append(commit)
    for (group, place), commits in by_place.items():
        highest: list[Commit] = []
        for commit in sorted(commits, key=lambda each: each.ended):
            before = [each for each in highest if each.ended < commit.began]
            if before and commit.offset < before[-1].offset:
                yield (
                    f"{group}: {commit.member} committed {commit.offset} of {place} after "
                    f"{before[-1].member} had committed {before[-1].offset}"
                )
            if not highest or commit.offset > highest[-1].offset:
                highest.append(commit)
