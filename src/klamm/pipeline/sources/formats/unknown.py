"""Fields of a JSON object that the schema does not name: a misspelt column is NULL in every record, and here it shows."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from klamm.pipeline.spec import RESCUED_COLUMN, UnknownFields

NAMES = "_klamm_unknown"


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is done about them, and whether the records that have some are counted."""

    how: UnknownFields
    is_counted: bool

    @property
    def is_rescued(self) -> bool:
        return self.how is UnknownFields.RESCUE

    @property
    def is_malformed(self) -> bool:
        return self.how is UnknownFields.FAIL


def unknown_names(text: Column, columns: StructType) -> Column:
    """NULL where there is no object."""
    known = f.array(*(f.lit(each.name) for each in columns.fields))
    return f.array_except(f.json_object_keys(text), known).alias(NAMES)


def has_unknown() -> Column:
    return f.size(NAMES) > 0


def unknown_words() -> Column:
    names = f.array_join(f.array_sort(NAMES), ", ")
    return f.concat(f.lit("the schema does not name its fields "), names)


def rescued(text: Column) -> Column:
    """The fields with their values, as a JSON object; NULL where there are none."""
    # As variants, values are what they were: a number is none in quotes.
    fields = f.from_json(text, "map<string,variant>")
    kept = f.map_filter(fields, lambda name, _: f.array_contains(NAMES, name))
    return f.when(has_unknown(), f.to_json(kept)).alias(RESCUED_COLUMN.name)


def unknown_counts() -> list[Column]:
    """The records that have some, and the first and the last of all names."""
    return [
        f.count_if(has_unknown()).alias("unknown"),
        f.min(f.array_min(NAMES)).alias("first_unknown"),
        f.max(f.array_max(NAMES)).alias("last_unknown"),
    ]
