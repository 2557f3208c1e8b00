"""The bytes that Go has read when it refuses a text as JSON, and its error."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.json_syntax import syntax_error, syntax_error_offset

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("- a", 2), ("[1,]", 4), ("", 0), ("  ", 2), ("[", 1), ('{"a":1,}', 8), ("01", 2), ("1.", 2), ("1.x", 3),
        ('"a\\x"', 4), ('"a', 2), ("tru", 3), ("trux", 4), ('{"a" 1}', 6), ("[1] x", 5), ("-", 1), ("[1e+]", 5),
        ('"\\u12g4"', 6), ('["a\nb"]', 4), ("{a: 1}", 2), ("nul]", 4), ("[1 2]", 4), ("]", 1), ('{"a":}', 6),
    ],
)  # fmt: skip
def test_refused_texts(text: str, offset: int) -> None:
    assert syntax_error_offset(text.encode()) == offset


@given(values)
def test_json_is_accepted(value: object) -> None:
    assert syntax_error_offset(json.dumps(value, indent=1).encode()) is None


@given(values.map(json.dumps), st.integers(0, 50))
def test_the_beginning_of_json_ends_too_early(text: str, end: int) -> None:
    data = text.encode()[:end]
    offset = syntax_error_offset(data)
    assert offset is None or offset == len(data)


@given(st.text(alphabet='{}[]",:0123456789.-+eE \\ntrufals', max_size=12))
def test_a_text_is_refused_exactly_if_it_is_no_json(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda name: orjson.loads(name))
        is_json = True
    except ValueError:
        is_json = False
    assert (syntax_error_offset(text.encode()) is None) == is_json


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1]", ""),
        ("", "unexpected end of JSON input"),
        ("[1", "unexpected end of JSON input"),
        ('"a', "unexpected end of JSON input"),
        ("1e", "unexpected end of JSON input"),
        ("- a", "invalid character ' ' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("1 2", "invalid character '2' after top-level value"),
        ('{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        ('"\x01"', "invalid character '\\x01' in string literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\uzz"', "invalid character 'z' in \\u hexadecimal character escape"),
        ("[" * 10_001, "exceeded max depth"),
    ],
)
def test_the_error_of_a_text(text: str, error: str) -> None:
    assert syntax_error(text.encode()) == error
