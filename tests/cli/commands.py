"""The words of these tests: a command line goes in, an answer comes out."""

import json
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Answer:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Klamm(Protocol):
    def __call__(self, *arguments: str, stdin: bytes = b"") -> Answer: ...
