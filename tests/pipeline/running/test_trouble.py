"""What users are told when something is wrong: one sentence, and the right exit code."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from klamm.pipeline.failures.trouble import PipelineFailed, Trouble, trouble_of
from klamm.pipeline.java import JavaMissing
from klamm.pipeline.running.run import run
from klamm.pipeline.sinks.trouble import MarkerLost, SinkUnreachable
from klamm.pipeline.sources import cluster
from klamm.pipeline.spec import Pipeline
from pipeline.running.pipelines import SECONDS, Stage, numbers
from support.brokers import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stage(spark: "SparkSession", bootstrap: str, warehouse: Path, tmp_path: Path) -> Stage:
    return Stage(spark, bootstrap, warehouse, tmp_path)


def told(stage: Stage, pipeline: Pipeline, **how: object) -> tuple[str, int]:
    """What the failing run says, and its exit code."""
    with pytest.raises(PipelineFailed) as failure:
        stage.run_once(pipeline, **how)
    return str(failure.value), failure.value.exit_code


def test_missing_topic(stage: Stage) -> None:
    assert told(stage, numbers("nowhere")) == (
        f"sources[0] (view input): there is no topic nowhere-in on {stage.bootstrap} "
        "(`klamm topic create nowhere-in` creates it)",
        1,
    )


def test_sql_that_spark_cannot_run_as_a_stream(stage: Stage) -> None:
    pipeline = stage.pipeline("endless", steps=[{"sql": "SELECT count(*) n FROM input"}])

    sentence, exit_code = told(stage, pipeline)

    assert sentence.startswith("topic.endless-out: ")
    assert "Append output mode" in sentence or "append" in sentence.lower()
    assert "\n" not in sentence
    assert exit_code == 2


def test_expectation_that_must_hold(stage: Stage) -> None:
    pipeline = stage.pipeline("must", expect=[{"name": "small", "check": "n < 5"}])
    stage.put("must-in", 7)

    sentence, exit_code = told(stage, pipeline)

    assert sentence.startswith("topic.must-out: expectation small (n < 5")
    assert "must-in" in sentence
    assert "\n" not in sentence
    assert exit_code == 1


def test_python_function_that_raises_in_a_worker(stage: Stage) -> None:
    (stage.folder / "kl_raising.py").write_text(
        "def half(batches):\n"
        "    for batch in batches:\n"
        "        raise ZeroDivisionError('no half of nothing')\n"
        "        yield batch\n"
    )
    step = {"arrow": "kl_raising:half", "schema": "n int"}
    pipeline = stage.pipeline("raising", steps=[step])
    stage.put("raising-in", 0)

    sentence, exit_code = told(stage, pipeline, folder=stage.folder)

    first, place, *line = sentence.splitlines()
    assert first == (
        "topic.raising-out: a Python function raised ZeroDivisionError: no half of nothing"
    )
    assert "kl_raising.py" in place
    assert "line 3, in half" in place
    assert len(line) <= 1
    assert exit_code == 1


def test_checkpoint_of_other_sources(stage: Stage) -> None:
    pipeline = stage.pipeline("foreign")
    stage.put("foreign-in", 1)
    stage.run_once(pipeline)
    stage.pipeline("stranger")
    sources = [
        {"name": "one", "topic": "foreign-in", "schema": "n int"},
        {"name": "two", "topic": "stranger-in", "schema": "n int"},
    ]
    changed = numbers(
        "foreign",
        sources=sources,
        steps=[{"sql": "SELECT * FROM one UNION ALL SELECT * FROM two"}],
    )

    sentence, exit_code = told(stage, changed)

    assert sentence.startswith("topic.foreign-out: the checkpoint does not fit the pipeline: ")
    assert "klamm pipeline reset" in sentence
    assert exit_code == 1


def test_checkpoint_of_another_state(stage: Stage) -> None:
    sinks = [{"topic": "kept-out", "output": "update"}]
    count, both = "count(*) AS c", "count(*) AS c, max(n) AS m"
    steps = [{"sql": f"SELECT n % 3 AS k, {what} FROM input GROUP BY 1"} for what in (count, both)]
    pipeline = stage.pipeline("kept", steps=steps[:1], sinks=sinks)
    stage.put("kept-in", 1, 2)
    stage.run_once(pipeline)
    stage.put("kept-in", 3)

    sentence, exit_code = told(stage, numbers("kept", steps=steps[1:], sinks=sinks))

    assert sentence.startswith(
        "topic.kept-out: steps: one with state is not that of the checkpoint (it keeps something else, new is max int): "
    )
    assert "klamm pipeline reset" in sentence
    assert "\n" not in sentence
    assert exit_code == 1


def test_checkpoint_that_lost_files(stage: Stage) -> None:
    pipeline = stage.pipeline("lost")
    stage.put("lost-in", 1)
    stage.run_once(pipeline)
    stage.put("lost-in", 2)
    shutil.rmtree(stage.checkpoint / "topic.lost-out" / "offsets")

    sentence, exit_code = told(stage, pipeline)

    assert sentence.startswith("topic.lost-out: the checkpoint does not fit the pipeline: ")
    assert exit_code == 1


def test_checkpoint_that_is_gone_as_a_whole(stage: Stage) -> None:
    pipeline = stage.pipeline("whole")
    stage.put("whole-in", 1)
    stage.run_once(pipeline)
    shutil.rmtree(stage.checkpoint)

    sentence, exit_code = told(stage, pipeline)

    assert sentence.startswith(f"the checkpoint {stage.checkpoint} is gone, and with it")
    assert exit_code == 1


def test_records_that_are_gone_before_they_were_read(stage: Stage) -> None:
    pipeline = stage.pipeline("gone")
    stage.put("gone-in", *range(10))
    stage.run_once(pipeline)
    stage.put("gone-in", *range(10))
    ends = [TopicPartition("gone-in", number, -1) for number in (0, 1)]
    admin = AdminClient({"bootstrap.servers": stage.bootstrap})
    for deleted in admin.delete_records(ends).values():
        deleted.result(SECONDS)
    stage.put("gone-in", *range(10))

    sentence, exit_code = told(stage, pipeline)

    assert sentence.startswith(
        "topic.gone-out: records that the pipeline had still to read are gone"
    )
    assert exit_code == 1


def test_cluster_that_does_not_answer_is_waited_for_with_a_notice(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "TIMEOUT_SECONDS", 0.5)
    stop = threading.Event()
    address = f"127.0.0.1:{free_port()}"

    def heard(notice: str) -> None:
        stage.notices.append(notice)
        stop.set()

    run(numbers("silent"), **stage.how(bootstrap=address, notice=heard, stop=stop))  # type: ignore[arg-type]

    [notice] = stage.notices
    assert notice.startswith(f"silent: sources[0] (view input): the cluster at {address} does not")
    assert notice.endswith("trying again in 1 s")


def test_what_java_threw_is_told_without_its_stack_trace(spark: "SparkSession") -> None:
    from py4j.protocol import Py4JJavaError

    with pytest.raises(Py4JJavaError) as thrown:
        spark._jvm.java.util.Optional.empty().get()

    assert trouble_of(thrown.value) == Trouble("No value present")


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (
            "sys.modules['pyspark'] = None",
            "pipelines need PySpark, which is not installed: run `pip install 'klamm[pipeline]'`",
        ),
        (
            "os.environ.update(PATH='', JAVA_HOME='/nowhere')",
            "Spark does not start: /nowhere/bin/java (JAVA_HOME) does not run. Spark needs Java",
        ),
    ],
    ids=["no PySpark", "no Java"],
)
def test_machine_without_what_spark_needs(tmp_path: Path, before: str, words: str) -> None:
    code = f"""
import os, sys
{before}
from klamm.pipeline import PipelineFailed, from_dict, run
facts = {{"name": "p", "source": {{"topic": "t", "format": "bytes"}}, "sink": {{"console": True}}}}
try:
    run(from_dict(facts), checkpoint=sys.argv[1], warehouse=sys.argv[1])
except PipelineFailed as failure:
    print(failure.exit_code, failure)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, check=True, timeout=120, text=True).stdout

    assert told.startswith(f"1 {words}")


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (
            ModuleNotFoundError("No module named 'pyspark'", name="pyspark"),
            Trouble(
                "pipelines need PySpark, which is not installed: run `pip install 'klamm[pipeline]'`"
            ),
        ),
        (JavaMissing("no Java was found. Install it"), Trouble("no Java was found. Install it")),
        (MarkerLost("batch 7 may be there"), Trouble("batch 7 may be there")),
        (SinkUnreachable("nobody answers"), Trouble("nobody answers", may_pass=True)),
        (
            KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")),
            Trouble("1/1 brokers are down", may_pass=True),
        ),
        (PipelineFailed("known", exit_code=2), Trouble("known", exit_code=2)),
        (OSError(5, "Input/output error"), Trouble("OSError: [Errno 5] Input/output error")),
    ],
)
def test_other_troubles(error: Exception, trouble: Trouble) -> None:
    assert trouble_of(error) == trouble
