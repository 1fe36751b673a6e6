"""Files as a stream: each is read once, when it appears.

Lines of JSON and text are read as lines and decoded as records are, so that a bad line can be kept as it is. CSV, whose
files may have a header and rows of several lines, is left to Spark's reader; a row that it could read is written out
again where the line is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from klamm.pipeline.sources.decode import decode, unknown_of
from klamm.pipeline.sources.formats.csv_lines import widened_line
from klamm.pipeline.sources.formats.fitting import widened
from klamm.pipeline.sources.formats.texts import (
    has_own_times,
    misfits,
    narrow_columns,
    quoted,
)
from klamm.pipeline.sources.formats.verdict import (
    CORRUPT_COLUMN,
    NO_FIT,
    SOURCE_COLUMN,
    counted,
    first_of,
    nothing_wrong,
)
from klamm.pipeline.sources.trouble import SourceFailed
from klamm.pipeline.spec import NO_LINES, FileFormat, FileSource, RecordFormat

_HEADERS_TYPE = "array<struct<key:string,value:binary>>"
_FILE = "_file"
_WIDE = "_klamm_wide_"


def stream_files(
    spark: SparkSession,
    source: FileSource,
    *,
    keep_raw: bool = False,
    counted_as: str | None = None,
) -> DataFrame:
    """Decoded, with `_source` and `_corrupt`. Raises SourceFailed where there is no such folder, or no schema."""
    if source.format is FileFormat.TEXT:
        lines = _reader(spark, source, "text", None)
        return _decoded_lines(lines, RecordFormat.TEXT, None, source, keep_raw, counted_as)
    schema = _schema(spark, source)
    if source.format is FileFormat.JSON and not NO_LINES & {
        name.lower() for name, _ in source.options
    }:
        lines = _reader(spark, source, "text", None).where("trim(value) <> ''")
        return _decoded_lines(lines, RecordFormat.JSON, schema, source, keep_raw, counted_as)
    if source.format is FileFormat.PARQUET:
        rows = _reader(spark, source, "parquet", schema)
        rows = rows.select("*", f.col("_metadata.file_path").alias(_FILE))
        return with_source(rows, file=_FILE, keep_raw=keep_raw, counted_as=counted_as)
    return _read_by_spark(spark, source, schema, keep_raw, counted_as)


def with_source(
    rows: DataFrame, *, file: str | None, keep_raw: bool, counted_as: str | None
) -> DataFrame:
    """Rows that are never malformed: what is raw of them is JSON."""
    names = [name for name in rows.columns if name != file]
    raw = f.to_json(f.struct(*(quoted(name) for name in names))) if keep_raw else None
    path = f.lit(None).cast("string") if file is None else f.col(file)
    columns = [*(quoted(name) for name in names), _origin(path, raw)]
    return counted(rows, counted_as).select(*columns, nothing_wrong())


def _decoded_lines(
    lines: DataFrame,
    format: RecordFormat,
    schema: StructType | None,
    source: FileSource,
    keep_raw: bool,
    counted_as: str | None,
) -> DataFrame:
    origin = _origin(f.col("_metadata.file_path"), f.col("value") if keep_raw else None)
    return decode(
        lines,
        format,
        schema,
        options=dict(source.options),
        beside=[origin],
        counted_as=counted_as,
        unknown=unknown_of(source, is_counted=counted_as is not None and not keep_raw),
    )


def _read_by_spark(
    spark: SparkSession,
    source: FileSource,
    schema: StructType,
    keep_raw: bool,
    counted_as: str | None,
) -> DataFrame:
    wide = _wide(source, schema)
    # Beside the narrow columns, which have the names of the schema.
    names = {each.name: f"{_WIDE}{each.name}" for each in schema.fields}
    with_corrupt = StructType([*wide.fields, StructField(CORRUPT_COLUMN, StringType())])
    rows = _reader(spark, source, source.format.value, with_corrupt)
    rows = counted(rows.select("*", f.col("_metadata.file_path").alias(_FILE)), counted_as)
    rows = rows.withColumnsRenamed(names)

    def value_of(name: str) -> Column:
        return quoted(names[name])

    rows = rows.select("*", *narrow_columns(schema, wide, value_of))
    columns = [value_of(each.name).alias(each.name) for each in schema.fields]
    written = f.to_csv if source.format is FileFormat.CSV else f.to_json
    line = written(f.struct(*columns))
    # Spark finds mistakes only in columns that are asked for. This asks for all, and is never true.
    asks_for_all = f.length(_FILE) < 0
    for name in names:
        asks_for_all = asks_for_all & value_of(name).isNull()
    reason = first_of(
        (f.col(CORRUPT_COLUMN).isNotNull() | asks_for_all, NO_FIT),
        *misfits(schema, wide, value_of, line),
    )
    raw = f.coalesce(CORRUPT_COLUMN, line) if keep_raw else None
    named = [quoted(each.name) for each in schema.fields]
    return rows.select(*named, _origin(f.col(_FILE), raw), reason.alias(CORRUPT_COLUMN))


def _wide(source: FileSource, schema: StructType) -> StructType:
    given = {name.lower(): value for name, value in source.options}
    if source.format is FileFormat.CSV:
        return widened_line(schema, given)
    wide = widened(schema, times=not has_own_times(given))
    assert isinstance(wide, StructType)
    return wide


def _origin(path: Column, raw: Column | None) -> Column:
    fields = [path.alias("file")]
    if raw is not None:
        fields += [
            f.lit(None).cast("binary").alias("key"),
            raw.cast("binary").alias("value"),
            f.lit(None).cast(_HEADERS_TYPE).alias("headers"),
        ]
    return f.struct(*fields).alias(SOURCE_COLUMN)


def _schema(spark: SparkSession, source: FileSource) -> StructType:
    """What the file says, else what the files that are there now show."""
    if source.schema is not None:
        given = StructType.fromDDL(source.schema)
        assert isinstance(given, StructType)
        return given
    with _told_shortly(source):
        reader = spark.read.format(source.format.value).options(**_options(source))
        found = reader.load(source.files).schema
    columns = [each for each in found.fields if each.name != CORRUPT_COLUMN]
    if not columns:
        raise SourceFailed(f"the files at {source.files} show no columns: give a schema")
    return StructType(columns)


def _reader(
    spark: SparkSession, source: FileSource, format: str, schema: StructType | None
) -> DataFrame:
    reader = spark.readStream.format(format).options(**_options(source))
    if schema is not None:
        reader = reader.schema(schema)
    if source.max_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", source.max_per_batch)
    with _told_shortly(source):
        return reader.load(source.files)


def _options(source: FileSource) -> dict[str, str]:
    given = {name: value for name, value in source.options if name.lower() != "mode"}
    if source.format is FileFormat.CSV:
        # Without it, Spark takes the columns in the order of the schema, whatever the header says.
        given = {"enforceSchema": "false"} | given
    return given | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_COLUMN}


@contextmanager
def _told_shortly(source: FileSource) -> Iterator[None]:
    try:
        yield
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise SourceFailed(f"there is no folder {source.files}") from error
        if error.getCondition() == "UNABLE_TO_INFER_SCHEMA":
            raise SourceFailed(
                f"the files at {source.files} show no columns: give a schema"
            ) from error
        raise
