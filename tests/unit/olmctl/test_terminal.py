"""Text of catalogs never controls a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmctl.terminal import clean, clean_lines, escape_controls, shorten, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("größe 漢字", "größe 漢字", id="letters of all languages stay"),
        pytest.param("a\n\t b", "a b", id="line ends and tabs are blanks"),
        pytest.param("a\x1b]0;x\x07b", "a\ufffd]0;x\ufffdb", id="an escape sequence"),
        pytest.param("a\u009b31m", "a\ufffd31m", id="a control character of Latin-1"),
        pytest.param("a\u202egpj.b", "a\ufffdgpj.b", id="a mark that turns the direction of writing"),
        pytest.param("a\u200bb", "a\ufffdb", id="an invisible character"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text())
def test_only_printable_characters_remain(text: str) -> None:
    assert clean(text).isprintable()
    assert clean_lines(text).replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\n\t\x1b[32mb\x1b[0m", "a\n\t\x1b[32mb\x1b[0m", id="lines, tabs and colours stay"),
        pytest.param("a\x1b]52;c;YQ==\x07b", r"a\u001b]52;c;YQ==\u0007b", id="a sequence that writes the clipboard"),
        pytest.param("a\x1b[2J\x08\r", r"a\u001b[2J\u0008\u000d", id="a sequence that clears the screen"),
        pytest.param("\x1b[8ma", r"\u001b[8ma", id="a sequence that hides a text"),
        pytest.param("a\u009b31m", r"a\u009b31m", id="a control character of Latin-1"),
    ],
)
def test_the_net_of_a_terminal(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_lines_stay() -> None:
    assert clean_lines("a\n\tb\r\x1b") == "a\n\tb\ufffd\ufffd"


@pytest.mark.parametrize(("text", "shown"), [("abc", "abc"), ("abcd", "ab…"), ("a bcd", "a…")])
def test_a_long_text_is_shortened(text: str, shown: str) -> None:
    assert shorten(text, 3) == shown


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1)])
def test_the_columns_of_a_text(text: str, columns: int) -> None:
    assert width(text) == columns
