"""Values that a type cannot hold. Spark's parsers wrap them round, round them or complete them without a word.

A tinyint of 200 becomes -56, a float of 1e300 infinity, a decimal(5,2) of 1.239 1.24, the time "10:00" one of today and
the date "2026-01-01Tnever" the first of January. So such values are read into a wider type, and become NULL in the narrow
one if they do not fit: what is there before and not afterwards was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

# Whether a value that was read as the first type is none of the second; None: every value is.
Leaf: TypeAlias = Callable[[Column, DataType, DataType], Column | None]

_LARGEST_FLOAT = 3.4028234663852886e38
_INFINITY = float("inf")
_MOST_DIGITS = 38
# Spark's cast alone also takes "2026", and "10:00" for a time of today; it sees to the numbers and to the zone.
_DATE = r"^\d{4}-\d\d-\d\d$"
_LOCAL_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?)?$"
_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?(Z|[+-]\d\d(:\d\d)?| ?[A-Z][A-Za-z/_]+)?)?$"
# As every reader has them, and what Spark writes for those that are none.
_NUMBER = r"^[+-]?([0-9]++[.]?+[0-9]*+|[.][0-9]++)([eE][+-]?[0-9]++)?$"
_NO_NUMBERS = ("NaN", "Inf", "-Inf", "Infinity", "-Infinity")
# Such a number, of nine or ten digits, can be nothing but seconds since 1970: the years 1973 to 2286.
_FIRST_SECOND, _LAST_SECOND = 100_000_000, 9_999_999_999


def widened(kind: DataType, *, times: bool) -> DataType:
    """The same type with room for what does not fit. `times`: those come as text."""
    match kind:
        case ByteType():
            return ShortType()
        case FloatType():
            return DoubleType()
        case DecimalType():
            return DecimalType(_MOST_DIGITS, _MOST_DIGITS - (kind.precision - kind.scale))
        case TimestampType() | TimestampNTZType() | DateType() if times:
            return StringType()
        case StructType():
            fields = [StructField(e.name, widened(e.dataType, times=times)) for e in kind.fields]
            return StructType(fields)
        case ArrayType():
            return ArrayType(widened(kind.elementType, times=times))
        case MapType():
            return MapType(kind.keyType, widened(kind.valueType, times=times))
        case _:
            return kind


def narrowed(value: Column, wide: DataType, kind: DataType) -> Column:
    """A value that was read as `wide`, as what the schema says; NULL if it does not fit."""
    if wide == kind:
        return value
    match wide, kind:
        case StringType(), TimestampType():
            return _time(value)
        case StringType(), TimestampNTZType():
            return f.when(value.rlike(_LOCAL_TIME), value.try_cast(kind))
        case StringType(), DoubleType() | FloatType():
            return _real(value, kind)
        case StringType(), DateType():
            return f.when(value.rlike(_DATE), value.try_cast(kind))
        case LongType(), DateType():
            return f.date_from_unix_date(value.try_cast("int"))
        case BinaryType(), BooleanType():
            return f.when(value.isin(b"\x00", b"\x01"), value == f.lit(b"\x01"))
        case DoubleType(), FloatType():
            is_too_large = (f.abs(value) > _LARGEST_FLOAT) & (f.abs(value) != _INFINITY)
            return f.when(~(is_too_large & ~f.isnan(value)), value.cast(kind))
        case DecimalType(), DecimalType():
            return f.when(value == value.try_cast(kind), value.try_cast(kind))
        case StructType(), StructType():
            pairs = zip(wide.fields, kind.fields, strict=True)
            fields = [
                narrowed(value.getField(w.name), w.dataType, k.dataType).alias(k.name)
                for w, k in pairs
            ]
            return f.when(value.isNotNull(), f.struct(*fields))
        case ArrayType(elementType=one), ArrayType(elementType=other):
            return f.transform(value, lambda each: narrowed(each, one, other))
        case MapType(valueType=one), MapType(valueType=other):
            return f.transform_values(value, lambda _, each: narrowed(each, one, other))
    return value.try_cast(kind)


def was_lost(value: Column, wide: DataType, kind: DataType) -> Column | None:
    """The leaf of types that are read wider: it was there, and there is no room for it."""
    if wide == kind:
        return None
    return value.isNotNull() & narrowed(value, wide, kind).isNull()


def is_infinite(value: Column, wide: DataType, kind: DataType) -> Column | None:
    """The leaf of numbers with a fraction: perhaps too large for a double."""
    return f.abs(value) == _INFINITY if isinstance(wide, DoubleType) else None


def has_twice(value: Column, wide: DataType, kind: DataType) -> Column | None:
    """The leaf of maps: a key that stands there twice, of which SQL and Python would see another value."""
    if not isinstance(wide, MapType):
        return None
    keys = f.map_keys(value)
    return f.size(f.array_distinct(keys)) < f.size(keys)


def some(value: Column, wide: DataType, kind: DataType, leaf: Leaf) -> Column | None:
    """Whether it is true of the value or of anything in it; may be NULL for no. None: of no value at all."""
    match wide, kind:
        case StructType(), StructType():
            pairs = zip(wide.fields, kind.fields, strict=True)
            return any_of(
                [some(value.getField(w.name), w.dataType, k.dataType, leaf) for w, k in pairs]
            )
        case ArrayType(elementType=one), ArrayType(elementType=other):
            return _some_inside(value, one, other, leaf)
        case MapType(), MapType():
            return any_of(
                [
                    leaf(value, wide, kind),
                    _some_inside(f.map_keys(value), wide.keyType, kind.keyType, leaf),
                    _some_inside(f.map_values(value), wide.valueType, kind.valueType, leaf),
                ]
            )
    return leaf(value, wide, kind)


def any_of(conditions: list[Column | None]) -> Column | None:
    """Whether one of them is true; NULL counts as no."""
    found: Column | None = None
    for condition in conditions:
        if condition is not None:
            is_true = f.coalesce(condition, f.lit(False))
            found = is_true if found is None else found | is_true
    return found


def _some_inside(values: Column, wide: DataType, kind: DataType, leaf: Leaf) -> Column | None:
    if some(values, wide, kind, leaf) is None:
        return None

    def is_true(value: Column) -> Column:
        condition = some(value, wide, kind, leaf)
        assert condition is not None
        return f.coalesce(condition, f.lit(False))

    return f.exists(values, is_true)


def _time(text: Column) -> Column:
    seconds = text.try_cast("bigint")
    are_seconds = seconds.between(_FIRST_SECOND, _LAST_SECOND)
    by_number = f.when(are_seconds, f.timestamp_seconds(seconds))
    return f.when(text.rlike(_TIME), text.try_cast("timestamp")).otherwise(by_number)


def _real(text: Column, kind: DataType) -> Column:
    number = text.try_cast(kind)
    is_number = text.rlike(_NUMBER) & (f.abs(number) != _INFINITY)
    return f.when(is_number | text.isin(*_NO_NUMBERS), number)
