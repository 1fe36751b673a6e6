"""The story of a data directory that Kafka begins and is killed in: klamm takes it over, then Kafka and klamm again.

klamm formats it, in two parts, with voters that stand in the settings. Kafka brings transactions, groups, quotas and
credentials, which are the same when klamm has had it.
"""

import random
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from klamm.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from klamm.protocol.records.reader import Record
from support import tools
from support.brokers import CLUSTER_ID
from support.raw_client import RawClient
from twoway.home import Home
from twoway.usual_life import COMPACTED, ONE_MIB, UsualLife
from twoway.writing import QUIET, SECONDS

GROUPS = {"old-group": "classic", "new-group": "consumer"}
USER = "alice"
NEVER_MS = 900_000


class KafkaFirst:
    def __init__(self, path: Path) -> None:
        self.home = Home(path, "data", "more-data")
        self.life = UsualLife(self.home)
        self.writer = self.life.writer
        # What only Kafka can be asked for: before klamm had the directory, and after.
        self.kept: list[dict[str, Any]] = []
        # Where the members of each group went on after klamm had had the directory.
        self.resumed_at: dict[str, int] = {}
        klamm = Path(sys.executable).with_name("klamm")
        tools.run([klamm, "storage", "format", "-t", CLUSTER_ID, "-c", self.home.config])
        self.home.kafka(self._begin, is_killed=True)
        self.home.klamm(self.life.go_on)
        self.home.kafka(self._resume)
        self.as_kafka_left_it = self.home.save("as-kafka-left-it")
        self.home.klamm(self.life.go_on)

    # The first Kafka

    def _begin(self, address: str) -> None:
        self.life.begin(address)
        self._write_transactions()
        self._write_compacted_transactions()
        self._leave_a_transaction_open()
        self._set_quotas_and_credentials(address)
        for group in GROUPS:
            self._consume(address, group)
        self.kept.append(self._ask_kafka(address))

    def _transactional(self, name: str) -> Producer:
        options: dict[str, str | int] = {
            "transactional.id": name,
            "transaction.timeout.ms": NEVER_MS,
        }
        producer = self.writer.producer(options=options)
        producer.init_transactions(SECONDS)
        return producer

    def _write_transactions(self) -> None:
        """Two producers whose transactions overlap, and records outside of any, over several segments."""
        chance = random.Random(2)
        self.writer.create("transactions", 2, ONE_MIB)
        first, second = self._transactional("first"), self._transactional("second")
        for number in range(12):
            words = ("aborted", "committed") if number % 2 else ("committed", "aborted")
            pairs = list(zip((first, second), words, strict=True))
            for producer, word in pairs:
                producer.begin_transaction()
                self._produce(producer, f"{word}-{number}", chance)
            self.writer.write("transactions", [Record(value=b"plain")])
            for producer, word in pairs:
                self._produce(producer, f"{word}-{number}-again", chance)
                _end(producer, word)

    def _produce(self, producer: Producer, key: str, chance: random.Random) -> None:
        for _ in range(2):
            producer.produce("transactions", chance.randbytes(25_000), key=key, partition=0)
        assert producer.flush(SECONDS) == 0

    def _write_compacted_transactions(self) -> None:
        self.writer.create("compacted-transactions", 1, COMPACTED)
        producer = self._transactional("third")
        for number in range(40):
            word = "aborted" if number % 3 == 1 else "committed"
            producer.begin_transaction()
            for key in (b"always", b"sometimes-%d" % (number % 7), b"once-%d" % number):
                producer.produce("compacted-transactions", b"x" * 20_000, key=key)
            producer.produce("compacted-transactions", None, key=b"never")
            assert producer.flush(SECONDS) == 0
            _end(producer, word)
        self.home.wait_until_compacted("compacted-transactions")

    def _leave_a_transaction_open(self) -> None:
        """Behind committed records, and with others behind it."""
        self.writer.write("transactions", [Record(key=b"committed")], partition=1)
        producer = self._transactional("open")
        producer.begin_transaction()
        producer.produce("transactions", b"", key="open", partition=1)
        assert producer.flush(SECONDS) == 0
        self.writer.write("transactions", [Record(key=b"hidden")], partition=1)

    def _set_quotas_and_credentials(self, address: str) -> None:
        entry = AlterClientQuotasRequestEntryData(
            entity=[EntityData(entity_type="user", entity_name=USER)],
            ops=[OpData(key="producer_byte_rate", value=1e9)],
        )
        with RawClient(address) as client:
            answer = client.ask("alter_client_quotas", 1, AlterClientQuotasRequest(entries=[entry]))
        assert [each.error_code for each in answer.entries] == [0]
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(USER, credential, b"secret", b"salt")
        admin = _admin(address)
        (done,) = admin.alter_user_scram_credentials([change]).values()
        done.result(SECONDS)

    def _consume(self, address: str, group: str) -> int:
        """One member takes three records, commits, and leaves; returns where it began."""
        consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": group,
                "group.protocol": GROUPS[group],
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                **QUIET,
            }
        )
        try:
            consumer.subscribe(["transactions"])
            offsets: list[int] = []
            while len(offsets) < 3:
                message = consumer.poll(SECONDS)
                assert message is not None, f"nothing came for {group}"
                assert message.error() is None
                if message.partition() == 0:
                    offsets.append(message.offset() or 0)
            end = TopicPartition("transactions", 0, offsets[-1] + 1)
            consumer.commit(offsets=[end], asynchronous=False)
            return offsets[0]
        finally:
            consumer.close()

    def _ask_kafka(self, address: str) -> dict[str, Any]:
        with RawClient(address) as client:
            quotas = client.ask("describe_client_quotas", 1, DescribeClientQuotasRequest())
        admin = _admin(address)
        asked = admin.describe_user_scram_credentials([USER])
        assert isinstance(asked, dict)
        (credentials,) = asked[USER].result(SECONDS).scram_credential_infos
        return {
            "quotas": quotas.entries,
            "credentials": (credentials.mechanism, credentials.iterations),
            "committed": {group: self._committed(address, group) for group in GROUPS},
        }

    def _committed(self, address: str, group: str) -> int:
        consumer = Consumer({"bootstrap.servers": address, "group.id": group, **QUIET})
        try:
            (found,) = consumer.committed([TopicPartition("transactions", 0)], timeout=SECONDS)
            return int(found.offset)
        finally:
            consumer.close()

    # The second

    def _resume(self, address: str) -> None:
        self.kept.append(self._ask_kafka(address))
        self.life.go_on(address)
        for group in GROUPS:
            self.resumed_at[group] = self._consume(address, group)
        # The id of the producer that left a transaction open: whoever takes it over aborts what it finds.
        for name in ("open", "first"):
            producer = self._transactional(name)
            producer.begin_transaction()
            producer.produce("transactions", name, key="committed-later", partition=1)
            producer.commit_transaction(SECONDS)


def _admin(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address, **QUIET})


def _end(producer: Producer, word: str) -> None:
    if word == "aborted":
        producer.abort_transaction(SECONDS)
    else:
        producer.commit_transaction(SECONDS)
