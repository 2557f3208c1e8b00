"""Patterns for the subjects of certificates."""

import pytest

from olmkit.sources.signatures.subject_pattern import InvalidPattern, check_pattern, matches


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        pytest.param(
            "https://github.com/team/.*@refs/tags/v.*", "https://github.com/team/a@refs/tags/v1", True, id="all of it"
        ),
        pytest.param("team", "team/other", False, id="the beginning"),
        pytest.param("team", "other/team", False, id="the end"),
        pytest.param("team|other", "team/other", False, id="the beginning, of alternatives"),
        pytest.param("team.*", "team\nother", False, id="a second line"),
        pytest.param("(a+)+b", "a" * 2048, False, id="many ways to match nothing"),
    ],
)
def test_a_pattern_matches_the_whole_subject(pattern: str, subject: str, expected: bool) -> None:
    assert matches(pattern, subject) is expected


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?<=a)b", "a{1001}"])
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        check_pattern(pattern)
