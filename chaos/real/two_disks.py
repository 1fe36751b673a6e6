"""A broker with two data directories of which one will fail, and what must be true when it has."""

import time
from collections.abc import Mapping
from pathlib import Path

from chaos.real.broker import BrokerProcess
from chaos.real.client import Client
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from klamm.protocol.records.batch import batches
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records

STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR
# Long enough for a busy machine, short enough to see a broker that hangs.
_STOP_SECONDS = 10.0


class TwoDisks:
    """Topics "safe" and "doomed" are in the directories of these names. The metadata log is in the first of the order."""

    def __init__(
        self,
        home: Path,
        *,
        metadata_is_doomed: bool = False,
        doomed: Path | None = None,
        environment: Mapping[str, str] | None = None,
        settings: Mapping[str, object] | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        self.safe = home / "safe"
        self.doomed = doomed or home / "doomed"
        order = [self.doomed, self.safe] if metadata_is_doomed else [self.safe, self.doomed]
        self.broker = BrokerProcess(
            home, directories=order, environment=environment, settings=settings
        )
        self.broker.start()
        self.client = Client(self.broker.address)
        # The first topic goes to the first directory, the second to the other: least used first.
        for directory in order:
            self.client.create_topic(directory.name, 1, **(configs or {}))
            assert (directory / f"{directory.name}-0").is_dir()

    def __enter__(self) -> "TwoDisks":
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.broker.kill()

    def produce(self, topic: str, value: bytes = b"v") -> int:
        """The error, 0 if there was none."""
        return self.client.produce(topic, a_batch(value))[0]

    def values(self, topic: str) -> list[bytes | None]:
        error, data, _ = self.client.fetch(topic, 0)
        assert not error, f"error {error}"
        found = batches(data, partial_end=True)
        return [record.value for _, batch in found for record in read_records(batch)]

    def critical_lines(self) -> list[str]:
        return [line for line in self.broker.log().splitlines() if " CRITICAL " in line]

    def directory_errors(self) -> dict[str, int]:
        """By the name of the directory, what DescribeLogDirs says of it."""
        answer = self.client.ask(DescribeLogDirsRequest(topics=None))
        return {Path(each.log_dir).name: each.error_code for each in answer.results}

    def check_one_went_offline(self) -> None:
        """Its clients are told, the others go on, the operator reads one line, and the process can be stopped."""
        assert self.produce("doomed") == STORAGE_ERROR
        assert self.client.fetch("doomed", 0)[0] == STORAGE_ERROR
        before = len(self.values("safe"))
        assert self.produce("safe", b"later") == 0
        assert self.values("safe")[before:] == [b"later"]
        assert self.directory_errors() == {"safe": 0, "doomed": STORAGE_ERROR}
        (line,) = self.critical_lines()
        assert str(self.doomed) in line
        assert "Traceback" not in self.broker.log()

    def stop(self) -> int:
        began = time.monotonic()
        code = self.broker.stop()
        assert time.monotonic() - began < _STOP_SECONDS
        return code

    def start_again(self) -> None:
        self.client.close()
        self.broker.start()
        self.client = Client(self.broker.address)


def a_batch(value: bytes) -> bytearray:
    return build_batch([Record(timestamp=int(time.time() * 1000), value=value)])
