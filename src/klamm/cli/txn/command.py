"""`klamm txn`: list, describe and abort transactions. Thin: parse, ask, print."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

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
    command_group,
    run_typer,
)
from klamm.cli.output import CommandError, Row, UsageError, complain, show
from klamm.cli.txn import asking
from klamm.protocol.messages.list_transactions import ListTransactionsRequest

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections
    from klamm.protocol.messages.describe_producers import ProducerState
    from klamm.protocol.messages.describe_transactions import TransactionState

app = command_group("List, describe and abort transactions.")

_RUNNING = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "txn", arguments)


@app.command("list")
def list_transactions(
    states: Annotated[
        list[str] | None,
        typer.Option("--state", "-s", help="Ongoing, PrepareCommit, ...; may be repeated."),
    ] = None,
    producer_ids: Annotated[
        list[int] | None,
        typer.Option("--producer-id", "-p", min=0, max=INT64_MAX, help="May be repeated."),
    ] = None,
    longer_than_ms: Annotated[
        int,
        typer.Option(
            "--longer-than-ms",
            metavar="MS",
            min=-1,
            max=INT64_MAX,
            help="Open for longer than this.",
        ),
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """List the transactional ids that the cluster knows."""
    check_names("state", states or ())
    request = ListTransactionsRequest(
        state_filters=states or [],
        producer_id_filters=producer_ids or [],
        duration_filter=longer_than_ms,
    )
    found = Cluster.at(bootstrap, properties).talk(
        "transactions cannot be listed", lambda cluster: asking.list_all(cluster, request)
    )
    show((each._asdict() for each in found), output)


@app.command()
def describe(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Transactional ids.")],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show producer, state and partitions of transactional ids."""
    check_names("transaction", ids)
    cluster = Cluster.at(bootstrap, properties)
    rows: list[Row] = []
    for name in dict.fromkeys(ids):
        try:
            rows.append(_row(_described(cluster, name)))
        except CommandError as failure:
            complain(failure)
    show(rows, output)
    if len(rows) < len(set(ids)):
        raise typer.Exit(1)


def _described(cluster: Cluster, name: str) -> TransactionState:
    async def ask(connections: Connections) -> TransactionState:
        return await asking.describe(connections, name)

    return cluster.talk(f"transactional id {name} cannot be described", ask)


def _row(found: TransactionState) -> Row:
    started = found.transaction_start_time_ms
    # A transaction that has ended keeps its start.
    is_running = started >= 0 and found.transaction_state in _RUNNING
    return {
        "transactional_id": found.transactional_id,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "state": found.transaction_state,
        "timeout_ms": found.transaction_timeout_ms,
        "started": datetime.fromtimestamp(started / 1000, UTC).isoformat() if is_running else None,
        "running_ms": int(time.time() * 1000) - started if is_running else None,
        "partitions": [
            f"{topic.topic}-{partition}" for topic in found.topics for partition in topic.partitions
        ],
    }


@app.command()
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
            await asking.take_over(connections, name)

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
        for producer in await asking.producers(connections, place):
            if producer.current_txn_start_offset == start_offset:
                await asking.write_abort(connections, place, producer)
                return producer
        return None

    producer = cluster.talk(f"the transaction in {place} was not aborted", ask)
    if producer is None:
        raise CommandError(f"no open transaction of {place} begins at offset {start_offset}")
    return producer
