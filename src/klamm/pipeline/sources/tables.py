"""Fixed tables to join streams with. Each batch sees them as they are then, except files, which are listed at the start."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.names import delta_path, iceberg_name
from klamm.pipeline.place import Place
from klamm.pipeline.sources.jdbc import read_relation, relation_of
from klamm.pipeline.sources.trouble import SourceFailed
from klamm.pipeline.spec import CatalogTable, FileSource, JdbcSource, Table, TableFormat


def open_table(spark: SparkSession, table: Table, place: Place) -> DataFrame:
    match table:
        case FileSource():
            return _files(spark, table)
        case JdbcSource():
            return read_relation(spark, table, relation_of(table))
        case CatalogTable():
            return _of_catalog(spark, table, place)


def _files(spark: SparkSession, table: FileSource) -> DataFrame:
    # A line that cannot be read would be a row of NULLs; a table has nowhere to put it.
    options = {"mode": "FAILFAST"} | dict(table.options)
    reader = spark.read.format(table.format.value).options(**options)
    if table.schema is not None:
        reader = reader.schema(table.schema)
    try:
        return reader.load(table.files)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise SourceFailed(f"there are no files at {table.files}") from error
        if error.getCondition() == "UNABLE_TO_INFER_SCHEMA":
            raise SourceFailed(
                f"the files at {table.files} show no columns: give a schema"
            ) from error
        raise


def _of_catalog(spark: SparkSession, table: CatalogTable, place: Place) -> DataFrame:
    reader = spark.read.options(**dict(table.options))
    if table.format is TableFormat.ICEBERG:
        name = iceberg_name(table.table)
        if not spark.catalog.tableExists(name):
            raise SourceFailed(f"there is no Iceberg table {name} in {place.warehouse}")
        return reader.table(name)
    path = delta_path(table.table, place.warehouse)
    try:
        return reader.format("delta").load(path)
    except AnalysisException as error:
        if error.getCondition() in (
            "DELTA_TABLE_NOT_FOUND",
            "DELTA_PATH_DOES_NOT_EXIST",
            "PATH_NOT_FOUND",
        ):
            raise SourceFailed(f"there is no Delta table {table.table} at {path}") from error
        raise
