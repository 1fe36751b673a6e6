"""What every broker is made to do with a directory, whichever it is: the first begins it, the others go on."""

import random

from klamm.protocol.records.reader import Record
from twoway.home import Home
from twoway.picture import BROKER, CLIENT_METRICS, GROUP, TOPIC
from twoway.writing import CODECS, IdempotentProducer, Writer, keyed, new_producer_id

ONE_MIB = {"segment.bytes": str(1 << 20)}
COMPACTED = {**ONE_MIB, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
# Batches of any codec come in, one codec is stored.
STORED_AS = [f"stored-as-{codec}" for codec in CODECS if codec != "none"]
# Each broker deletes one of them.
DOOMED = 5


class UsualLife:
    def __init__(self, home: Home) -> None:
        self.writer = Writer()
        # Of each broker but the first: its answer to the batch that the one before has, and where that one put it.
        self.retries: list[tuple[tuple[int, int], tuple[int, int]]] = []
        self.producer_ids: list[int] = []
        self._home = home
        self._idempotent = IdempotentProducer("sequences")

    def begin(self, address: str) -> None:
        writer = self.writer.at(address)
        writer.create("plain", 2, {"retention.ms": "172800000", "max.message.bytes": "2000000"})
        writer.add_partition("plain")
        for partition in range(3):
            writer.write_every_codec("plain", partition=partition)
        writer.create("append-time", 1, {"message.timestamp.type": "LogAppendTime"})
        writer.write_every_codec("append-time")
        for topic in STORED_AS:
            writer.create(topic, 1, {"compression.type": topic.removeprefix("stored-as-")})
            writer.write_every_codec(topic)
        writer.create("empty", 2)
        for number in range(DOOMED):
            writer.create(f"doomed-{number}")
        writer.write("doomed-0", writer.odd_records())
        self._write_segments()
        self._write_compacted()
        writer.set_config(BROKER, "1", "log.retention.ms", "500000000")
        writer.set_config(BROKER, "", "log.cleaner.threads", "2")
        writer.set_config(CLIENT_METRICS, "all-clients", "interval.ms", "60000")
        writer.set_config(GROUP, "new-group", "consumer.session.timeout.ms", "50000")
        writer.create("sequences")
        self._idempotent.start(address)
        self._idempotent.append(address)
        self._idempotent.append(address)
        self.producer_ids.append(new_producer_id(address)[0])
        # At the end: what a snapshot covers may be dropped from the log, and Kafka is to read the record of it.
        writer.delete("doomed-0")

    def _write_segments(self) -> None:
        """Four segments, the first of them removed because no record in it can be read any more."""
        chance = random.Random(1)
        self.writer.create("segments", 1, {**ONE_MIB, "index.interval.bytes": "1000"})
        records = [Record(value=chance.randbytes(8_000)) for _ in range(450)]
        self.writer.write("segments", records)
        self.writer.delete_records("segments", before=200)
        self._home.wait_until_log_start_is_kept("segments", 200)

    def _write_compacted(self) -> None:
        self.writer.create("compacted", 1, COMPACTED)
        self.writer.write("compacted", keyed(range(500), keys=40, size=5_000))
        self._home.wait_until_compacted("compacted")

    def go_on(self, address: str) -> None:
        number = len(self._home.stages)
        self.retries.append((self._idempotent.retry(address), (0, self._idempotent.last_offset)))
        self._idempotent.append(address)
        self.producer_ids.append(new_producer_id(address)[0])
        writer = self.writer.at(address)
        for topic in ("plain", "append-time", *STORED_AS):
            writer.write_every_codec(topic)
        writer.write("segments", writer.odd_records())
        writer.write("compacted", keyed(range(3), keys=2, size=10))
        writer.set_config(TOPIC, "plain", "retention.ms", f"{172_800_000 + number}")
        writer.set_config(TOPIC, "empty", "retention.bytes", f"{number}000000")
        if number == 1:
            writer.set_config(TOPIC, "plain", "max.message.bytes", None)
        writer.add_partition("plain")
        writer.delete(f"doomed-{number}")
        writer.create(f"made-{number}", 2, {"compression.type": "lz4"})
        writer.write_every_codec(f"made-{number}", partition=1)
