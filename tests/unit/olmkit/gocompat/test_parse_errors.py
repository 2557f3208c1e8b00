"""Excerpts in errors are short, printable and on one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.parse_errors import MAX_EXCERPT_CHARACTERS, MAX_QUOTED_CHARACTERS, excerpt_before, shorten

TEXTS = st.text(max_size=40) | st.text(
    "x\n\u202e", min_size=MAX_QUOTED_CHARACTERS - 2, max_size=6 * MAX_QUOTED_CHARACTERS
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a b", "a b", id="as it stands"),
        pytest.param("x" * MAX_QUOTED_CHARACTERS, "x" * MAX_QUOTED_CHARACTERS, id="all that fits"),
        pytest.param("x" * (MAX_QUOTED_CHARACTERS + 1), "x" * MAX_QUOTED_CHARACTERS + "…", id="the beginning of more"),
        pytest.param("a\r\n\t b", "a b", id="lines become one"),
        pytest.param("a\x1b\u202eb", "a\ufffd\ufffdb", id="what cannot be shown"),
    ],
)
def test_known_types_of_files(text: str, expected: str) -> None:
    assert shorten(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        pytest.param('{"a": x}', 6, '{"a": <==', id="what stands before"),
        pytest.param("x", 0, "<==", id="nothing before"),
        pytest.param('{\n  "a": x', 9, '{ "a": <==', id="over several lines"),
        pytest.param(
            "x" * MAX_EXCERPT_CHARACTERS,
            MAX_EXCERPT_CHARACTERS,
            "x" * MAX_EXCERPT_CHARACTERS + " <==",
            id="all that fits",
        ),
        pytest.param(
            "y" + "x" * MAX_EXCERPT_CHARACTERS,
            MAX_EXCERPT_CHARACTERS + 1,
            "…" + "x" * MAX_EXCERPT_CHARACTERS + " <==",
            id="the end of more",
        ),
        pytest.param("y" + " " * 5000 + "x", 5001, "… <==", id="blanks and no more"),
    ],
)
def test_marks(text: str, at: int, expected: str) -> None:
    assert excerpt_before(text, at) == expected


@given(TEXTS, st.integers(0, 6 * MAX_QUOTED_CHARACTERS))
def test_excerpts_are_short_and_can_be_shown(text: str, at: int) -> None:
    """Whatever the text holds: one printable line of bounded length."""
    assert shorten(text).isprintable()
    assert len(shorten(text)) <= MAX_QUOTED_CHARACTERS + 1
    assert excerpt_before(text, at).isprintable()
    assert len(excerpt_before(text, at)) <= MAX_EXCERPT_CHARACTERS + len("… <==")
