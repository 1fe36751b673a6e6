"""Numbers that a type cannot hold. Spark's parsers wrap some of them round or make them infinite without a word.

A tinyint of 200 becomes -56, a float of 1e300 infinity. So such columns are read into a wider type, held against the
limits, and only then made what the schema says.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

_LARGEST_FLOAT = 3.4028234663852886e38
_INFINITY = float("inf")


def widened(kind: DataType) -> DataType:
    """The same type with room for numbers that do not fit."""
    match kind:
        case ByteType():
            return ShortType()
        case FloatType():
            return DoubleType()
        case StructType():
            return StructType([StructField(e.name, widened(e.dataType)) for e in kind.fields])
        case ArrayType():
            return ArrayType(widened(kind.elementType))
        case MapType():
            return MapType(kind.keyType, widened(kind.valueType))
        case _:
            return kind


def misfit(value: Column, kind: DataType) -> Column | None:
    """Whether a value of the widened type is none of `kind`; may be NULL for no. None: every value fits."""
    match kind:
        case ByteType():
            return (value < -128) | (value > 127)
        case FloatType():
            return f.abs(value) > _LARGEST_FLOAT
        case DoubleType():
            return f.abs(value) == _INFINITY
        case StructType():
            return any_of([misfit(value.getField(e.name), e.dataType) for e in kind.fields])
        case ArrayType():
            return _misfit_inside(value, kind.elementType)
        case MapType():
            return _misfit_inside(f.map_values(value), kind.valueType)
        case _:
            return None


def any_of(conditions: list[Column | None]) -> Column | None:
    """Whether one of them is true; NULL counts as no."""
    found: Column | None = None
    for condition in conditions:
        if condition is not None:
            is_true = f.coalesce(condition, f.lit(False))
            found = is_true if found is None else found | is_true
    return found


def _misfit_inside(values: Column, kind: DataType) -> Column | None:
    if misfit(values, kind) is None:
        return None

    def is_misfit(value: Column) -> Column:
        condition = misfit(value, kind)
        assert condition is not None
        return f.coalesce(condition, f.lit(False))

    return f.exists(values, is_misfit)
