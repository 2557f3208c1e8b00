"""Numbers in the form blobs are kept in: Go's for floats, exact for integers."""

from __future__ import annotations

import json
import math

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat.numbers import decimal, exact_json, float_text, integer, read_json


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(1.0, "1", id="a whole number has no point"),
        pytest.param(-0.0, "-0", id="zero keeps its sign"),
        pytest.param(0.5, "0.5", id="a fraction"),
        pytest.param(1e-6, "0.000001", id="the smallest without exponent"),
        pytest.param(1e-7, "1e-7", id="a smaller one, its exponent without zeros"),
        pytest.param(1.5e-10, "1.5e-10", id="an exponent of two digits"),
        pytest.param(1e20, "100000000000000000000", id="large and without exponent"),
        pytest.param(1e21, "1e+21", id="the smallest with a positive exponent"),
        pytest.param(1.7976931348623157e308, "1.7976931348623157e+308", id="the largest"),
        pytest.param(5e-324, "5e-324", id="the smallest of all"),
    ],
)
def test_floats_are_written_as_go_writes_them(value: float, expected: str) -> None:
    assert float_text(value) == expected


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_float_is_that_float(value: float) -> None:
    """The text is JSON and reads back to the same float64."""
    text = float_text(value)
    assert float(json.loads(text)) == value
    assert math.copysign(1, float(text)) == math.copysign(1, value)


@settings(deadline=None)
@given(st.integers())
def test_integers_of_any_length_are_exact(value: int) -> None:
    """DESIGN: integers stay exact."""
    assert orjson.dumps(integer(str(value))) == str(value).encode()
    assert orjson.dumps(exact_json(f'{{"a":[{value}]}}')) == f'{{"a":[{value}]}}'.encode()


@pytest.mark.parametrize("text", ["1e999", "-1e999"])
def test_a_number_beyond_float64_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"number {text} is out of range"):
        decimal(text)


def test_the_beginning_of_a_long_number_is_quoted() -> None:
    with pytest.raises(ValueError, match=r"number 9{100}… is out of range"):
        decimal("9" * 5000 + "e1")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "[1,-Infinity]"])
def test_text_that_is_json_only_to_python_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a JSON value"):
        exact_json(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=6,
)


@pytest.mark.parametrize("text", ["1" * 400, "-" + "9" * 309, "1" * 5000])
def test_an_integer_beyond_float64_is_read_exactly(text: str) -> None:
    found = read_json(f'{{"a":[{text},0.5]}}'.encode())
    assert orjson.dumps(found) == f'{{"a":[{text},0.5]}}'.encode()


@pytest.mark.parametrize(
    "text", ["1e400", "NaN", "[1", '{"a":%s,"b":"\\ud800"}' % ("1" * 400), "[" * 2000 + "1" * 400 + "]" * 2000]
)
def test_what_orjson_refuses_for_another_reason_stays_refused(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        read_json(text)
