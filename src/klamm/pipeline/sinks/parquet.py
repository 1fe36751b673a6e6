"""Rows into Parquet files, each batch once for every reader, not only for Spark.

A batch is written into a hidden folder beside the data. When it is whole, its files move to where readers look, under
names that tell the query and the batch. A file that a reader has seen neither changes nor goes away again: a batch that
broke off while it was written is written anew, one that broke off while it moved goes on moving.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped,unused-ignore]
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.sinks.tables.columns import refusal
from klamm.pipeline.sinks.trouble import SinkFailed, SinkUnreachable
from klamm.pipeline.spec.model.sinks import ParquetSink

STAGING = ".klamm-staging"
# Spark's last act for a folder: from then on it is whole.
_WHOLE = "_SUCCESS"
# Spark's name of a file: the task, an id of the run, and the number of the task's file in that folder.
_SPARKS_NAME = re.compile(r"part-(\d+)-.+[.-]c(\d+)(?:\..*)?\.parquet")


class ParquetFiles:
    """Adds files to a folder on any file system that Hadoop knows."""

    def __init__(self, spark: SparkSession, sink: ParquetSink) -> None:
        self._spark = spark
        self._sink = sink
        self._query_id = ""
        self._is_first = True

    def open(self, query_id: str) -> None:
        self._query_id = query_id
        self._is_first = True

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        staged = f"{STAGING}/{self._query_id}-{batch_id}"
        stem = f"part-{self._query_id}-{batch_id}-"
        with self._file_system_blamed():
            folder = _Folder(self._spark, self._sink.parquet)
            # Only the first batch of a run can be a repetition, and looking for its files may take long.
            was_first, self._is_first = self._is_first, False
            if was_first and folder.has(f"{staged}/{_WHOLE}"):
                self._move(folder, staged, stem)
                return False
            if was_first and folder.has_match("*/" * len(self._sink.partition_by) + f"{stem}*"):
                return False
        self._stage(batch, folder.path(staged))
        with self._file_system_blamed():
            self._move(folder, staged, stem)
        return True

    def close(self) -> None:
        """The session is the runner's."""

    def _stage(self, batch: DataFrame, path: str) -> None:
        writer = batch.write.mode("overwrite").options(**dict(self._sink.options))
        if self._sink.partition_by:
            writer = writer.partitionBy(*self._sink.partition_by)
        try:
            writer.parquet(path)
        except AnalysisException as error:
            raise refusal(f"folder {self._sink.parquet}", error) from None

    def _move(self, folder: _Folder, staged: str, stem: str) -> None:
        for file in list(folder.files(staged)):
            subfolder, _, name = file.rpartition("/")
            if name.endswith(".parquet"):
                target = f"{stem}{_number(name)}.parquet"
                folder.move(f"{staged}/{file}", subfolder, target)
        folder.remove(staged)

    @contextmanager
    def _file_system_blamed(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            cause = str(error.java_exception.getMessage()).split("\n", 1)[0]
            raise SinkUnreachable(
                f"folder {self._sink.parquet} could not be written: {cause}"
            ) from None


def _number(name: str) -> str:
    """The same for the same file, however many of the others have moved."""
    match = _SPARKS_NAME.fullmatch(name)
    if match is None:
        return name.removeprefix("part-").removesuffix(".parquet")
    task, file = int(match[1]), int(match[2])
    return f"{task}" if file == 0 else f"{task}-{file}"


class _Folder:
    """A folder through Hadoop's file systems; paths below it are relative."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        self._path_class: Any = jvm.org.apache.hadoop.fs.Path
        self._root: Any = self._path_class(root)
        self._system: Any = self._root.getFileSystem(
            spark._jsparkSession.sessionState().newHadoopConf()
        )
        self._root = self._system.makeQualified(self._root)

    def path(self, below: str) -> str:
        return f"{self._root}/{below}"

    def has(self, below: str) -> bool:
        return bool(self._system.exists(self._at(below)))

    def has_match(self, pattern: str) -> bool:
        found = self._system.globStatus(self._at(pattern))
        return found is not None and len(found) > 0

    def files(self, below: str) -> Iterator[str]:
        """All files under it, relative to it."""
        start = len(self.path(below)) + 1
        found = self._system.listFiles(self._at(below), True)
        while found.hasNext():
            yield str(found.next().getPath())[start:]

    def move(self, source: str, subfolder: str, name: str) -> None:
        if subfolder:
            self._system.mkdirs(self._at(subfolder))
        target = f"{subfolder}/{name}" if subfolder else name
        if not self._system.rename(self._at(source), self._at(target)) and not self.has(target):
            raise SinkFailed(f"{self.path(source)} could not be moved to {self.path(target)}")

    def remove(self, below: str) -> None:
        self._system.delete(self._at(below), True)

    def _at(self, below: str) -> Any:
        return self._path_class(self.path(below))
