"""`klamm txn abort`: end a transaction from outside, and shut its producer out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT32_MAX,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import CommandError, Row, UsageError, show
from klamm.cli.txn.describe import ask_for
from klamm.client.cluster import Cluster as Connections
from klamm.client.cluster import CoordinatorKind
from klamm.client.errors import check
from klamm.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

# The id is not to be used after it was taken over, so its next transaction needs no time.
_SHORTEST_TIMEOUT_MS = 1


def abort(
    transactional_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A transactional id.")
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", "-t", help="Where it hangs.")] = None,
    partition: Annotated[
        int, typer.Option("--partition", "-p", min=0, max=INT32_MAX, help="Of that topic.")
    ] = 0,
    start_offset: Annotated[
        int | None,
        typer.Option(
            "--start-offset", min=0, max=INT64_MAX, help="Its first offset in the partition."
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Abort the transaction of an ID, and shut its producer out.

    A transaction that no coordinator knows any more is aborted in one partition: --topic, --partition and
    --start-offset, as the broker's log or DescribeProducers tell them.
    """
    cluster = Cluster.at(bootstrap, properties)
    if (transactional_id is None) == (topic is None):
        raise UsageError(
            "which transaction?", hint="ID, or --topic T --partition N --start-offset O"
        )
    if transactional_id is not None:
        check_names("transaction", [transactional_id])
        name = transactional_id

        async def take_over(connections: Connections) -> None:
            await _take_over(connections, name)

        cluster.talk(f"the transaction of {name} was not aborted", take_over)
        show([{"transactional_id": name, "aborted": True}], output)
        return
    if topic is None or start_offset is None:
        raise UsageError("where does it begin?", hint="--start-offset O")
    check_names("topic", [topic])
    place = TopicPartition(topic, partition)
    producer = _abort_hanging(cluster, place, start_offset)
    row: Row = {
        "topic": topic,
        "partition": partition,
        "start_offset": start_offset,
        "producer_id": producer.producer_id,
        "aborted": True,
    }
    show([row], output)


def _abort_hanging(cluster: Cluster, place: TopicPartition, start_offset: int) -> ProducerState:
    async def ask(connections: Connections) -> ProducerState | None:
        for producer in await _producers(connections, place):
            if producer.current_txn_start_offset == start_offset:
                await _write_abort(connections, place, producer)
                return producer
        return None

    producer = cluster.talk(f"the transaction in {place} was not aborted", ask)
    if producer is None:
        raise CommandError(f"no open transaction of {place} begins at offset {start_offset}")
    return producer


async def _take_over(connections: Connections, transactional_id: str) -> None:
    """A new producer under the id: its transaction is aborted, and the old producer can do nothing more."""
    # Asked first: taking over an id that nobody uses would make it known.
    await ask_for(connections, transactional_id)
    answer = await connections.ask_coordinator(
        CoordinatorKind.TRANSACTION,
        transactional_id,
        InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=_SHORTEST_TIMEOUT_MS,
            producer_id=-1,
            producer_epoch=-1,
        ),
        InitProducerIdResponse,
    )
    connections.judge(CoordinatorKind.TRANSACTION, transactional_id, answer.error_code)


async def _producers(connections: Connections, place: TopicPartition) -> Sequence[ProducerState]:
    leader, _ = await connections.leader(place)
    asked = TopicRequest(name=place.topic, partition_indexes=[place.partition])
    answer = await connections.ask(
        leader, DescribeProducersRequest(topics=[asked]), DescribeProducersResponse
    )
    (found,) = answer.topics[0].partitions
    check(found.error_code, found.error_message)
    return found.active_producers


async def _write_abort(
    connections: Connections, place: TopicPartition, producer: ProducerState
) -> None:
    """A marker from outside of any coordinator: for a transaction that its coordinator has forgotten."""
    leader, _ = await connections.leader(place)
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])],
        coordinator_epoch=max(0, producer.coordinator_epoch),
    )
    answer = await connections.ask(
        leader, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse
    )
    check(answer.markers[0].topics[0].partitions[0].error_code)
