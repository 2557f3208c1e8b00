"""The bytes that Go has read when it refuses a text as JSON."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.json_syntax import syntax_error_offset

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
