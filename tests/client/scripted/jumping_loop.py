"""A loop whose clock jumps, and brokers of one topic that answer as they are told."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import TypeVar

from client.networks import Answer, ScriptedBroker
from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from klamm.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from klamm.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

T = TypeVar("T")
# What a scripted broker says to one request; None: nothing at all.
Code = ErrorCode | None


class JumpingLoop(asyncio.SelectorEventLoop):
    """Does not wait for the next deadline, but moves its clock there."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self._moved = 0.0
        self._wait = self._selector.select  # type: ignore[attr-defined]
        self._selector.select = self._jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._moved

    def _jump(self, timeout: float | None = None) -> object:
        if timeout:
            self._moved += timeout
        return self._wait(0)


def run(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    """The result, and how long it took by the loop's clock."""

    async def main() -> T:
        return await work()

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        result = runner.run(main())
        return result, runner.get_loop().time()


def metadata(*, leader: int = 1, error: ErrorCode = ErrorCode.NONE) -> MetadataResponse:
    part = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=3)
    topic = MetadataResponseTopic(
        name="topic", topic_id=Uuid(b"t" * 16), partitions=[part], error_code=error
    )
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="one", port=1)], topics=[topic]
    )


def producing_broker(
    *codes: Code, answers: dict[type, Answer] | None = None, transaction_version: int = 2
) -> ScriptedBroker:
    """To each Produce its code, then success. It is its own coordinator."""
    left = list(codes)

    def produce(request: object, version: int) -> ProduceResponse | None:
        assert isinstance(request, ProduceRequest)
        code = left.pop(0) if left else ErrorCode.NONE
        if code is None:
            return None
        asked = request.topic_data[0]
        part = PartitionProduceResponse(error_code=code, base_offset=5)
        topic = TopicProduceResponse(
            name=asked.name, topic_id=asked.topic_id, partition_responses=[part]
        )
        return ProduceResponse(responses=[topic])

    def init(request: object, _: int) -> InitProducerIdResponse:
        assert isinstance(request, InitProducerIdRequest)
        return InitProducerIdResponse(producer_id=1, producer_epoch=request.producer_epoch + 1)

    found = Coordinator(key="id", node_id=1, host="one", port=1)
    broker = ScriptedBroker(
        {
            MetadataRequest: lambda *_: metadata(),
            FindCoordinatorRequest: lambda *_: FindCoordinatorResponse(coordinators=[found]),
            InitProducerIdRequest: init,
            ProduceRequest: produce,
            **(answers or {}),
        }
    )
    plain = broker.answers[ApiVersionsRequest]

    def versions(request: object, version: int) -> object:
        answer = plain(request, version)
        assert isinstance(answer, ApiVersionsResponse)
        level = FinalizedFeatureKey(
            name="transaction.version", max_version_level=transaction_version
        )
        answer.finalized_features = [level]
        return answer

    broker.answers[ApiVersionsRequest] = versions
    return broker
