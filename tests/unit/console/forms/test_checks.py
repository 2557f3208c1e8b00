"""Patterns of publishers: they refuse what does not match, and cost nothing, whatever they are."""

from __future__ import annotations

import time

import pytest

from console.forms.checks import is_unlike, name_problem, words_of

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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("orders-2.a", "", id="a name"),
        pytest.param("", "is required", id="no name"),
        pytest.param("Orders", "a name has lower-case letters", id="a name with a capital"),
        pytest.param("-a", "a name has lower-case letters", id="a name that begins with a hyphen"),
        pytest.param("a" * 254, "a name has lower-case letters", id="a name that is too long"),
    ],
)
def test_a_name_that_no_object_can_have_has_a_short_reason(name: str, expected: str) -> None:
    assert name_problem(name)[: len(expected) or None] == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param('Invalid value: "object": no such key: a', "no such key: a", id="the value is the whole object"),
        pytest.param('Invalid value: "x": must be a number', '"x": must be a number', id="the value is a text"),
        pytest.param("Required value", "Required value", id="no value"),
    ],
)
def test_the_words_of_an_error_are_about_the_field(message: str, expected: str) -> None:
    assert words_of(message) == expected
