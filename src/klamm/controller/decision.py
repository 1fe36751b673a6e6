"""Decision: what a manager of the controller answers to a request.

The records are the only thing that changes the cluster; the reply may be sent once they are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

ReplyT = TypeVar("ReplyT", covariant=True)


@dataclass(frozen=True, slots=True)
class Decision(Generic[ReplyT]):
    reply: ReplyT
    records: Sequence[object] = ()
