"""opm's errors for versions, releases and ranges, and which of them it accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.fbc.checks.version_errors import range_error, release_error, version_error
from olmkit.gocompat.versions import BadRange, BlangRange

HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("1.2.3-rc.1+b.7", "", id="a version"),
        pytest.param("", "Version string empty", id="nothing"),
        pytest.param("1..0", 'strconv.ParseUint: parsing "": invalid syntax', id="an empty number"),
        pytest.param(f"{HUGE}.0.0", f'strconv.ParseUint: parsing "{HUGE}": value out of range', id="a huge number"),
        pytest.param(
            f"0.0.0-{HUGE}", f'strconv.ParseUint: parsing "{HUGE}": value out of range', id="a huge prerelease"
        ),
        pytest.param("1.0.x", 'Invalid character(s) found in patch number "x"', id="a wildcard"),
    ],
)
def test_versions(text: str, words: str) -> None:
    assert version_error(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "", id="no release"),
        pytest.param("2.a-b.0", "", id="a release"),
        pytest.param("x" * 20, "", id="20 characters"),
        pytest.param(
            "é" * 11,
            f'invalid release "{"é" * 11}": exceeds maximum length of 20 characters',
            id="22 bytes are too many",
        ),
        pytest.param("1..2", 'invalid release "1..2": segment 1: Prerelease is empty', id="an empty segment"),
        pytest.param(
            "a_.01",
            'invalid release "a_.01": segment 0: Invalid character(s) found in prerelease "a_"\nsegment 1: Numeric PreRelease'
            ' version must not contain leading zeroes "01"',
            id="every bad segment",
        ),
        pytest.param(
            "a+b", 'invalid release "a+b": segment 0: Invalid character(s) found in prerelease "a+b"', id="a plus"
        ),
    ],
)
def test_releases(text: str, words: str) -> None:
    assert release_error(text) == words


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(">=1.0.0 <2.0.0 || =3.0.0", id="bounds"),
        pytest.param("1.x || >=2.0.x", id="wildcards"),
        pytest.param("^1.x", id="an unknown operator before a wildcard is ignored"),
        pytest.param("1.0.0 || || 2.0.0", id="two signs of or"),
        pytest.param("1.0.0 a", id="a single character is ignored"),
        pytest.param(">\t1.0.0", id="a tabulator after an operator"),
    ],
)
def test_ranges_that_opm_accepts(text: str) -> None:
    assert range_error(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            "<=v0.10.1",
            'Could not parse Range "<=v0.10.1": Could not parse comparator "<=v" in "<=v0.10.1"',
            id="a v",
        ),
        pytest.param("", "Last element in range is '||'", id="nothing"),
        pytest.param("|| 1.0.0", "First element in range is '||'", id="or at the beginning"),
        pytest.param("1.0.0 ||", "Last element in range is '||'", id="or at the end"),
        pytest.param("latest", 'Could not get version from string: "latest"', id="a word"),
        pytest.param(
            "<=1.x.3",
            'Could not get version from string: "<"',
            id="a wildcard in the middle",
        ),
        pytest.param("1.0 || x.x.x", 'Could not get version from string: "x.x.x"', id="wildcards are read first"),
        pytest.param(" " * 1025, "range is longer than 1024 characters", id="a flood"),
    ],
)
def test_ranges_that_opm_refuses(text: str, words: str) -> None:
    assert range_error(text) == words


@given(st.text(alphabet="0123.x<>=!|^~ -av", max_size=24))
def test_ranges_of_the_resolver_are_accepted_by_opm(text: str) -> None:
    try:
        BlangRange.parse(text)
    except BadRange:
        return
    assert range_error(text) == ""
