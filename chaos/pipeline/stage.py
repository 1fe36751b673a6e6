"""Everything that is on stage: a broker, a Spark cluster or none, the driver, and what to do to them at which moment."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self, TypeAlias

from chaos.pipeline import job as jobs
from chaos.pipeline import outputs
from chaos.pipeline.brokers import Brokers
from chaos.pipeline.cluster import Cluster
from chaos.pipeline.outputs import Verdict
from chaos.pipeline.processes import DriverProcess
from chaos.pipeline.waiting import until
from chaos.real.broker import BrokerProcess
from chaos.real.client import Client
from klamm.protocol.messages.list_transactions import ListTransactionsRequest

# The rows of the table of this name, read by a session of the caller's.
TableReader: TypeAlias = Callable[[str], Iterable[Mapping[str, Any]]]

LOCAL = "local[2]"
SETTLE_SECONDS = 600.0
OPEN_SECONDS = 300.0
# A transaction is open for some tens of milliseconds.
MOMENT_SECONDS = 0.01


class Stage:
    """Used as a context; the driver runs when it is entered. `on_cluster` gives it a standalone cluster."""

    def __init__(
        self,
        home: Path,
        *,
        name: str,
        warehouse: Path,
        on_cluster: bool,
        brokers: int = 1,
        max_per_batch: int = 20_000,
    ) -> None:
        self.broker = BrokerProcess(home / "broker") if brokers == 1 else Brokers(home, brokers)
        self.cluster: Cluster | None = None
        self.job = jobs.Job(name=name, home=home / "job", warehouse=warehouse)
        self._home = home
        self._on_cluster = on_cluster
        self._max_per_batch = max_per_batch
        self._driver: DriverProcess | None = None

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self._addresses)

    @property
    def _addresses(self) -> list[tuple[str, int]]:
        several = isinstance(self.broker, Brokers)
        return self.broker.addresses if several else [self.broker.address]

    @property
    def driver(self) -> DriverProcess:
        assert self._driver is not None, "the stage is not entered yet"
        return self._driver

    def __enter__(self) -> Self:
        try:
            self.broker.start()
            outputs.create_topics(self.bootstrap, jobs.SOURCE, *self.job.topics)
            self.job.write(max_per_batch=self._max_per_batch)
            if self._on_cluster:
                self.cluster = Cluster(self._home / "cluster")
            master = self.cluster.master if self.cluster else LOCAL
            self._driver = DriverProcess(self.job, bootstrap=self.bootstrap, master=master)
            self._driver.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._driver is not None:
            self._driver.kill()
        if self.cluster is not None:
            self.cluster.stop()
        self.broker.kill()

    # Moments ----------------------------------------------------------------------------------

    def wait_for_an_open_transaction(self) -> str:
        """Its transactional id: records of a batch are in the log, and nobody knows yet what becomes of them."""
        with ExitStack() as open_clients:
            clients = [open_clients.enter_context(Client(each)) for each in self._addresses]

            def first_open() -> str | None:
                self.driver.check()
                for client in clients:
                    answer = client.ask(ListTransactionsRequest(state_filters=["Ongoing"]))
                    for each in answer.transaction_states:
                        return str(each.transactional_id)
                return None

            return until(
                first_open,
                "a transaction is open",
                seconds=OPEN_SECONDS,
                seen=self.driver.log,
                every=MOMENT_SECONDS,
            )

    def kill_broker_until_it_is_noticed(self) -> None:
        """The driver has said that something is wrong, which it said before of nothing or of something else."""
        # Counted before: the driver may be faster than whoever waits for the process to end.
        before = len(self.driver.notices())
        self.broker.kill()
        until(
            lambda: self.driver.check() and len(self.driver.notices()) > before,
            "the driver gives notice",
            seconds=OPEN_SECONDS,
            seen=self.driver.log,
        )
        self.broker.start()

    # Deeds ------------------------------------------------------------------------------------

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver.start()

    def kill_executor(self, chance: Random) -> None:
        assert self.cluster is not None, "executors are processes of a cluster"
        self.cluster.kill_executor(chance.randrange(2))

    def kill_broker(self) -> None:
        self.broker.kill()
        self.broker.start()

    def kill_a_node(self, chance: Random) -> None:
        """One of several brokers; the others go on at once."""
        assert isinstance(self.broker, Brokers), "there is one broker only"
        node = chance.choice(self.broker.ids)
        self.broker.nodes.kill(node)
        self.broker.start()

    def forget_last_commit(self) -> Path:
        """The driver is stopped, and the newest batch is as if its end had never been written. Gives the file of that."""
        assert self.driver.stop() == 0, self.driver.log()
        [commits] = self.job.checkpoint.glob("*/commits")
        forgotten = _last(commits)
        planned = _last(commits.with_name("offsets"))
        if planned.name != forgotten.name:
            # A stop may leave a batch that was planned and not begun; with its plan there Spark would repeat it alone.
            _remove(planned)
        _remove(forgotten)
        self.driver.start()
        return forgotten

    # Afterwards -------------------------------------------------------------------------------

    def settle(self, read_table: TableReader) -> list[Verdict]:
        """Waits until all that is in the source now is processed, and holds it against every output."""
        limits = outputs.ends(self.bootstrap)
        outputs.wait_until_processed(
            self.bootstrap,
            self.job.name,
            limits,
            seconds=SETTLE_SECONDS,
            running=self.driver,
        )
        inputs = outputs.inputs_below(self.bootstrap, limits)
        topics = [
            outputs.judge(topic, outputs.rows_of(self.bootstrap, topic), inputs)
            for topic in self.job.topics
        ]
        table = outputs.judge(self.job.table, read_table(self.job.table), inputs)
        return [*topics, table]


def _last(folder: Path) -> Path:
    """The newest batch in a log of Spark's: each is a file with the batch's number for a name."""
    return max(
        (file for file in folder.iterdir() if file.name.isdigit()), key=lambda file: int(file.name)
    )


def _remove(entry: Path) -> None:
    entry.unlink()
    entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
