"""Versions, releases and the ranges of catalogs."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import (
    BadRange,
    BadVersion,
    BlangRange,
    Version,
    parse_bundle_version,
    parse_release,
    parse_tolerant_version,
    parse_version,
    version_hint,
)

REFUSED = "refused with a reason"


def read_or_refused(text: str) -> str:
    """The version as it is written again, or whether blang's words name what is wrong."""
    try:
        return str(parse_version(text))
    except BadVersion as error:
        return str(error) if str(error) == "not a semantic version" else REFUSED


numbers = st.integers(0, 12)
words = st.sampled_from(["0", "1", "10", "alpha", "beta", "rc", "k-y", "-", "0a"])
versions = st.builds(
    lambda core, prerelease, build: (
        ".".join(map(str, core)) + ("-" + ".".join(prerelease) if prerelease else "") + ("+" + build if build else "")
    ),
    st.tuples(numbers, numbers, numbers),
    st.lists(words, max_size=3),
    st.sampled_from(["", "1", "b2.k", "001"]),
).map(parse_version)


@pytest.mark.parametrize(
    "ascending",
    [
        pytest.param("0.9.9 1.0.0 1.0.1 1.1.0 2.0.0 10.0.0", id="numbers by value, the first first"),
        pytest.param(
            "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0",
            id="the chain of semver.org",
        ),
        pytest.param("1.0.0-1 1.0.0-2 1.0.0-10 1.0.0-A 1.0.0-a", id="numbers below words, words by ASCII"),
        pytest.param("1.0.0-0 1.0.0-0.0 1.0.0--", id="fewer identifiers below more"),
    ],
)
def test_precedence_is_that_of_semver(ascending: str) -> None:
    for lower, higher in pairwise(map(parse_version, ascending.split())):
        assert lower < higher
        assert not higher < lower
        assert lower != higher


@pytest.mark.parametrize(
    "ascending",
    [
        pytest.param("1.0.0 1.0.0+1 1.0.0+2 1.0.0+10 1.0.0+a", id="no release below any, numbers below words"),
        pytest.param("1.0.0+2 1.0.1 1.0.1+1", id="the version counts before the release"),
        pytest.param("1.0.0-pre+9 1.0.0", id="a release does not lift a prerelease"),
    ],
)
def test_a_release_orders_equal_versions(ascending: str) -> None:
    for lower, higher in pairwise(map(parse_bundle_version, ascending.split())):
        assert lower < higher
        assert lower != higher


@given(versions, versions, versions)
def test_versions_have_a_total_order(a: Version, b: Version, c: Version) -> None:
    assert (a < b) + (a == b) + (b < a) == 1
    assert not (a < b and b < c) or a < c
    assert (a == b) <= (hash(a) == hash(b))


@given(versions)
def test_a_version_reads_back_as_written(version: Version) -> None:
    again = parse_version(str(version))
    assert again == version
    assert str(again) == str(version)


@given(versions)
def test_build_metadata_is_no_part_of_the_order(version: Version) -> None:
    bare = parse_version(str(version).partition("+")[0])
    assert bare == version


@given(st.text(alphabet="01.-+xv a²", max_size=12))
def test_any_text_is_a_version_or_a_bad_one(text: str) -> None:
    assert read_or_refused(text) in (text, REFUSED)


@given(
    versions.map(str),
    st.integers(0, 20),
    st.sampled_from(["", ".", "-", "+", "0", "00", "x", "²", "٣", "\n", " ", "9" * 20]),
)
def test_every_version_that_is_refused_has_a_reason(text: str, at: int, more: str) -> None:
    """What the library refuses, and only that, breaks a rule of blang's."""
    damaged = text[:at] + more + text[at + 1 :]
    assert read_or_refused(damaged) in (damaged, REFUSED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "Version string empty", id="nothing"),
        pytest.param("1.0", "No Major.Minor.Patch elements found", id="two parts"),
        pytest.param("v1.0.0", 'Invalid character(s) found in major number "v1"', id="a v"),
        pytest.param("1.0.0.1", 'Invalid character(s) found in patch number "0.1"', id="four parts"),
        pytest.param("1.00.0", 'Minor number must not contain leading zeroes "00"', id="leading zeros"),
        pytest.param(
            "1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"', id="in a prerelease"
        ),
        pytest.param("1.0.0-", "Prerelease is empty", id="a hyphen and nothing"),
        pytest.param("1.0.0-a..b", "Prerelease is empty", id="an empty identifier"),
        pytest.param("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"', id="an underscore"),
        pytest.param("1.0.0+", "Build meta data is empty", id="a plus and nothing"),
        pytest.param(
            "1.0.0+a_b", 'Invalid character(s) found in build meta data "a_b"', id="an underscore in the build"
        ),
        pytest.param("1..0", 'Invalid character(s) found in minor number ""', id="an empty number"),
        pytest.param("1.0.٣", 'Invalid character(s) found in patch number "٣"', id="a digit that is not ASCII"),
        pytest.param("1.0.0\n", 'Invalid character(s) found in patch number "0\\n"', id="a line end"),
        pytest.param(f"{2**64}.0.0", f'Major number is too large "{2**64}"', id="more than 64 bits"),
        pytest.param(
            f"1.0.0-{2**64}", f'Prerelease number is too large "{2**64}"', id="more than 64 bits in a prerelease"
        ),
        pytest.param("1" * 2000, "version is longer than 1024 characters", id="a flood"),
    ],
)
def test_a_bad_version_is_refused_with_the_message_of_blang(text: str, message: str) -> None:
    with pytest.raises(BadVersion) as caught:
        parse_version(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("1.2.3", "1.2.3", id="a version"),
        pytest.param(" v1.2.3 ", "1.2.3", id="blanks and a v"),
        pytest.param("1", "1.0.0", id="one part"),
        pytest.param("1.2", "1.2.0", id="two parts"),
        pytest.param("01.002.0003", "1.2.3", id="leading zeros"),
        pytest.param("00.0.000", "0.0.0", id="zeros alone"),
        pytest.param("1.2.03-rc.1+b", "1.2.3-rc.1+b", id="a suffix after three parts"),
        pytest.param("1.19.0-0", "1.19.0-0", id="as minKubeVersion is often written"),
    ],
)
def test_a_version_is_read_tolerantly(text: str, version: str) -> None:
    assert str(parse_tolerant_version(text)) == version


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.2-alpha", "Short version cannot contain PreRelease/Build meta data"),
        ("1+b", "Short version cannot contain PreRelease/Build meta data"),
        ("", 'Invalid character(s) found in major number ""'),
        ("vv1.2.3", 'Invalid character(s) found in major number "0v1"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("latest", 'Invalid character(s) found in major number "0latest"'),
    ],
)
def test_what_is_no_version_for_a_tolerant_reader(text: str, message: str) -> None:
    with pytest.raises(BadVersion) as caught:
        parse_tolerant_version(text)
    assert str(caught.value) == message


@given(versions)
def test_a_tolerant_reader_reads_what_a_strict_one_does(version: Version) -> None:
    assert str(parse_tolerant_version(str(version))) == str(version)


@given(st.text(alphabet="01.-+xv a²", max_size=12))
def test_any_text_is_a_version_or_a_bad_one_for_a_tolerant_reader(text: str) -> None:
    with suppress(BadVersion):
        assert parse_tolerant_version(f" v{text}") == parse_tolerant_version(text)


@pytest.mark.parametrize(
    ("text", "release", "version", "wanted"),
    [
        pytest.param("1.0.0", None, "1.0.0", "", id="none"),
        pytest.param("1.0.0+2", None, "1.0.0", "2", id="build metadata is read as the release"),
        pytest.param("1.0.0-pre+1.alpha.2", None, "1.0.0-pre", "1.alpha.2", id="with a prerelease before it"),
        pytest.param("1.0.0+001", None, "1.0.0+001", "", id="what is no valid release stays build metadata"),
        pytest.param("1.0.0+" + "a" * 21, None, "1.0.0+" + "a" * 21, "", id="what is too long stays build metadata"),
        pytest.param("1.0.0+2", "", "1.0.0+2", "", id="an explicit empty release leaves build metadata alone"),
        pytest.param("1.0.0", "3", "1.0.0", "3", id="an explicit release"),
    ],
)
def test_the_release_of_a_bundle(text: str, release: str | None, version: str, wanted: str) -> None:
    found = parse_bundle_version(text, release)
    assert found.release == wanted
    assert found.precedence == parse_version(version).precedence
    assert found.build == version.partition("+")[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * 21, f'invalid release "{"a" * 21}": exceeds maximum length of 20 characters'),
        ("1..2", 'invalid release "1..2": segment 1: Prerelease is empty'),
        ("01", 'invalid release "01": segment 0: Numeric PreRelease version must not contain leading zeroes "01"'),
    ],
)
def test_a_bad_release_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadVersion) as caught:
        parse_release(text)
    assert str(caught.value) == message


RANGES = [
    ("never 1.2.4", ">1.2.2 <1.2.4", {"1.2.3": True, "1.2.4": False}),
    ("an exception", ">1.2.2 <1.2.5 !=1.2.4", {"1.2.3": True, "1.2.4": False}),
    ("an or of two", "<1.2.2 || >1.2.4", {"1.2.2": False, "1.2.3": False, "1.2.4": False, "1.2.5": True}),
    (
        "and binds more than or",
        ">1.2.2 <1.2.4 || >=2.0.0",
        {"1.2.3": True, "1.2.4": False, "2.0.0": True, "2.0.1": True},
    ),
    ("two intervals", ">1.2.2 <1.2.4 || >=2.0.0 <3.0.0", {"2.9.9": True, "3.0.0": False}),
    ("a bare version", "1.2.3", {"1.2.3": True, "1.2.4": False}),
    ("not, short", "!1.2.3", {"1.2.3": False, "1.2.4": True}),
    ("not, long", "!=1.2.3", {"1.2.3": False, "1.2.4": True}),
    ("equal, short", "=1.2.3", {"1.2.3": True}),
    ("equal, long", "==1.2.3", {"1.2.3": True}),
    ("at least", ">=1.2.3", {"1.2.2": False, "1.2.3": True, "1.2.4": True}),
    ("a blank after the comparator", "> 1.2.3", {"1.2.4": True, "1.2.3": False}),
    ("a wildcard minor", "1.x", {"1.1.3": True, "2.0.0": False}),
    ("a wildcard patch", "1.2.x", {"1.2.9": True, "1.3.0": False}),
    ("two wildcards are read as the library does", "1.x.x", {"1.0.9": True, "1.1.0": False}),
    ("above a wildcard minor", ">1.x", {"1.9.0": False, "2.0.0": True}),
    ("above a wildcard patch", ">1.2.x", {"1.2.6": False, "1.3.0": True}),
    ("below a wildcard", "<1.2.x", {"1.1.9": True, "1.2.0": False}),
    ("up to a wildcard", "<=1.2.x", {"1.2.9": True, "1.3.0": False}),
    ("from a wildcard", ">=1.x", {"0.9.9": False, "1.0.0": True}),
    ("not a wildcard never holds, as in the library", "!=1.2.x", {"1.1.0": False, "1.2.0": False, "1.3.0": False}),
    ("wildcards in both", "1.x || >=2.0.x <2.2.x", {"0.9.2": False, "1.2.2": True, "2.1.8": True, "2.2.0": False}),
    ("a skipRange that ends with its version", "<=0.0.1", {"0.0.1": True}),
    ("a skipRange of a minor", ">=2.3.0 <2.4.0", {"2.3.0": True, "2.4.0": False}),
    ("a wildcard and a bound", ">=3.4.x <3.5.7", {"3.4.0": True, "3.5.7": False}),
    ("prereleases are plain versions", ">=1.0.0", {"1.0.0-rc.1": False, "2.0.0-alpha": True}),
    ("build metadata does not count", ">1.2.3", {"1.2.3+b1": False}),
    ("a token of one character is lost, as in the library", "1 >=2.0.0", {"1.0.0": False, "2.0.0": True}),
]


@pytest.mark.parametrize(
    ("text", "version", "inside"),
    [
        pytest.param(text, version, inside, id=f"{name}: {text} holds {version}: {inside}")
        for name, text, versions in RANGES
        for version, inside in versions.items()
    ],
)
def test_a_range_of_a_catalog_contains_the_right_versions(text: str, version: str, inside: bool) -> None:
    assert BlangRange.parse(text).matches(parse_version(version)) is inside


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">v0.1.0", 'Could not parse Range ">v0.1.0": Could not parse comparator ">v" in ">v0.1.0"'),
        (
            ">1.00.1",
            'Could not parse Range ">1.00.1": Could not parse version "1.00.1" in ">1.00.1": '
            'Minor number must not contain leading zeroes "00"',
        ),
        (">>1.2.3", 'Could not parse Range ">>1.2.3": Could not parse comparator ">>" in ">>1.2.3"'),
        (
            "1.0",
            'Could not parse Range "1.0": Could not parse version "1.0" in "1.0": No Major.Minor.Patch elements found',
        ),
        ("string", 'Could not get version from string: "string"'),
        ("", "Last element in range is '||'"),
        ("1", "Last element in range is '||'"),
        ("fo.ob.ar.x", 'Could not get version from string: "fo.ob.ar.x"'),
        (
            ">=1.0.0,<2.0.0",
            'Could not parse Range ">=1.0.0,<2.0.0": Could not parse version "1.0.0,<2.0.0" in ">=1.0.0,<2.0.0": '
            'Invalid character(s) found in patch number "0,<2.0.0"',
        ),
        ("^1.0.0", 'Could not parse Range "^1.0.0": Could not parse comparator "^" in "^1.0.0"'),
        ("^1.x", 'Could not parse Range "^1.x": Could not parse comparator "^" in "^1.x"'),
        (
            "1.0.0||2.0.0",
            'Could not parse Range "1.0.0||2.0.0": Could not parse version "1.0.0||2.0.0" in "1.0.0||2.0.0": '
            'Invalid character(s) found in patch number "0||2.0.0"',
        ),
        ("|| 1.0.0", "First element in range is '||'"),
        ("1.0.0 ||", "Last element in range is '||'"),
        ("1.0.0 || || 2.0.0", "Two '||' follow each other"),
        (
            ">1.0.0-alphax",
            'Could not parse Range ">1.0.0-alphax": a wildcard is the last part of a version, as in 1.2.x',
        ),
        ("<=1.x.0", 'Could not parse Range "<=1.x.0": a wildcard is the last part of a version, as in 1.2.x'),
        ("x", "Last element in range is '||'"),
        ("1.0.0 " * 200, "range is longer than 1024 characters"),
    ],
)
def test_a_bad_range_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(BadRange) as caught:
        BlangRange.parse(text)
    assert str(caught.value) == message


@given(versions, versions)
def test_a_range_between_two_versions_contains_exactly_those_between(a: Version, b: Version) -> None:
    low, high = sorted([a, b])
    inside = BlangRange.parse(f">={_core(low)} <={_core(high)}")
    for version in (a, b, parse_version("5.5.5")):
        assert inside.matches(version) is (low <= _bare(version) <= high)


def _core(version: Version) -> str:
    return str(version).partition("+")[0]


def _bare(version: Version) -> Version:
    return parse_version(str(version).partition("+")[0])


@given(st.text(alphabet="0123.x<>=!|^~ -a", max_size=24))
def test_any_text_is_a_range_or_a_bad_one(text: str) -> None:
    with suppress(BadRange):
        assert BlangRange.parse(text).groups


def test_quoting_keeps_one_line() -> None:
    assert quoted('a"b\\\n') == '"a\\"b\\\\\\n"'


comparisons = st.builds(
    "{}{}".format, st.sampled_from(["", "=", "==", "!", "!=", ">", ">=", "<", "<="]), versions.map(_core)
)
ranges = st.lists(st.lists(comparisons, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=3).map(" || ".join)


@given(ranges, st.lists(versions, max_size=8))
def test_the_slices_of_a_range_hold_the_versions_that_match(text: str, some: list[Version]) -> None:
    bounds = [bound for group in BlangRange.parse(text).groups for _, bound in group]
    by_precedence = {version.precedence: version for version in [*some, *bounds]}
    points = sorted(by_precedence)
    inside = {point for low, high in BlangRange.parse(text).slices(points) for point in points[low:high]}
    assert inside == {point for point in points if BlangRange.parse(text).matches(by_precedence[point])}
    assert all(0 <= low < high <= len(points) for low, high in BlangRange.parse(text).slices(points))


@given(ranges)
def test_blanks_make_no_difference_to_a_range(text: str) -> None:
    assert BlangRange.parse(f" {text.replace(' ', '  ')} ").groups == BlangRange.parse(text).groups


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("v0.1.0", ": write 0.1.0", id="a tag"),
        pytest.param("v0.1.0-rc.1", ": write 0.1.0-rc.1", id="a tag of a prerelease"),
        pytest.param("v1", "", id="a tag of another form"),
        pytest.param("0.1", "", id="no tag"),
    ],
)
def test_a_version_with_a_v_is_advised_without_it(text: str, hint: str) -> None:
    assert version_hint(text) == hint
