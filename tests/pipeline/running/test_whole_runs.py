"""Whole runs in one session: what is in topics and tables afterwards, and what the group shows."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.running import registry
from klamm.pipeline.running.run import run
from klamm.pipeline.spec import Edge
from klamm.testing import Broker
from pipeline.running.pipelines import SECONDS, Stage, as_values, create, numbers, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stage(spark: "SparkSession", bootstrap: str, warehouse: Path, tmp_path: Path) -> Stage:
    return Stage(spark, bootstrap, warehouse, tmp_path)


def test_views_go_into_their_sinks_and_dead_letters_once_into_their_topic(stage: Stage) -> None:
    create(stage.bootstrap, "many-big", "many-dead")
    steps = [
        {"sql": "SELECT n, n % 2 = 0 AS is_even FROM input", "view": "marked"},
        {"sql": "SELECT n FROM previous WHERE n > 2", "view": "big"},
    ]
    sinks = [
        {"table": "many", "from": "marked"},
        {"topic": "many-out", "from": "input"},
        {"topic": "many-big"},
        {"table": "many_big"},
    ]
    pipeline = stage.pipeline("many", steps=steps, sinks=sinks, dead_letter="many-dead")
    stage.put("many-in", 1, 2, 3, 4)
    stage.put("many-in", "no number")  # type: ignore[arg-type]

    stage.run_once(pipeline)

    assert values(stage.bootstrap, "many-out") == as_values(1, 2, 3, 4)
    assert values(stage.bootstrap, "many-big") == as_values(3, 4)
    assert values(stage.bootstrap, "many-dead") == ['{"n": "no number"}']
    marked = {tuple(row) for row in stage.spark.table("lake.default.many").collect()}
    assert marked == {(1, False), (2, True), (3, False), (4, True)}
    assert stage.spark.table("lake.default.many_big").count() == 2
    report = stage.reports[-1]
    assert report.dead_letters == 1
    assert {q.name: (q.input_records, q.output_records) for q in report.queries} == {
        "dead-letters.input": (5, 1),
        "table.many": (5, 4),
        "topic.many-out": (5, 4),
        "table.many_big+topic.many-big": (5, 2),
    }


def test_next_run_goes_on_where_the_last_one_ended(stage: Stage) -> None:
    pipeline = stage.pipeline("next")
    stage.put("next-in", 1, 2)
    stage.run_once(pipeline)
    stage.put("next-in", 3)

    stage.run_once(pipeline)

    assert values(stage.bootstrap, "next-out") == as_values(1, 2, 3)
    assert stage.reports[-1].queries[0].input_records == 1
    seen = registry.look("next")
    assert seen is not None
    assert seen.state is registry.State.STOPPED


def test_batch_that_is_repeated_changes_neither_topic_nor_table(stage: Stage) -> None:
    pipeline = stage.pipeline("again", sinks=[{"topic": "again-out"}, {"table": "again"}])
    stage.put("again-in", 1, 2)
    stage.run_once(pipeline)
    forgotten = forget_the_last_commit(stage.checkpoint / "table.again+topic.again-out")

    stage.run_once(pipeline)

    assert forgotten.exists(), "the batch was not repeated"
    assert values(stage.bootstrap, "again-out") == as_values(1, 2)
    assert stage.spark.table("lake.default.again").count() == 2


def test_state_goes_on_behind_a_batch_that_its_sink_had(stage: Stage) -> None:
    """Each sink has a query of its own: of several that share one, another might have asked for the rows."""
    views = ["once", "iceberg", "delta", "files", "shown"]
    steps = [{"dedupe": "n", "forever": True, "view": "once"}]
    steps += [{"sql": "SELECT n FROM once", "view": view} for view in views[1:]]
    files = stage.folder / "files"
    sinks = [
        {"topic": "state-out", "from": "once"},
        {"table": "state_i", "from": "iceberg"},
        {"table": "state_d", "format": "delta", "from": "delta"},
        {"parquet": str(files), "from": "files"},
        {"console": True, "rows": 1, "from": "shown"},
    ]
    # Two parts of the state: to show a row takes one of them.
    options = {"spark.sql.shuffle.partitions": "2"}
    pipeline = stage.pipeline("state", steps=steps, sinks=sinks, options=options)
    stage.put("state-in", *range(20))
    stage.run_once(pipeline)
    for query in stage.checkpoint.glob("*/commits"):
        forget_the_last_commit(query.parent)
    stage.put("state-in", 19, 20)

    stage.run_once(pipeline)

    assert values(stage.bootstrap, "state-out") == as_values(*range(21))
    delta = f"delta.`{stage.warehouse}/delta/state_d`"
    for table in ("lake.default.state_i", delta, f"parquet.`{files}`"):
        found = stage.spark.sql(f"SELECT n FROM {table} ORDER BY n").collect()
        assert [row.n for row in found] == list(range(21)), table


def forget_the_last_commit(checkpoint: Path) -> Path:
    """As if the driver had died between the sinks and the checkpoint."""
    commits = [file for file in (checkpoint / "commits").iterdir() if file.name.isdigit()]
    last = max(commits, key=lambda file: int(file.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()
    return last


def test_new_checkpoint_is_no_repetition(stage: Stage) -> None:
    pipeline = stage.pipeline("anew")
    stage.put("anew-in", 1, 2)
    stage.run_once(pipeline)

    stage.run_once(pipeline, checkpoint=str(stage.folder / "second"))

    assert values(stage.bootstrap, "anew-out") == as_values(1, 1, 2, 2)


def test_lag_of_the_group_is_the_pipelines(stage: Stage) -> None:
    pipeline = stage.pipeline("lag")
    stage.put("lag-in", *range(20))
    stage.run_once(pipeline)
    stage.put("lag-in", *range(5))

    admin = AdminClient({"bootstrap.servers": stage.bootstrap})
    asked = ConsumerGroupTopicPartitions(pipeline.group)
    [found] = admin.list_consumer_group_offsets([asked]).values()
    offsets = {p.partition: p.offset for p in found.result(SECONDS).topic_partitions}
    klamm = Path(sys.executable).with_name("klamm")
    command = [klamm, "group", "lag", pipeline.group, "-b", stage.bootstrap, "-o", "json"]
    told = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout

    assert sum(offsets.values()) == 20
    assert sum(json.loads(line)["lag"] for line in told.splitlines()) == 5


def test_replay_starts_where_it_was_asked_to(stage: Stage) -> None:
    pipeline = stage.pipeline("replay")
    stage.put("replay-in", 1, 2, 3)
    registry.set_start_override("replay", Edge.LATEST)

    stage.run_once(pipeline)

    assert values(stage.bootstrap, "replay-out") == []


def test_second_run_on_a_checkpoint_is_refused(stage: Stage) -> None:
    pipeline = numbers("locked")
    code = (
        "import sys, time\n"
        "from klamm.pipeline.running.checkpoint import only_writer\n"
        "with only_writer(sys.argv[1]):\n"
        "    print('locked', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(stage.checkpoint)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"locked\n"
    try:
        with pytest.raises(PipelineFailed) as failure:
            stage.run_once(pipeline)
    finally:
        other.communicate(timeout=SECONDS)

    assert str(failure.value).startswith(
        f"another run (pid {other.pid}) uses the checkpoint {stage.checkpoint}: stop it"
    )


def test_continuous_pipeline_writes_as_records_come(stage: Stage) -> None:
    # Such a query holds a core for each partition.
    create(stage.bootstrap, "flow-in", "flow-out", partitions=1)
    pipeline = numbers(
        "flow",
        steps=[{"sql": "SELECT n * 2 AS n FROM input"}],
        trigger={"continuous": "1 second"},
    )
    stage.put("flow-in", 1, 2)
    stop = threading.Event()

    def enough(_: object) -> None:
        if values(stage.bootstrap, "flow-out") == as_values(2, 4):
            stop.set()

    run(pipeline, **stage.how(watch=enough, stop=stop))  # type: ignore[arg-type]

    assert values(stage.bootstrap, "flow-out") == as_values(2, 4)


def test_secured_cluster_is_read_written_and_told_how_far_it_is(stage: Stage) -> None:
    topics = {"secured-in": 1, "secured-out": 1}
    with Broker(topics, security="sasl_ssl", users={"ann": "secret"}, process=True) as broker:
        settings = {**broker.client_settings("confluent-kafka", "ann"), "log_level": 0}
        producer = Producer(settings)
        for number in range(3):
            producer.produce("secured-in", json.dumps({"n": number}))
        assert producer.flush(SECONDS) == 0
        login = {
            n: str(v) for n, v in settings.items() if n.startswith(("security", "sasl", "ssl"))
        }

        stage.run_once(
            numbers("secured", client=login), bootstrap=str(settings["bootstrap.servers"])
        )

        [query] = stage.reports[-1].queries
        assert (query.input_records, query.output_records) == (3, 3)
        group = ConsumerGroupTopicPartitions("pipeline.secured")
        admin = AdminClient(settings)
        [asked] = admin.list_consumer_group_offsets([group]).values()
        assert [each.offset for each in asked.result().topic_partitions] == [3]
