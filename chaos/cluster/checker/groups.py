"""Anomalies of groups: two owners, offsets that go back, records that nobody was given."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.cluster.checker.evidence import Evidence
from chaos.cluster.checker.history import Commit, Outcome, Ownership
from klamm.base.ids import TopicPartition

Place = tuple[str, TopicPartition]


def two_owners(evidence: Evidence) -> Iterator[str]:
    """One partition belongs to two members in the same generation."""
    owners: dict[tuple[str, int, TopicPartition], str] = {}
    for each in evidence.history.ownerships:
        if each.generation is not None:
            key = each.group, each.generation, each.place
            other = owners.setdefault(key, each.member)
            if other != each.member:
                yield f"{each.group} generation {each.generation}: {other} and {each.member} own {each.place}"


def commit_of_a_former_owner(evidence: Evidence) -> Iterator[str]:
    """A member commits, and is not refused, after another one was given the partition and while that one has it."""
    by_place = _ownerships(evidence)
    for commit in evidence.history.commits:
        if commit.outcome is not Outcome.OK:
            continue
        known = by_place.get((commit.group, commit.place), [])
        own = [o for o in known if o.member == commit.member and o.since <= commit.invoked]
        if not own:
            continue
        mine = max(own, key=lambda each: each.since)
        for other in known:
            is_later = other.member != commit.member and other.since > mine.since
            if is_later and other.since < commit.invoked and commit.completed < other.until:
                yield (
                    f"{commit.group}: {commit.member} committed {commit.place}@{commit.offset},"
                    f" which {other.member} owns"
                )


def commit_of_an_older_generation(evidence: Evidence) -> Iterator[str]:
    """Where generations are of the whole group, the older one commits nothing after the newer one has."""
    newest: dict[str, Commit] = {}
    done = [each for each in evidence.history.commits if each.outcome is Outcome.OK]
    for commit in sorted(done, key=lambda each: each.completed):
        if commit.generation is None:
            continue
        other = newest.get(commit.group)
        if other is None or other.generation is None or commit.generation > other.generation:
            newest[commit.group] = commit
        elif commit.generation < other.generation and commit.invoked > other.completed:
            yield (
                f"{commit.group}: {commit.member} committed in generation {commit.generation}"
                f" after {other.member} in {other.generation}"
            )


def committed_offset_lost(evidence: Evidence) -> Iterator[str]:
    """A group's offset is not the one that was committed last, nor one whose outcome nobody knows."""
    by_place = _commits(evidence)
    for (group, place), found in evidence.offsets.items():
        commits = by_place.get((group, place), [])
        done = [
            each
            for each in commits
            if each.outcome is Outcome.OK and each.completed < found.invoked
        ]
        if not done:
            continue
        last = max(done, key=lambda each: each.completed)
        # Those that were under way at the same time may have come later.
        allowed = {
            each.offset
            for each in commits
            if each.invoked < found.completed
            and each.outcome is not Outcome.FAILED
            and each.completed >= last.invoked
        }
        if found.offset not in allowed:
            yield f"{group}: {place} is at {found.offset}, and {sorted(allowed)} may be"


def offset_went_back(evidence: Evidence) -> Iterator[str]:
    """A member began to read a partition below an offset that had been committed when it was given it."""
    commits = _commits(evidence)
    first = _first_reads(evidence)
    for own in evidence.history.ownerships:
        begun = first.get(id(own))
        if begun is None:
            continue
        done = [
            each.offset
            for each in commits.get((own.group, own.place), ())
            if each.outcome is Outcome.OK and each.completed < own.since
        ]
        if done and begun < max(done):
            yield f"{own.group}: {own.member} began {own.place} at {begun}, after {max(done)} was committed"


def skipped_by_group(evidence: Evidence) -> Iterator[str]:
    """A group says that it is done with a record that none of its members was ever given."""
    given: dict[Place, set[int]] = {}
    for poll in evidence.history.polls:
        if poll.group is not None:
            for place, offset, _ in poll.records:
                given.setdefault((poll.group, place), set()).add(offset)
    for (group, place), found in evidence.offsets.items():
        known = given.get((group, place), set())
        missing = [
            offset
            for offset in evidence.visible.get(place, ())
            if offset < found.offset and offset not in known
        ]
        if missing:
            yield f"{group}: {place} is done up to {found.offset}, and nobody was given {missing[:9]}"


def _ownerships(evidence: Evidence) -> dict[Place, list[Ownership]]:
    found: dict[Place, list[Ownership]] = {}
    for each in evidence.history.ownerships:
        found.setdefault((each.group, each.place), []).append(each)
    return found


def _commits(evidence: Evidence) -> dict[Place, list[Commit]]:
    """Those of transactions as well."""
    found: dict[Place, list[Commit]] = {}
    for each in evidence.history.commits:
        found.setdefault((each.group, each.place), []).append(each)
    for transaction in evidence.history.transactions:
        if transaction.group is None or transaction.is_aborted:
            continue
        for place, offset in transaction.offsets.items():
            commit = Commit(
                group=transaction.group,
                member=transaction.process,
                place=place,
                offset=offset,
                invoked=min(transaction.ending, transaction.completed),
                outcome=transaction.outcome if transaction.is_commit else Outcome.UNKNOWN,
                completed=transaction.completed,
            )
            found.setdefault((transaction.group, place), []).append(commit)
    return found


def _first_reads(evidence: Evidence) -> dict[int, int]:
    """Of each ownership: the first offset that its member was given in it."""
    by_member: dict[tuple[str, str, TopicPartition], list[tuple[float, int]]] = {}
    for poll in evidence.history.polls:
        if poll.group is None:
            continue
        seen: set[TopicPartition] = set()
        for place, offset, _ in poll.records:
            if place not in seen:
                seen.add(place)
                key = poll.group, poll.process, place
                by_member.setdefault(key, []).append((poll.completed, offset))
    found: dict[int, int] = {}
    for own in evidence.history.ownerships:
        for at, offset in by_member.get((own.group, own.member, own.place), ()):
            if own.since <= at < own.until:
                found[id(own)] = offset
                break
    return found
