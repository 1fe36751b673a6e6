"""What went wrong, in one sentence, and whether another try may help.

Spark wraps what happened in exceptions of Java and of Python, several deep. The rules here are tables over all that is in
the chain: over Spark's conditions where it has them, else over the names of exceptions, and last over texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from klamm.pipeline.failures.chain import (
    NOT_THE_USERS,
    TRACEBACK,
    Link,
    any_says,
    chain_of,
    clean,
    is_of_java,
    last_words,
    place_of,
    with_condition,
)
from klamm.pipeline.failures.conditions import (
    CHECKPOINT_BROKEN,
    STATE_CHANGED,
    state_change,
    words_of,
)

USAGE = 2
FAILED = 1

PYSPARK_MISSING = (
    "pipelines need PySpark, which is not installed: run `pip install 'klamm[pipeline]'`"
)
_RESET = "`klamm pipeline reset` forgets the progress and starts over"


class PipelineFailed(Exception):
    """A run ended because of this. The text is one sentence for the user."""

    def __init__(self, sentence: str, *, exit_code: int = FAILED, may_pass: bool = False) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True)
class Trouble:
    sentence: str
    # Whether the same may work later without anybody's help: the broker is back, another executor is there.
    may_pass: bool = False
    exit_code: int = FAILED


def trouble_of(error: BaseException) -> Trouble:
    if isinstance(error, PipelineFailed):
        return Trouble(str(error), error.may_pass, error.exit_code)
    if isinstance(error, ModuleNotFoundError) and _is_sparks(error.name):
        return Trouble(PYSPARK_MISSING)
    chain = list(chain_of(error))
    for rule in _RULES:
        if trouble := rule(chain):
            return trouble
    if not is_of_java(error):
        return Trouble(f"{type(error).__name__}: {error}{place_of(error)}")
    return Trouble(last_words(chain))


def sentence_of(error: BaseException) -> str:
    """What Spark says of a mistake in SQL or in a DataFrame, without its codes, plans and stack traces."""
    return trouble_of(error).sentence


def failed(error: BaseException, *, prefix: str = "") -> PipelineFailed:
    trouble = trouble_of(error)
    return PipelineFailed(
        prefix + trouble.sentence, exit_code=trouble.exit_code, may_pass=trouble.may_pass
    )


def _is_sparks(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("pyspark", "py4j")


def _ours(chain: list[Link]) -> Trouble | None:
    """What klamm itself raised says what to do."""
    for link in chain:
        if link.short_name == "Superseded":
            return Trouble(f"{link.message}: this run ends")
        if link.short_name in ("SinkUnreachable", "SourceUnreachable"):
            return Trouble(link.message, may_pass=True)
    return next((Trouble(e.message) for e in chain if e.name.startswith("klamm.")), None)


def _raised_by_a_check(chain: list[Link]) -> Trouble | None:
    link = with_condition(chain, "USER_RAISED_EXCEPTION")
    return None if link is None else Trouble(clean(link.message))


_NOT_ALLOWED = {
    "SaslAuthenticationException",
    "SslAuthenticationException",
    "TopicAuthorizationException",
    "GroupAuthorizationException",
    "ClusterAuthorizationException",
    "TransactionalIdAuthorizationException",
}


def _not_allowed(chain: list[Link]) -> Trouble | None:
    for link in chain:
        if link.short_name in _NOT_ALLOWED:
            return Trouble(
                f"the cluster refused the pipeline: {clean(link.message)}; look at client in the pipeline file"
            )
    return None


def _data_gone(chain: list[Link]) -> Trouble | None:
    is_lost = with_condition(chain, "KAFKA_DATA_LOSS") is not None
    if not is_lost and not any_says(chain, "data may have been lost", "failOnDataLoss"):
        return None
    return Trouble(
        "records that the pipeline had still to read are gone (retention, or a topic that was deleted or made anew): "
        f"failOnDataLoss: false under the source's options goes on with what is left; {_RESET}"
    )


def _topic_missing(chain: list[Link]) -> Trouble | None:
    for link in chain:
        if link.short_name == "UnknownTopicOrPartitionException" or (
            "UNKNOWN_TOPIC_OR_PART" in link.message
        ):
            return Trouble(
                "a topic of the pipeline does not exist: create it with `klamm topic create`"
                + (f" ({clean(link.message)})" if link.message else "")
            )
    return None


# What Spark says of checkpoints without a condition.
_CHECKPOINT_SIGNS = (
    "The checkpoint location",
    "sources in the checkpoint offsets and now there are",
    "log file was malformed",
    "Incomplete log file",
)
_BATCH_LOST = re.compile(r"batch \d+ doesn't exist")


def _checkpoint(chain: list[Link]) -> Trouble | None:
    if with_condition(chain, "CONCURRENT_STREAM_LOG_UPDATE"):
        return Trouble("another run writes to the same checkpoint: this one ends")
    if link := with_condition(chain, *STATE_CHANGED):
        return Trouble(
            f"steps: one with state is not that of the checkpoint ({state_change(link)}): put it back as it was, or begin "
            f"anew ({_RESET})"
        )
    link = with_condition(chain, *CHECKPOINT_BROKEN) or next(filter(_is_about_it, chain), None)
    if link is None:
        return None
    return Trouble(
        "the checkpoint does not fit the pipeline: files of it are missing, or sources changed since it was made "
        f"({clean(link.message)}); {_RESET}"
    )


def _is_about_it(link: Link) -> bool:
    if link.short_name.endswith("AnalysisException"):
        return False
    return bool(_BATCH_LOST.search(link.message)) or any(
        sign in link.message for sign in _CHECKPOINT_SIGNS
    )


# Of Java and of Python. Who knows where a run writes says which disk it is.
NO_SPACE = "no space is left on a disk"
_FULL = ("No space left on device", "Disk quota exceeded")


def _disk_full(chain: list[Link]) -> Trouble | None:
    return Trouble(NO_SPACE) if any_says(chain, *_FULL) else None


def _wrong_sql(chain: list[Link]) -> Trouble | None:
    for link in chain:
        if link.short_name in ("AnalysisException", "ParseException", "ExtendedAnalysisException"):
            return Trouble(words_of(link), exit_code=USAGE)
    return None


_PASSING = {
    # Of Kafka's Java client.
    "TimeoutException",
    "DisconnectException",
    "NetworkException",
    "BrokerNotAvailableException",
    "NotLeaderOrFollowerException",
    "LeaderNotAvailableException",
    "CoordinatorNotAvailableException",
    "CoordinatorLoadInProgressException",
    "NotCoordinatorException",
    "NotEnoughReplicasException",
    "FencedLeaderEpochException",
    "UnknownLeaderEpochException",
    # Of the network, and of databases behind it.
    "ConnectException",
    "SocketTimeoutException",
    "SocketException",
    "NoRouteToHostException",
    "SQLTransientConnectionException",
    "SQLRecoverableException",
    # Of tables: another writer was faster.
    "CommitFailedException",
    "ConcurrentAppendException",
    "ConcurrentModificationException",
}
# Of confluent-kafka, which prints the code's name.
_PASSING_CODES = (
    "code=_TRANSPORT",
    "code=_ALL_BROKERS_DOWN",
    "code=_TIMED_OUT",
    "code=_TIMED_OUT_QUEUE",
    "code=_MSG_TIMED_OUT",
    "code=_RESOLVE",
    "code=_WAIT_COORD",
    "code=_IN_PROGRESS",
    "code=NOT_LEADER_FOR_PARTITION",
    "code=LEADER_NOT_AVAILABLE",
    "code=REQUEST_TIMED_OUT",
    "code=BROKER_NOT_AVAILABLE",
    "code=NETWORK_EXCEPTION",
    "code=COORDINATOR_",
    "code=NOT_COORDINATOR",
    "code=NOT_ENOUGH_REPLICAS",
    "code=CONCURRENT_TRANSACTIONS",
)
_PASSING_WORDS = (
    "ExecutorLostFailure",
    "Executor heartbeat timed out",
    "FetchFailed",
    "Connection refused",
    "Connection reset",
)


def _passing(chain: list[Link]) -> Trouble | None:
    # The deepest is the cause; what is above it says only what could not be done because of it.
    for link in reversed(chain):
        if (
            link.short_name in _PASSING
            or any(code in link.message for code in _PASSING_CODES)
            or any(words in link.message for words in _PASSING_WORDS)
        ):
            return Trouble(clean(link.message) or link.short_name, may_pass=True)
    return None


_GATEWAY_LOST = {"Py4JNetworkError", "ConnectionRefusedError", "EOFError"}


def _spark_gone(chain: list[Link]) -> Trouble | None:
    is_lost = any(link.short_name in _GATEWAY_LOST for link in chain[:1])
    if is_lost or any_says(chain, "stopped SparkContext", "SparkContext was shut down"):
        return Trouble(
            "Spark ended unasked: its driver was stopped or ran out of memory (spark.driver.memory)"
        )
    if any(link.short_name == "OutOfMemoryError" for link in chain):
        return Trouble("Spark ran out of memory: give it more (spark.driver.memory) or take less")
    return None


def _python_raised(chain: list[Link]) -> Trouble | None:
    """Python's own traceback, of the user's frames alone: those of Spark around it say nothing."""
    for link in chain:
        if TRACEBACK not in link.message:
            continue
        lines = link.message.split(TRACEBACK)[-1].strip("\n").splitlines()
        lines = [line for line in lines if line.strip()]
        ends = [i for i, line in enumerate(lines) if not line[0].isspace()]
        if not ends:
            continue
        error = lines[ends[0]]
        frames = [i for i, line in enumerate(lines[: ends[0]]) if line.startswith("  File ")]
        own = [i for i in frames if not any(part in lines[i] for part in NOT_THE_USERS)]
        if not own:
            return Trouble(error)
        shown = [line for line in lines[own[-1] : ends[0]] if set(line.strip()) - set("^~")]
        where = "\n".join(shown)
        return Trouble(f"a Python function raised {error}\n{where}")
    return None


# In the order in which they are asked.
_RULES: tuple[Callable[[list[Link]], Trouble | None], ...] = (
    _ours,
    _raised_by_a_check,
    _not_allowed,
    _data_gone,
    _topic_missing,
    _disk_full,
    _checkpoint,
    _wrong_sql,
    _spark_gone,
    _passing,
    _python_raised,
)
