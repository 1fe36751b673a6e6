"""Where audit lines go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.settings.broker import Settings
from klamm.log.disk import File
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.authorization.audit import Audit
from klamm.server.world.ports import Worker, World

if TYPE_CHECKING:
    from klamm.server.broker import Broker

# Some hundred bytes each: far below what a topic takes at once.
_LINES_PER_BATCH = 500
_TIMEOUT_MS = 5_000


def open_audit(world: World, settings: Settings, stack: AsyncExitStack) -> Audit | None:
    """None where nobody wants it. OSError if the file cannot be opened: then the node does not start."""
    wanted = settings.authorization
    if wanted.audit_file is None and wanted.audit_topic is None:
        return None
    audit = Audit(world.clock)
    if wanted.audit_file is not None:
        worker = world.workers.worker("klamm-audit")
        stack.push_async_callback(worker.close)
        audit.sinks.append(FileSink(world.disk.open(wanted.audit_file, create=True), worker).write)
    stack.push_async_callback(audit.close)
    return audit


def follow_audit(audit: Audit, broker: Broker) -> Callable[[], Awaitable[None]]:
    """Also into a topic, where there is a broker that can write to one; until what is returned is called."""
    topic = broker.settings.authorization.audit_topic
    sinks = [] if topic is None else [TopicSink(broker, topic).write]
    audit.sinks += sinks

    async def end() -> None:
        await audit.close()
        audit.sinks = [each for each in audit.sinks if each not in sinks]

    return end


class FileSink:
    def __init__(self, file: File, worker: Worker) -> None:
        self._file = file
        self._worker = worker

    async def write(self, lines: bytes) -> None:
        await self._worker.run(self._append, lines)

    def _append(self, lines: bytes) -> None:
        """At its end, wherever that is by now: somebody may have moved the file's content away."""
        self._file.pwrite(lines, self._file.size())


class TopicSink:
    """A record for each line, in a partition that this broker leads, or else by way of the broker that leads the first."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._broker = broker
        self._topic = topic

    async def write(self, lines: bytes) -> None:
        values = lines.splitlines()
        for at in range(0, len(values), _LINES_PER_BATCH):
            now = self._broker.clock.wall()
            records = [
                Record(timestamp=now, value=value) for value in values[at : at + _LINES_PER_BATCH]
            ]
            try:
                await self._append(build_batch(records), now)
            except ApiError as e:
                raise OSError(f"{self._topic}: {e.message or e.code.text}") from e

    async def _append(self, batch: bytearray, now: Ms) -> None:
        broker = self._broker
        topic = broker.image.topics_by_name.get(self._topic)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
        leaders = [state.leader for state in topic.partitions]
        if broker.node_id in leaders:
            partition = broker.replicas.get(self._topic, leaders.index(broker.node_id))
            partition.append(memoryview(batch), acks=1, now=now)
            broker.appended(partition)
            return
        data = PartitionProduceData(index=0, records=bytes(batch))
        named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=[data])
        request = ProduceRequest(acks=1, timeout_ms=_TIMEOUT_MS, topic_data=[named])
        answer = await broker.peers.to(leaders[0]).ask(request, timeout_ms=_TIMEOUT_MS)
        code = answer.responses[0].partition_responses[0].error_code
        if code:
            raise ApiError(code_of(code))
