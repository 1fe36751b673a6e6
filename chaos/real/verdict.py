"""Comparing what was acknowledged with what can be read."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from chaos.real.client import Client
from chaos.real.producer import Place, Producer, Sent
from klamm.protocol.records.batch import BatchHeader, batches, check_crc


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts of records, but for `gaps` and `corrupt`, which count batches. All but the first three must be 0."""

    acknowledged: int = 0
    found: int = 0
    retried_batches: int = 0
    lost: int = 0
    misplaced: int = 0
    duplicated: int = 0
    gaps: int = 0
    corrupt: int = 0
    # Retries that the broker did not recognise.
    refused: int = 0

    @property
    def is_good(self) -> bool:
        bad = (self.lost, self.misplaced, self.duplicated, self.gaps, self.corrupt, self.refused)
        return not any(bad)

    def __str__(self) -> str:
        return " ".join(f"{name}={count}" for name, count in asdict(self).items())


class Content:
    """The batches of one partition, in order, and how many of them were not what they should be."""

    def __init__(self) -> None:
        self.headers: list[BatchHeader] = []
        self.gaps = 0
        self.corrupt = 0

    @property
    def end(self) -> int:
        return self.headers[-1].last_offset + 1 if self.headers else 0

    def read_from(self, client: Client, place: Place) -> None:
        """All of it, from the first offset on."""
        while True:
            error, data, high_watermark = client.fetch(place.topic, self.end, place.partition)
            assert not error, f"{place}: error {error} at offset {self.end}"
            if not data:
                self.gaps += self.end != high_watermark
                return
            for header, batch in batches(data, partial_end=True):
                self.gaps += header.base_offset != self.end
                self.corrupt += not check_crc(batch)
                self.headers.append(header)


def read_everything(client: Client, places: Iterable[Place]) -> dict[Place, Content]:
    contents = {place: Content() for place in places}
    for place, content in contents.items():
        content.read_from(client, place)
    return contents


def judge(producers: Sequence[Producer], contents: Mapping[Place, Content]) -> Verdict:
    lost = misplaced = duplicated = 0
    for producer in producers:
        headers = contents[producer.place].headers
        at = {header.base_offset: _sent(header) for header in headers}
        anywhere = Counter(_sent(header) for header in headers if header.producer_id >= 0)
        for acknowledged in producer.acknowledged:
            if at.get(acknowledged.offset) != acknowledged.sent:
                if anywhere[acknowledged.sent]:
                    misplaced += acknowledged.sent.records
                else:
                    lost += acknowledged.sent.records
        duplicated += sum(sent.records * (times - 1) for sent, times in anywhere.items())
    return Verdict(
        acknowledged=sum(each.sent.records for p in producers for each in p.acknowledged),
        found=sum(header.count for content in contents.values() for header in content.headers),
        retried_batches=sum(producer.retried for producer in producers),
        lost=lost,
        misplaced=misplaced,
        duplicated=duplicated,
        gaps=sum(content.gaps for content in contents.values()),
        corrupt=sum(content.corrupt for content in contents.values()),
        refused=sum(sent.records for producer in producers for sent, _ in producer.refused),
    )


def _sent(header: BatchHeader) -> Sent:
    return Sent(header.producer_id, header.base_sequence, header.count, header.crc)
