"""Outcome: what every replicated machine returns.

The shell appends the records, replays them, and sends the replies once the records are safe. A machine that
parks a request returns no reply for its token now, and one from wake() later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

# The machine's kind of record and of reply; base knows neither.
RecordT_co = TypeVar("RecordT_co", covariant=True)
ReplyT_co = TypeVar("ReplyT_co", covariant=True)

# Stands for a waiting request. Machines hold tokens, the shell maps them to whoever waits.
Token = int


@dataclass(frozen=True, slots=True)
class Outcome(Generic[RecordT_co, ReplyT_co]):
    records: Sequence[RecordT_co] = ()
    replies: Sequence[tuple[Token, ReplyT_co]] = ()
