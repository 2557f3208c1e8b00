"""Patterns of publishers: they refuse what does not match, and cost nothing, whatever they are."""

from __future__ import annotations

import time

import pytest

from console.forms.checks import is_unlike

PATTERNS = [
    pytest.param("^[a-z]+$", "abc", False, id="a match"),
    pytest.param("^[a-z]+$", "ABC", True, id="no match"),
    pytest.param("b", "abc", False, id="a part matches, as in the API server"),
    pytest.param("(?=x)", "y", False, id="what Go does not know refuses nothing"),
    pytest.param("(", "y", False, id="what is no pattern refuses nothing"),
    pytest.param("a" * 3000, "y", False, id="a pattern that is too long refuses nothing"),
    pytest.param(
        "((a{1,1000}){1,1000}){1,1000}", "a", False, id="a pattern that needs too much memory refuses nothing"
    ),
    pytest.param("^(a+)+$", "a" * 50_000 + "!", True, id="a pattern that would not end in Python"),
    pytest.param("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60_000, True, id="another one"),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), PATTERNS)
def test_patterns(pattern: str, text: str, expected: bool) -> None:
    began = time.process_time()
    assert is_unlike(pattern, text) is expected
    assert time.process_time() - began < 1
