"""One request and its answer, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Exchange:
    """`milliseconds` is None, and `answer_bytes` 0, for a request that was not answered."""

    at: float
    connection: int
    client_id: str | None
    api: str
    version: int
    partitions: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    request_bytes: int = 0
    answer_bytes: int = 0
    milliseconds: float | None = None
    fault: str | None = None

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.at, UTC).strftime("%H:%M:%S.%f")[:-3]
        said = f"{when} #{self.connection} {self.client_id or '-'} {self.api} v{self.version}"
        if self.partitions:
            rest = len(self.partitions) - 5
            said += f" {' '.join(self.partitions[:5])}" + (f" and {rest} more" if rest > 0 else "")
        said += f" ({self.request_bytes} bytes)"
        if self.milliseconds is None:
            said += ": no answer"
        else:
            told = " ".join(self.errors) or "ok"
            said += f": {told} after {self.milliseconds:.1f} ms ({self.answer_bytes} bytes)"
        return said + (f" [fault: {self.fault}]" if self.fault else "")


class Transcript(list[Exchange]):
    """In the order of the requests; as text a line for each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def last(self, count: int = 50) -> str:
        """The end of it, as text."""
        left = len(self) - count
        before = f"({left} before)\n" if left > 0 else ""
        return before + "\n".join(map(str, self[-count:]))

    def about(
        self,
        *,
        api: str | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool = False,
    ) -> Transcript:
        """Those of an API by any of its names, of a client, about a topic, with errors or without an answer."""
        return Transcript(_chosen(self, api, client_id, topic, errors))


def _chosen(
    exchanges: Iterable[Exchange],
    api: str | None,
    client_id: str | None,
    topic: str | None,
    errors: bool,
) -> Iterator[Exchange]:
    for each in exchanges:
        if (
            (api is None or api.replace("_", "").lower() == each.api.lower())
            and client_id in (None, each.client_id)
            and (topic is None or any(_topic(name) == topic for name in each.partitions))
            and (not errors or each.errors or each.milliseconds is None)
        ):
            yield each


def _topic(name: str) -> str:
    topic, dash, index = name.rpartition("-")
    return topic if dash and index.isdigit() else name
