"""What an error quotes is short, and one line that can be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.excerpts import MARKED, QUOTED, beginning, marked

TEXTS = st.text(max_size=40) | st.text("x\n\u202e", min_size=QUOTED - 2, max_size=6 * QUOTED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a b", "a b", id="as it stands"),
        pytest.param("x" * QUOTED, "x" * QUOTED, id="all that fits"),
        pytest.param("x" * (QUOTED + 1), "x" * QUOTED + "…", id="the beginning of more"),
        pytest.param("a\r\n\t b", "a b", id="lines become one"),
        pytest.param("a\x1b\u202eb", "a\ufffd\ufffdb", id="what cannot be shown"),
    ],
)
def test_beginnings(text: str, expected: str) -> None:
    assert beginning(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        pytest.param('{"a": x}', 6, '{"a": <==', id="what stands before"),
        pytest.param("x", 0, "<==", id="nothing before"),
        pytest.param('{\n  "a": x', 9, '{ "a": <==', id="over several lines"),
        pytest.param("x" * MARKED, MARKED, "x" * MARKED + " <==", id="all that fits"),
        pytest.param("y" + "x" * MARKED, MARKED + 1, "…" + "x" * MARKED + " <==", id="the end of more"),
        pytest.param("y" + " " * 5000 + "x", 5001, "… <==", id="blanks and no more"),
    ],
)
def test_marks(text: str, at: int, expected: str) -> None:
    assert marked(text, at) == expected


@given(TEXTS, st.integers(0, 6 * QUOTED))
def test_excerpts_are_short_and_can_be_shown(text: str, at: int) -> None:
    """Whatever the text holds: one printable line of bounded length."""
    assert beginning(text).isprintable()
    assert len(beginning(text)) <= QUOTED + 1
    assert marked(text, at).isprintable()
    assert len(marked(text, at)) <= MARKED + len("… <==")
