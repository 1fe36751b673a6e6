"""Types that a table takes without changing a value. Spark's own rule would make texts of numbers without a word, and Delta's
merge numbers of texts."""

from __future__ import annotations

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    VarcharType,
)

# How many digits of each a number of that type may have.
_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
# Whole numbers that a type with a fraction holds exactly.
_EXACT: dict[type[DataType], int] = {FloatType: 7, DoubleType: 15}
_TEXTS = (StringType, CharType, VarcharType)


def would_change(now: DataType, column: DataType) -> bool:
    """Whether values of the rows' type would become others in the column. What is neither text, number nor boolean is for
    the table to judge."""
    kinds = {_kind(now), _kind(column)}
    if kinds == {int}:
        return not _has_room(now, column)
    return len(kinds) > 1 and None not in kinds


def _kind(each: DataType) -> type | None:
    if isinstance(each, _TEXTS):
        return str
    if isinstance(each, BooleanType):
        return bool
    return int if isinstance(each, NumericType) else None


def _has_room(now: DataType, column: DataType) -> bool:
    if now == column or (isinstance(now, FloatType) and isinstance(column, DoubleType)):
        return True
    if isinstance(now, DecimalType):
        if not isinstance(column, DecimalType):
            return False
        whole = column.precision - column.scale >= now.precision - now.scale
        return whole and column.scale >= now.scale
    digits = _DIGITS.get(type(now))
    if digits is None:
        return False
    if isinstance(column, DecimalType):
        return column.precision - column.scale >= digits
    room = _DIGITS.get(type(column)) or _EXACT.get(type(column), 0)
    return room >= digits
