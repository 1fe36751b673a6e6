"""Requests that change very much: taken in portions where each item stands for itself, refused where they do not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.controller.topics import MAX_RECORDS
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from klamm.server.controller_context import NodeContext

Ask = Callable[[CreateTopicsRequest], Coroutine[Any, Any, CreateTopicsResponse]]

# About ten milliseconds of the controller's time.
_PORTION = 100
# To say no to each item takes time too.
_ABSURD = 2 * MAX_RECORDS


def refuse_too_many(items: int) -> None:
    # Deviation: Kafka counts the records that come out of a request, which takes it as long as to decide it.
    if items > _ABSURD:
        raise CorruptFrame(f"{items} changes in one request; {MAX_RECORDS} are allowed")
    if items > MAX_RECORDS:
        text = "Unable to perform excessively large batch operation."
        raise ApiError(ErrorCode.POLICY_VIOLATION, text)


async def create_topics(
    request: CreateTopicsRequest, context: NodeContext, ask: Ask
) -> CreateTopicsResponse:
    """Others are served between two portions; one sync of the metadata log is enough for many of them.

    ask: the way to the controller.
    """
    if len(request.topics) <= _PORTION:
        return await ask(request)
    answers = []
    async with context.heavy.lane:
        for topics in _portions(request.topics, context.settings.topics.num_partitions):
            portion = CreateTopicsRequest(
                topics=topics, timeout_ms=request.timeout_ms, validate_only=request.validate_only
            )
            answers.append(asyncio.ensure_future(ask(portion)))
            await asyncio.sleep(0)
    responses = await asyncio.gather(*answers)
    return CreateTopicsResponse(topics=[topic for each in responses for topic in each.topics])


def _portions(topics: list[CreatableTopic], default: int) -> Iterator[list[CreatableTopic]]:
    """Names that are given twice stay together, at the end: only together can they be refused."""
    partitions = sum(
        len(topic.assignments) or (default if topic.num_partitions == -1 else topic.num_partitions)
        for topic in topics
    )
    if partitions > MAX_RECORDS:
        # The controller refuses it as a whole, and at once.
        yield topics
        return
    counts = Counter(topic.name for topic in topics)
    once = [topic for topic in topics if counts[topic.name] == 1]
    for start in range(0, len(once), _PORTION):
        yield once[start : start + _PORTION]
    if repeated := [topic for topic in topics if counts[topic.name] > 1]:
        yield repeated
