import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.settings.kinds import Kind, java_double, read, write


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.BOOLEAN, " TRUE ", True),
        (Kind.BOOLEAN, "false", False),
        (Kind.INT, " +12\t", 12),
        (Kind.INT, "-2147483648", -(2**31)),
        (Kind.SHORT, "32767", 32767),
        (Kind.LONG, "9223372036854775807", 2**63 - 1),
        (Kind.DOUBLE, "5e-1", 0.5),
        (Kind.DOUBLE, ".5f", 0.5),
        (Kind.DOUBLE, "Infinity", math.inf),
        (Kind.LIST, " a , b ", ("a", "b")),
        (Kind.LIST, "a,,b,", ("a", "", "b", "")),
        (Kind.LIST, "  ", ()),
        (Kind.STRING, "  a b ", "a b"),
        (Kind.PASSWORD, " secret ", "secret"),
    ],
)
def test_a_text_is_read_as_java_reads_it(kind: Kind, text: str, value: object) -> None:
    assert read(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (Kind.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Kind.INT, "2147483648", "Not a number of type INT"),
        (Kind.INT, "1_000", "Not a number of type INT"),
        (Kind.INT, "1.0", "Not a number of type INT"),
        (Kind.INT, "", "Not a number of type INT"),
        (Kind.INT, "9" * 1_000_000, "Not a number of type INT"),
        (Kind.SHORT, "32768", "Not a number of type SHORT"),
        (Kind.LONG, "0x10", "Not a number of type LONG"),
        (Kind.DOUBLE, "half", "Not a number of type DOUBLE"),
        (Kind.DOUBLE, "nan", "Not a number of type DOUBLE"),
    ],
)
def test_a_text_that_is_no_value_is_refused_in_kafkas_words(
    kind: Kind, text: str, sentence: str
) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        read(kind, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1e-5, "1.0E-5"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (12345678.9, "1.23456789E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.5e10, "-2.5E10"),
        (math.inf, "Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_a_double_is_written_as_java_writes_it(value: float, text: str) -> None:
    assert java_double(value) == text


@given(st.floats(allow_nan=False))
def test_a_double_survives_being_written_and_read(value: float) -> None:
    assert read(Kind.DOUBLE, java_double(value)) == value


def test_a_secret_is_never_written() -> None:
    assert write(Kind.PASSWORD, "secret") == "[hidden]"
