"""The pipeline file as a typed model: read with places, checked as a whole, described for editors and docs.

It knows no Spark. `model` holds the facts, `kinds` and `sections` the notation they are declared in, `checks` what must
hold between keys. `parse` reads a file, `PipelineBuilder` is for code; both end in one `Pipeline`.
"""

from klamm.pipeline.spec.build import PipelineBuilder, watermark
from klamm.pipeline.spec.environment import filled
from klamm.pipeline.spec.json_schema import to_json_schema
from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.model.sinks import (
    ConsoleSink,
    Delivery,
    JdbcSink,
    LostMarker,
    ParquetSink,
    Sink,
    TableSink,
    TopicSink,
    WriteMode,
)
from klamm.pipeline.spec.model.sources import (
    HEADERS_COLUMN,
    METADATA_COLUMNS,
    RESERVED_COLUMNS,
    CatalogTable,
    FileFormat,
    FileSource,
    JdbcSource,
    Otherwise,
    RecordFormat,
    Source,
    Table,
    TableFormat,
    TopicSource,
    Watermark,
)
from klamm.pipeline.spec.model.steps import (
    PREVIOUS,
    ArrowStep,
    DedupeStep,
    Expectation,
    Function,
    OutputMode,
    PythonStep,
    SqlStep,
    StateStep,
    Step,
    Timers,
)
from klamm.pipeline.spec.model.values import (
    Duration,
    Edge,
    FromOffsets,
    FromTime,
    PartitionOffset,
    Start,
    Trigger,
    TriggerWhen,
    parse_time,
)
from klamm.pipeline.spec.problems import BadPipeline, Mark, Problem
from klamm.pipeline.spec.reading import checked, from_dict, parse, to_dict
from klamm.pipeline.spec.reference import reference_markdown
from klamm.pipeline.spec.starter import starter

__all__ = [
    "parse",
    "from_dict",
    "to_dict",
    "checked",
    "filled",
    "starter",
    "to_json_schema",
    "reference_markdown",
    "BadPipeline",
    "Problem",
    "Mark",
    "Pipeline",
    "PipelineBuilder",
    "watermark",
    "Source",
    "TopicSource",
    "FileSource",
    "JdbcSource",
    "Table",
    "CatalogTable",
    "RecordFormat",
    "FileFormat",
    "TableFormat",
    "METADATA_COLUMNS",
    "HEADERS_COLUMN",
    "RESERVED_COLUMNS",
    "Watermark",
    "Start",
    "Edge",
    "FromTime",
    "FromOffsets",
    "PartitionOffset",
    "parse_time",
    "Step",
    "SqlStep",
    "PythonStep",
    "ArrowStep",
    "DedupeStep",
    "StateStep",
    "Timers",
    "OutputMode",
    "PREVIOUS",
    "Function",
    "Expectation",
    "Otherwise",
    "Sink",
    "TopicSink",
    "TableSink",
    "ParquetSink",
    "JdbcSink",
    "LostMarker",
    "ConsoleSink",
    "Delivery",
    "WriteMode",
    "Trigger",
    "TriggerWhen",
    "Duration",
]
