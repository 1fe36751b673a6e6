"""The catalogue of workloads, in the order in which they run."""

from bench.workload import Workload
from bench.workloads import (
    clients,
    end_to_end,
    fetch,
    groups,
    idle,
    produce,
    start,
    topics,
    transactions,
)

# What makes many partitions comes last: a broker may be busy with their end for a while.
ALL: tuple[Workload, ...] = (
    start.START,
    produce.SMALL1,
    produce.SMALL16,
    produce.BATCH64K,
    produce.BATCH1M,
    fetch.FETCH64K,
    fetch.FETCH1M,
    end_to_end.E2E,
    groups.JOIN,
    groups.COMMIT,
    groups.COMMIT16,
    transactions.TRANSACT,
    topics.METADATA,
    topics.CREATE,
    groups.MANY,
    idle.IDLE,
    clients.JAVA_PRODUCE,
    clients.JAVA_CONSUME,
    clients.CONFLUENT_PRODUCE,
    clients.CONFLUENT_CONSUME,
)
