"""`klamm txn describe`: producer, state and partitions of transactional ids."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import CommandError, Row, complain, show
from klamm.client.cluster import Cluster as Connections
from klamm.client.cluster import CoordinatorKind
from klamm.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

_RUNNING = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


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
        return await ask_for(connections, name)

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


async def ask_for(connections: Connections, transactional_id: str) -> TransactionState:
    answer = await connections.ask_coordinator(
        CoordinatorKind.TRANSACTION,
        transactional_id,
        DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        DescribeTransactionsResponse,
    )
    (found,) = answer.transaction_states
    connections.judge(CoordinatorKind.TRANSACTION, transactional_id, found.error_code)
    return found
