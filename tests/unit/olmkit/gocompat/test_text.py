"""Sentences as Go's fmt writes them, and lists of names."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.text import list_names, quoted, sprintf, truncate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", '""', id="nothing"),
        pytest.param("a 'b' <c>", "\"a 'b' <c>\"", id="what needs no escape"),
        pytest.param('"\\', '"\\"\\\\"', id="quotes and backslashes"),
        pytest.param("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"', id="escapes with a letter"),
        pytest.param("\x00\x7f", '"\\x00\\x7f"', id="other control characters of ASCII"),
        pytest.param("\x85\u00a0\u200b\ufeff", '"\\u0085\\u00a0\\u200b\\ufeff"', id="what shows nothing"),
        pytest.param("é€😀", '"é€😀"', id="letters and pictures"),
        pytest.param("\U000e0001", '"\\U000e0001"', id="beyond 16 bits"),
    ],
)
def test_quotes(text: str, expected: str) -> None:
    assert quoted(text) == expected


@given(st.text())
def test_quoted_text_is_one_line_and_can_be_unquoted(text: str) -> None:
    assert len(quoted(text).splitlines()) == 1
    assert ast.literal_eval(quoted(text)) == text


def test_arguments_are_formatted_in_order() -> None:
    assert sprintf("%q of %s at %d", "a", "b", 3) == '"a" of b at 3'
    assert sprintf("entries %s", ["a", "b"]) == "entries [a b]"


def test_arguments_are_not_formatted_again() -> None:
    assert sprintf("%s and %q", "%q", "%s") == '%q and "%s"'


@pytest.mark.parametrize(
    ("message", "limit", "expected"),
    [
        pytest.param("short", 5, "short", id="what fits stays"),
        pytest.param("longer", 5, "lo…", id="what does not fit is cut, and three dots say so"),
        pytest.param("aéé", 4, "a…", id="a character that does not fit is removed completely"),
        pytest.param("a😀bcd", 7, "a…", id="also one of four bytes"),
        pytest.param("ab", 1, "a", id="without dots when they do not fit"),
    ],
)
def test_cut(message: str, limit: int, expected: str) -> None:
    assert truncate(message, limit) == expected


@given(st.text(max_size=50), st.integers(3, 60))
def test_cut_returns_the_longest_prefix_that_fits(message: str, limit: int) -> None:
    result = truncate(message, limit)
    assert len(result.encode()) <= limit
    assert truncate(result, limit) == result
    if result != message:
        kept = result.removesuffix("…")
        assert message.startswith(kept)
        assert len(message[: len(kept) + 1].encode()) > limit - len("…".encode())


@pytest.mark.parametrize(
    ("items", "count", "text"),
    [
        pytest.param([], None, "", id="none"),
        pytest.param(["b", "a"], None, "a, b", id="sorted"),
        pytest.param(list("gfedcba"), None, "a, b, c, d, e, and 2 more", id="the first five"),
        pytest.param(list("edcba"), 9, "a, b, c, d, e, and 4 more", id="the first five of nine"),
    ],
)
def test_names_of_many(items: list[str], count: int | None, text: str) -> None:
    assert list_names(items, count=count) == text
