"""Failures by Spark's conditions and by what is full, told without Spark."""

from pathlib import Path

import pytest

from klamm.pipeline.failures.trouble import NO_SPACE, trouble_of
from klamm.pipeline.place import Place
from klamm.pipeline.running.disks import Folder, folders_of, fullest
from klamm.pipeline.spec import from_dict

PLAN = """

=== Streaming Query ===
Identifier: q [id = 1]
Logical Plan:
WriteToMicroBatchDataSourceV1 ForeachBatchSink
+- Project [n#1]"""


class FromSpark(Exception):
    """What PySpark makes of an exception of Java's."""

    def __init__(self, condition: str, message: str, **parameters: str) -> None:
        self._desc = f"[{condition}] {message} SQLSTATE: XXKST{PLAN}"
        self._condition = condition
        self._parameters = parameters

    def getCondition(self) -> str:
        return self._condition

    def getMessageParameters(self) -> dict[str, str]:
        return self._parameters


class AnalysisException(FromSpark):
    """The same for what is wrong in a query."""


BEFORE = "StructType(StructField(count,LongType,false))"
NOW = "StructType(StructField(count,LongType,false),StructField(top,DecimalType(10,2),true))"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            FromSpark(
                "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
                "Provided value schema does not match.",
                storedValueSchema=BEFORE,
                newValueSchema=NOW,
            ),
            "(it keeps something else, new is top decimal)",
        ),
        (
            FromSpark(
                "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
                "Provided key schema does not match.",
                storedKeySchema="StructType(StructField(_groupingexpression,IntegerType,true))",
                newKeySchema="StructType(StructField(_groupingexpression,StringType,true))",
            ),
            "(by another key, new is the key string and gone is the key int)",
        ),
        (
            FromSpark(
                "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
                "Streaming stateful operator name does not match.",
                OpsInMetadataSeq="(OperatorId: 0 -> OperatorName: stateStoreSave)",
                OpsInCurBatchSeq="",
            ),
            "(before an aggregation, now none)",
        ),
        (
            FromSpark("STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE", "Cannot change seen to map."),
            "(Cannot change seen to map.)",
        ),
    ],
)
def test_state_that_changed_is_told_without_the_plan(error: Exception, words: str) -> None:
    assert trouble_of(error).sentence == (
        f"steps: one with state is not that of the checkpoint {words}: put it back as it was, or begin anew "
        "(`klamm pipeline reset` forgets the progress and starts over)"
    )


def test_condition_decides_and_not_the_text() -> None:
    error = FromSpark("CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", "Ein Fehler trat auf.")

    assert trouble_of(error).sentence == (
        "the checkpoint does not fit the pipeline: files of it are missing, or sources changed since it was made "
        "(Ein Fehler trat auf.); `klamm pipeline reset` forgets the progress and starts over"
    )


def test_advice_for_administrators_is_left_out() -> None:
    error = AnalysisException(
        "TABLE_OR_VIEW_NOT_FOUND",
        "The table or view `a` cannot be found. Verify the spelling and correctness of the schema and catalog.",
        relationName="`a`",
    )

    trouble = trouble_of(error)

    assert trouble.sentence == "The table or view `a` cannot be found"
    assert trouble.exit_code == 2


def test_output_mode_that_spark_refuses_names_the_key_of_the_file() -> None:
    error = AnalysisException(
        "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
        "Invalid streaming output mode: append.",
        outputMode="append",
    )

    assert trouble_of(error).sentence.startswith(
        "Invalid streaming output mode: append: set output: update for the sink, or"
    )


def test_no_sentence_is_longer_than_a_person_reads() -> None:
    assert len(trouble_of(FromSpark("ANY", "x" * 10_000)).sentence) == 600


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        FromSpark("TASK_WRITE_FAILED", "Failed.\n\tat a.B\nCaused by: No space left on device"),
    ],
)
def test_disk_that_is_full_has_one_sentence(error: Exception) -> None:
    assert trouble_of(error).sentence == NO_SPACE


def test_disk_that_is_full_is_found_among_those_that_a_run_writes_to() -> None:
    pipeline = from_dict(
        {
            "name": "p",
            "source": {"topic": "t", "format": "text"},
            "sinks": [{"parquet": "/out"}, {"parquet": "s3a://bucket/out"}],
            "options": {"spark.local.dir": "/scratch"},
        }
    )
    place = Place(bootstrap="b:1", checkpoint="file:///check%20point", warehouse="hdfs://lake")

    folders = list(folders_of(pipeline, place))

    assert folders[:-1] == [
        Folder("the checkpoint", Path("/check point")),
        Folder("the sink", Path("/out")),
        Folder("Spark's own files", Path("/scratch")),
    ]
    left = {Path("/scratch"): 4096}
    assert fullest(folders, free=lambda path: left.get(path, 10**12)) == (
        "Spark's own files (/scratch, 4 KiB left)"
    )
    assert fullest(folders, free=lambda path: 10**12) is None
    assert fullest(folders, free=lambda path: None) is None
