"""A folder on any file system that Hadoop knows, through Spark's JVM."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


class Folder:
    """Paths below it are relative."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        path = jvm.org.apache.hadoop.fs.Path(root)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._system: Any = path.getFileSystem(configuration)
        self._root = str(self._system.makeQualified(path))
        self._system.mkdirs(path)

    def path(self, below: str = "") -> str:
        return f"{self._root}/{below}" if below else self._root

    def names(self, below: str = "") -> list[str]:
        """What lies in it, sorted; nothing if it is not there."""
        if not self._system.exists(self._at(below)):
            return []
        return sorted(str(e.getPath().getName()) for e in self._system.listStatus(self._at(below)))

    def read_text(self, below: str) -> str:
        stream = self._system.open(self._at(below))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write_text(self, below: str, text: str) -> None:
        stream = self._system.create(self._at(below), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def move(self, source: str, target: str) -> bool:
        return bool(self._system.rename(self._at(source), self._at(target)))

    def remove(self, below: str) -> None:
        self._system.delete(self._at(below), True)

    def _at(self, below: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(below))
