"""What the log itself says of its voters (KIP-853).

A quorum whose voters stand in the settings says nothing. One that was formatted with voters of its own has them in
control records, in the log and at the head of each snapshot; those must be carried on, or its voters would be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from klamm.protocol.messages.control import KRaftVersionRecord, VotersRecord
from klamm.protocol.records.control import ControlMessage


@dataclass(frozen=True, slots=True)
class VoterRecords:
    version: KRaftVersionRecord | None = None
    voters: VotersRecord | None = None

    @property
    def is_dynamic(self) -> bool:
        return self.version is not None and self.version.kraft_version > 0

    @property
    def ids(self) -> frozenset[int]:
        return (
            frozenset(each.voter_id for each in self.voters.voters) if self.voters else frozenset()
        )

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
