"""Values as Go's fmt prints them, compared with what Go printed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from olmkit.gocompat.values import format_t, format_v


@pytest.mark.parametrize(
    ("value", "as_boolean", "plain"),
    [
        pytest.param(5, "%!t(float64=5)", "5", id="an integer"),
        pytest.param(True, "true", "true", id="a boolean is what %t is for"),
        pytest.param(None, "%!t(<nil>)", "<nil>", id="null"),
        pytest.param("a", "%!t(string=a)", "a", id="a string"),
        pytest.param(
            [1, True, None, "a", [2], {"k": orjson.Fragment(b"1.5")}],
            "[%!t(float64=1) true <nil> %!t(string=a) [%!t(float64=2)] map[%!t(string=k):%!t(float64=1.5)]]",
            "[1 true <nil> a [2] map[k:1.5]]",
            id="in a list each value by itself",
        ),
        pytest.param(
            {"b": 1, "a": "x", "c": None, "d": False},
            "map[%!t(string=a):%!t(string=x) %!t(string=b):%!t(float64=1) %!t(string=c):<nil> %!t(string=d):false]",
            "map[a:x b:1 c:<nil> d:false]",
            id="in a mapping too, sorted by key",
        ),
        pytest.param([], "[]", "[]", id="an empty list"),
        pytest.param({}, "map[]", "map[]", id="an empty mapping"),
    ],
)
def test_values(value: Any, as_boolean: str, plain: str) -> None:
    assert (format_t(value), format_v(value)) == (as_boolean, plain)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1000000", "1e+06"),
        ("123456789", "1.23456789e+08"),
        ("21000000000000000000000", "2.1e+22"),
        ("0.00001", "1e-05"),
        ("0.0001", "0.0001"),
        ("1e-7", "1e-07"),
        ("-0.0", "-0"),
        ("9007199254740993", "9.007199254740992e+15"),
        ("100000", "100000"),
        ("0.1", "0.1"),
        ("123456.789", "123456.789"),
        ("-2.5", "-2.5"),
        ("1234567.5", "1.2345675e+06"),
        ("0", "0"),
    ],
)
def test_numbers(number: str, text: str) -> None:
    assert format_v(orjson.Fragment(number.encode())) == text
    if number.isdigit():
        assert format_v(int(number)) == text
