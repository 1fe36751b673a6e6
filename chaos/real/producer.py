"""An idempotent producer that keeps several batches on their way, and does not give up when the broker dies."""

import time
from collections import deque
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from chaos.real.client import Client, Gone
from klamm.protocol.records.batch import read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record

# As many as a Java producer; a broker must know as many again after a crash.
IN_FLIGHT = 5
_LARGEST_VALUE = 3_000
# All that is written is read again after every kill: 200 of them must not take all day.
_PAUSE_SECONDS = 0.002


class Place(NamedTuple):
    topic: str
    partition: int


class Sent(NamedTuple):
    """A batch as it can be found again: the checksum covers all but its place in the log."""

    producer_id: int
    sequence: int
    records: int
    crc: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    sent: Sent
    offset: int


class Producer:
    """One partition, one thread at a time. `run` returns when the broker is gone, and can be called again."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.acknowledged: list[Acknowledged] = []
        # Refused with an error: never to be seen, unless a first copy got through whose answer was lost.
        self.refused: list[tuple[Sent, int]] = []
        self.retried = 0
        self._rng = Random(seed)
        self._producer_id = -1
        self._sequence = 0
        # Not answered yet, oldest first.
        self._unanswered: deque[bytes] = deque()

    def run(self, address: tuple[str, int]) -> None:
        try:
            with Client(address) as client:
                if self._producer_id < 0:
                    self._producer_id = client.new_producer()
                self._repeat(client)
                while True:
                    while len(self._unanswered) < IN_FLIGHT:
                        self._unanswered.append(self._next_batch())
                        client.send_batch(*self.place, self._unanswered[-1])
                    self._take_answer(client)
                    time.sleep(_PAUSE_SECONDS)
        except Gone:
            return

    def finish(self, address: tuple[str, int]) -> None:
        """Only what is on its way."""
        with Client(address) as client:
            self._repeat(client)
            while self._unanswered:
                self._take_answer(client)

    def _repeat(self, client: Client) -> None:
        """Nobody knows what became of these: the same again, with the same sequences."""
        self.retried += len(self._unanswered)
        for batch in self._unanswered:
            client.send_batch(*self.place, batch)

    def _take_answer(self, client: Client) -> None:
        error, offset = client.receive_offset()
        batch = self._unanswered.popleft()
        header = read_header(batch)
        sent = Sent(header.producer_id, header.base_sequence, header.count, header.crc)
        if error:
            self.refused.append((sent, error))
        else:
            self.acknowledged.append(Acknowledged(sent, offset))

    def _next_batch(self) -> bytes:
        rng = self._rng
        count = rng.randrange(1, 6)
        size = rng.choice((20, 100, _LARGEST_VALUE)) // count
        now = int(time.time() * 1000)
        records = [Record(timestamp=now, value=rng.randbytes(size)) for _ in range(count)]
        batch = build_batch(
            records,
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._sequence,
        )
        self._sequence += count
        return bytes(batch)
