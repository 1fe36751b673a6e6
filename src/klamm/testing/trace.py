"""What happened, as one number: two runs with equal traces did the same things at the same times."""

from __future__ import annotations

from hashlib import blake2b


class Trace:
    """`lines`, if it is a list, also keeps what happened in words: to see where two runs part."""

    __slots__ = ("_hash", "count", "lines")

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)
        self.count = 0
        self.lines: list[str] | None = None

    def note(self, when: float, what: str, where: str, data: bytes = b"") -> None:
        self.count += 1
        line = f"{when!r} {what} {where} {len(data)}\n"
        self._hash.update(line.encode())
        self._hash.update(data)
        if self.lines is not None:
            self.lines.append(line + data.hex()[:2000])

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()
