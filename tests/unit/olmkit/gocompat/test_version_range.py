"""The grammar of Operator.spec.version, and the pattern that the API validates it with."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.api.operators import VERSION_PATTERN
from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import BadRange, BlangRange, parse_version

RANGES: list[tuple[str, dict[str, bool]]] = [
    ("1.0.0", {"1.0.0+1": True, "1.0.1": False}),
    ("1.0.0+1", {"1.0.0": True, "1.0.0+1": True, "1.0.0+2": True}),
    ("=2.0", {"2.0.1": True, "1.2.3": False}),
    (">=2.0.0", {"1.0.0": False, "2.0.0": True}),
    ("!=4.1", {"4.1.1": False, "5.1.0": True, "5.1.0-alpha.1": False}),
    ("!=4.x", {"4.1.0": False, "5.1.0": True}),
    ("!=4.1.0", {"4.1.0": False, "4.1.1": True}),
    ("!=4.1-beta", {"4.1.0-beta": False, "4.1.0": True, "4.2.0-beta": True}),
    ("!=*", {"0.0.0": False, "1.0.0": True}),
    ("<=11", {"11.2.3": True, "12.2.3": False}),
    ("<=1.1", {"1.1.1": True, "1.2.500": False}),
    ("<=1.1.1", {"1.1.1": True, "1.1.2": False}),
    (">11", {"11.1.0": False, "12.1.0": True}),
    (">11.1", {"11.1.0": False, "11.2.1": True}),
    ("<1.1.x", {"1.0.500": True, "1.2.1": False}),
    (">0", {"0.0.1": False, "0.0.1-alpha": False}),
    (">=0-0", {"0.0.1-alpha": True}),
    (">0.0.0-0", {"0.0.0-alpha": True}),
    ("*", {"1.2.3": True, "1.2.3-alpha.1": False}),
    ("*-0", {"1.2.3-alpha.1": True}),
    ("2.*", {"2.1.1": True, "3.4.5": False}),
    ("~1.2.3", {"1.2.4": True, "1.3.4": False, "1.2.2": False}),
    ("~1", {"1.2.4": True, "2.0.0": False}),
    ("~1.2.3-beta.2", {"1.2.4-beta.2": True, "1.3.4-beta.2": False}),
    ("~0.0.0", {"1.2.3": True}),
    ("~>1.2", {"1.2.9": True, "1.3.0": False}),
    ("^1.2.3", {"1.8.9": True, "2.8.9": False, "1.2.1": False}),
    ("^1.2.0", {"1.2.1-alpha.1": False}),
    ("^1.2.0-alpha.0", {"1.2.1-alpha.1": True}),
    ("^0.2.3", {"0.2.5": True, "0.5.6": False, "1.0.0": False}),
    ("^0.0.3", {"0.0.3": True, "0.0.4": False, "0.1.3": False}),
    ("^0.0", {"0.0.9": True, "0.1.0": False}),
    ("^0", {"0.2.3": True, "1.1.4": False}),
    ("^0.0.0", {"1.2.3": False, "0.0.0": True}),
    ("0.x.x", {"1.2.3": False, "0.9.9": True}),
    (">=1.1, <2, !=1.2.3 || > 3", {"4.1.2": True, "3.1.2": False, "3.0.0": False, "1.2.3": False, "1.2.4": True}),
    (">=1.1, <2, !=1.2.3 || >= 3", {"3.0.0": True}),
    (">= 1.0.0 <= 2.0.0-beta", {"1.0.1-beta": True}),
    (">= 1.0.0 <= 2.0.0-beta || > 3", {"3.0.1-beta": False}),
    ("1.1 - 2", {"1.1.1": True, "3.1.1": False}),
    ("1.1-3", {"4.3.2": False}),
    ("12.3.34 ~1.2.3", {"12.3.34": False}),
    ("1.0.0||2.0.0", {"2.0.0": True}),
    (">=1.0.0,<2.0.0", {"1.9.9": True, "2.0.0": False}),
    ("1.2.0 || 1.3.0", {"1.3.0": True, "1.2.1": False}),
    ("=>1", {"1.0.0": True}),
    ("=<1", {"1.9.0": True}),
    ("v1.2.3", {"1.2.3": True}),
    ("01.2.3", {"1.2.3": True}),
    ("x.1", {"7.7.7": True}),
]


@pytest.mark.parametrize(
    ("text", "version", "inside"),
    [
        pytest.param(text, version, inside, id=f"{text} contains {version}: {inside}")
        for text, versions in RANGES
        for version, inside in versions.items()
    ],
)
def test_a_range_contains_the_same_versions_as_in_masterminds_semver(text: str, version: str, inside: bool) -> None:
    assert MastermindsRange.parse(text).matches(parse_version(version)) is inside


@pytest.mark.parametrize(
    ("text", "version", "blang", "masterminds"),
    [
        (">=1.0.0", "2.0.0-alpha", True, False),
        ("1.2", "1.2.5", None, True),
        (">1.x", "1.9.0", False, False),
        ("1.0.0 || 2.0.0", "2.0.0", True, True),
        ("1.0.0||2.0.0", "2.0.0", None, True),
        (">=1.0.0,<2.0.0", "1.5.0", None, True),
    ],
)
def test_known_differences_to_the_ranges_of_catalogs(
    text: str, version: str, blang: bool | None, masterminds: bool
) -> None:
    assert MastermindsRange.parse(text).matches(parse_version(version)) is masterminds
    if blang is None:
        with pytest.raises(BadRange):
            BlangRange.parse(text)
    else:
        assert BlangRange.parse(text).matches(parse_version(version)) is blang


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">= bar", '">= bar" is neither a version nor a range of versions'),
        ("BAR >= 1.2.3", '"BAR >= 1.2.3" is neither a version nor a range of versions'),
        ("12.3.4.1234", '"12.3.4.1234" is neither a version nor a range of versions (at ".1234")'),
        ("12.3.34~ 1.2.3", '"12.3.34~ 1.2.3" is neither a version nor a range of versions (at "~ 1.2.3")'),
        (
            "v1.2.3-beta.01",
            'Numeric PreRelease version must not contain leading zeroes "01" in "v1.2.3-beta.01"',
        ),
        ("foobar", '"foobar" is neither a version nor a range of versions'),
        ("not-a-valid-version", '"not-a-valid-version" is neither a version nor a range of versions'),
        ("", '"" is neither a version nor a range of versions'),
        ("1.2.3 ||", '"1.2.3 ||" is neither a version nor a range of versions'),
        ("1.2.3,, 2", '"1.2.3,, 2" is neither a version nor a range of versions (at ", 2")'),
        ("==1", '"==1" is neither a version nor a range of versions'),
        ("1x2", '"1x2" is neither a version nor a range of versions'),
        ("99999999999999999999.0.0", 'Major number is too large "99999999999999999999" in "99999999999999999999.0.0"'),
        ("1 " * 300, "a range has at most 512 characters"),
        ("||".join(["1"] * 33), "a range has at most 32 parts between '||'"),
    ],
)
def test_the_message_of_an_invalid_range(text: str, message: str) -> None:
    with pytest.raises(BadRange) as caught:
        MastermindsRange.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("1.2.3", "1.2.3"),
        ("=1.2.3", "1.2.3"),
        ("v1.2.3-rc.1", "1.2.3-rc.1"),
        ("1.2", None),
        (">=1.2.3", None),
        ("1.2.3 || 2.0.0", None),
    ],
)
def test_a_full_version_is_pinned(text: str, pinned: str | None) -> None:
    found = MastermindsRange.parse(text).pinned
    assert (str(found) if found else None) == pinned


ADMITTED = [
    *("1.*", "*", "x", "1.2.*", "1.2.x", "1.x.x", "v1.2.3", "1 2", "~>1.2", "=>1", "^ 1", ">=1.0.0,<2", "1.2.3 || 2.*"),
    *(
        "1.2.3 || 2.1.x",
        "1.0.0+build.1",
        "999.99.9",
        "1.2.3-rc.1",
        ">=1.0.0 <2.0.0",
        "1.x",
        "~1.2",
        "^1",
        "1.2.0 || 1.3.0",
    ),
    *(">=1.0.0 || *", "1.*.*", "1.2.3 || 2.1.*", "1.0.0||2.0.0", "!=1.2.3"),
]
REFUSED = [
    *(
        "1.0.0 - 2.0.0",
        "01.2.3",
        "1.02.3",
        "1.2.3.4",
        "latest",
        "||",
        "1.2.3||",
        "1.2.3,, 2",
        "",
        " ",
        "1.2.3-01",
        "==1",
        "1.Y",
    ),
    *("<<1", "1 && 2", "1;2", "1.2.3-pre+bad_metadata", "|", "1.*]", ">=", "1.2.3.4.5", "stable"),
]


@pytest.mark.parametrize("text", ADMITTED)
def test_the_api_admits_valid_ranges(text: str) -> None:
    assert re.search(VERSION_PATTERN, text)
    MastermindsRange.parse(text)


@pytest.mark.parametrize("text", REFUSED)
def test_the_api_rejects_invalid_ranges(text: str) -> None:
    assert not re.search(VERSION_PATTERN, text)


@pytest.mark.parametrize(
    ("text", "is_admitted"),
    [
        pytest.param("1.*.*", True, id="the pattern of OpenShift refuses a second *, which the library reads as 1.x.x"),
        pytest.param(
            ">=1.0.0 || *", True, id="the pattern of OpenShift refuses * after an operator, which the library reads"
        ),
        pytest.param("1.2.3 || 2.1.*", True, id="the pattern of OpenShift refuses 2.1.* here and admits it alone"),
        pytest.param("|", False, id="the pattern of OpenShift admits a single bar by mistake; no library reads it"),
        pytest.param("1.*]", False, id="the pattern of OpenShift admits a bracket by mistake; no library reads it"),
        pytest.param("1.2.3-01", False, id="the pattern of OpenShift admits a prerelease that the library refuses"),
    ],
)
def test_the_pattern_differs_from_that_of_openshift_where_the_library_disagrees_with_it(
    text: str, is_admitted: bool
) -> None:
    assert bool(re.search(VERSION_PATTERN, text)) is is_admitted
    if is_admitted:
        MastermindsRange.parse(text)
    else:
        with pytest.raises(BadRange):
            MastermindsRange.parse(text)


parts = st.sampled_from(["0", "1", "2", "10", "x", "*", "X"])
bounds = st.builds(
    lambda operator, blank, numbers, suffix: operator + blank + ".".join(numbers) + suffix,
    st.sampled_from(["", "=", "!=", ">", ">=", "<", "<=", "~", "^", "~>", "=>", "=<"]),
    st.sampled_from(["", " "]),
    st.lists(parts, min_size=1, max_size=3),
    st.sampled_from(["", "-alpha", "-rc.1", "+b"]),
)
ranges = st.lists(st.lists(bounds, min_size=1, max_size=3), min_size=1, max_size=3)


@given(ranges, st.sampled_from([", ", " ", ","]), st.sampled_from([" || ", "||"]))
def test_any_well_formed_range_is_admitted_and_parsed(groups: list[list[str]], and_: str, or_: str) -> None:
    text = or_.join(and_.join(group) for group in groups)
    assert re.search(VERSION_PATTERN, text)
    MastermindsRange.parse(text)


@given(st.text(alphabet="0123456789.xX*vab-+<>=!~^|, ", max_size=20))
def test_any_range_that_the_api_admits_is_parsed(text: str) -> None:
    if re.search(VERSION_PATTERN, text):
        MastermindsRange.parse(text)


@given(ranges, st.sampled_from(["0.0.0", "0.0.1", "1.2.3", "2.0.0", "10.1.0"]))
def test_alternatives_match_if_one_of_them_matches(groups: list[list[str]], version: str) -> None:
    at = parse_version(version)
    whole = MastermindsRange.parse("||".join(" ".join(group) for group in groups)).matches(at)
    assert whole is any(all(MastermindsRange.parse(one).matches(at) for one in group) for group in groups)
