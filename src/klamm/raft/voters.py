"""Who votes: from the settings (a static quorum), or from control records of the log itself (KIP-853).

Where the log has the voters, the newest record holds as soon as it is written, committed or not, and what a truncation
takes away never was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.messages.control import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    VotersRecord,
    VotersRecordVoter,
)
from klamm.protocol.records.control import ControlMessage
from klamm.raft.messages import Address, ReplicaKey

# Those that this code understands, the lowest and the highest.
KRAFT_VERSIONS = (0, 1)


class Voter(NamedTuple):
    id: int
    directory: Uuid = ZERO_UUID
    # By the name of the listener.
    endpoints: tuple[tuple[str, Address], ...] = ()
    kraft_versions: tuple[int, int] = KRAFT_VERSIONS

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.directory)

    @property
    def address(self) -> Address | None:
        return self.endpoints[0][1] if self.endpoints else None


@dataclass(frozen=True, slots=True)
class VoterSet:
    voters: tuple[Voter, ...] = ()

    @classmethod
    def static(cls, addresses: Mapping[int, Address | None], listener: str = "") -> Self:
        """Of settings, which know no directories."""
        return cls(
            tuple(
                Voter(each, endpoints=((listener, address),) if address else ())
                for each, address in sorted(addresses.items())
            )
        )

    @classmethod
    def of(cls, record: VotersRecord) -> Self:
        return cls(tuple(_from_record(each) for each in record.voters))

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(each.id for each in self.voters)

    def find(self, node_id: int) -> Voter | None:
        return next((each for each in self.voters if each.id == node_id), None)

    def has(self, key: ReplicaKey) -> bool:
        """A voter whose directory nobody knows is known by its id."""
        voter = self.find(key.id)
        return voter is not None and voter.directory in (ZERO_UUID, key.directory)

    def others(self, node_id: int) -> list[Voter]:
        return [each for each in self.voters if each.id != node_id]

    def with_voter(self, voter: Voter) -> VoterSet:
        others = [each for each in self.voters if each.id != voter.id]
        return VoterSet(tuple(sorted([*others, voter], key=lambda each: each.id)))

    def without(self, node_id: int) -> VoterSet:
        return VoterSet(tuple(self.others(node_id)))

    def to_record(self) -> VotersRecord:
        return VotersRecord(voters=[_to_record(each) for each in self.voters])


def _from_record(voter: VotersRecordVoter) -> Voter:
    feature = voter.kraft_version_feature
    return Voter(
        voter.voter_id,
        voter.voter_directory_id,
        tuple((each.name, Address(each.host, each.port)) for each in voter.endpoints),
        (feature.min_supported_version, feature.max_supported_version),
    )


def _to_record(voter: Voter) -> VotersRecordVoter:
    lowest, highest = voter.kraft_versions
    return VotersRecordVoter(
        voter_id=voter.id,
        voter_directory_id=voter.directory,
        endpoints=[Endpoint(name=name, host=at.host, port=at.port) for name, at in voter.endpoints],
        kraft_version_feature=KRaftVersionFeature(
            min_supported_version=lowest, max_supported_version=highest
        ),
    )


@dataclass(frozen=True, slots=True)
class VoterRecords:
    """What the log itself says of its voters; a quorum whose voters stand in the settings says nothing."""

    version: KRaftVersionRecord | None = None
    voters: VotersRecord | None = None

    @property
    def is_dynamic(self) -> bool:
        return self.version is not None and self.version.kraft_version > 0

    @property
    def ids(self) -> frozenset[int]:
        return VoterSet.of(self.voters).ids if self.voters else frozenset()

    @property
    def messages(self) -> list[ControlMessage]:
        return [each for each in (self.version, self.voters) if each is not None]

    def after(self, message: ControlMessage) -> Self:
        """The newest record of each kind holds."""
        if isinstance(message, KRaftVersionRecord):
            return replace(self, version=message)
        if isinstance(message, VotersRecord):
            return replace(self, voters=message)
        return self


class VoterHistory:
    """The voter records by the offset behind which they hold: a truncation goes back to what held before."""

    __slots__ = ("_entries", "_static")

    def __init__(self, static: VoterSet, entries: Iterable[tuple[int, VoterRecords]] = ()) -> None:
        self._static = static
        self._entries = list(entries)

    @property
    def records(self) -> VoterRecords:
        return self._entries[-1][1] if self._entries else VoterRecords()

    @property
    def voters(self) -> VoterSet:
        records = self.records
        if records.is_dynamic and records.voters is not None:
            return VoterSet.of(records.voters)
        return self._static

    @property
    def changed_at(self) -> int:
        """The offset of the newest record; -1 if there is none."""
        return self._entries[-1][0] if self._entries else -1

    def records_at(self, end_offset: int) -> VoterRecords:
        """What held at the end of a log of that length."""
        held = VoterRecords()
        for offset, records in self._entries:
            if offset >= end_offset:
                break
            held = records
        return held

    def note(self, offset: int, message: ControlMessage) -> None:
        after = self.records.after(message)
        if after is not self.records:
            self._entries.append((offset, after))

    def truncate(self, end_offset: int) -> None:
        while self._entries and self._entries[-1][0] >= end_offset:
            self._entries.pop()

    def restart(self, offset: int, records: VoterRecords) -> None:
        """A snapshot took the place of the log."""
        self._entries = [(offset - 1, records)] if records.messages else []
