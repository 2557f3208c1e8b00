"""Preconditions and ranges of RFC 9110."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.http.conditional_requests import PreconditionResult, Representation, evaluate_preconditions

THERE = Representation(100, "sha256:x", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
NOW, BEFORE, AFTER = "Fri, 02 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 2026 03:04:04 GMT", "Fri, 02 Jan 2026 03:04:06 GMT"
WHOLE = PreconditionResult(200, 0, 100)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, WHOLE, id="nothing asked"),
        pytest.param({"If-None-Match": '"sha256:x"'}, PreconditionResult(304), id="the tag that is known"),
        pytest.param({"If-None-Match": 'W/"sha256:x"'}, PreconditionResult(304), id="the same as a weak tag"),
        pytest.param({"If-None-Match": '"a", "sha256:x"'}, PreconditionResult(304), id="one of several tags"),
        pytest.param({"If-None-Match": "*"}, PreconditionResult(304), id="any tag"),
        pytest.param({"If-None-Match": '"a"'}, WHOLE, id="another tag"),
        pytest.param({"If-None-Match": '"a"', "If-Modified-Since": NOW}, WHOLE, id="tags win over dates"),
        pytest.param({"If-Modified-Since": NOW}, PreconditionResult(304), id="not modified since"),
        pytest.param({"If-Modified-Since": AFTER}, WHOLE, id="a later time, that of a clock that was wrong"),
        pytest.param({"If-Modified-Since": BEFORE}, WHOLE, id="modified since"),
        pytest.param({"If-Modified-Since": "yesterday"}, WHOLE, id="a date that is none"),
        pytest.param(
            {"If-Modified-Since": f"Fri, 02 Jan {'9' * 30} 03:04:05 GMT"}, WHOLE, id="a year beyond all years"
        ),
        pytest.param(
            {"If-Modified-Since": "Fri Jan  2 03:04:05 2026"}, PreconditionResult(304), id="a date in C's form"
        ),
        pytest.param(
            {"If-Modified-Since": "Friday, 02-Jan-26 03:04:05 GMT"},
            PreconditionResult(304),
            id="a date in the form of 1985",
        ),
        pytest.param(
            {"If-None-Match": 'W/"a",, "b" ,"sha256:x"'}, PreconditionResult(304), id="a list with empty members"
        ),
        pytest.param({"If-None-Match": "sha256:x"}, WHOLE, id="a tag without quotes is none"),
        pytest.param({"If-None-Match": '"a", *'}, WHOLE, id="a star among tags is none"),
        pytest.param({"If-None-Match": '"sha256:x-gzip"'}, WHOLE, id="the tag of another encoding"),
        pytest.param(
            {"If-Match": '"sha256:x"', "If-None-Match": '"sha256:x"'}, PreconditionResult(304), id="both hold"
        ),
        pytest.param(
            {"If-Match": '"a"', "If-None-Match": '"sha256:x"'}, PreconditionResult(412), id="if-match comes first"
        ),
        pytest.param(
            {"If-Match": '"sha256:x"', "If-Unmodified-Since": BEFORE}, WHOLE, id="tags win over dates here too"
        ),
        pytest.param({"If-Match": '"sha256:x"'}, WHOLE, id="if it is still this"),
        pytest.param({"If-Match": "*"}, WHOLE, id="if there is any"),
        pytest.param({"If-Match": 'W/"sha256:x"'}, PreconditionResult(412), id="a weak tag does not match for sure"),
        pytest.param({"If-Match": '"a"'}, PreconditionResult(412), id="if it is still another"),
        pytest.param({"If-Unmodified-Since": BEFORE}, PreconditionResult(412), id="modified in between"),
        pytest.param({"If-Unmodified-Since": NOW}, WHOLE, id="not modified in between"),
        pytest.param({"If-Unmodified-Since": AFTER}, WHOLE, id="not modified until a later time"),
        pytest.param({"Range": "bytes=0-9"}, PreconditionResult(206, 0, 10), id="the first ten"),
        pytest.param({"Range": "bytes=90-"}, PreconditionResult(206, 90, 10), id="from there to the end"),
        pytest.param({"Range": "bytes=-10"}, PreconditionResult(206, 90, 10), id="the last ten"),
        pytest.param({"Range": "bytes=-1000"}, PreconditionResult(206, 0, 100), id="more than there is from the end"),
        pytest.param({"Range": "bytes=90-1000"}, PreconditionResult(206, 90, 10), id="beyond the end"),
        pytest.param({"Range": "bytes=100-"}, PreconditionResult(416), id="all of it beyond the end"),
        pytest.param({"Range": "bytes=-0"}, PreconditionResult(416), id="the last none"),
        pytest.param({"Range": f"bytes={'9' * 5000}-"}, PreconditionResult(416), id="a number of five thousand digits"),
        pytest.param({"Range": "bytes=9-0"}, WHOLE, id="a range that is backwards is none"),
        pytest.param({"Range": "bytes=-"}, WHOLE, id="no number at all"),
        pytest.param({"Range": "bytes="}, WHOLE, id="no range at all"),
        pytest.param({"Range": "bytes=a-b"}, WHOLE, id="letters"),
        pytest.param({"Range": "bytes=\u0661-\u0662"}, WHOLE, id="digits of another script"),
        pytest.param({"Range": "bytes=0 - 9"}, WHOLE, id="spaces within a range"),
        pytest.param({"Range": "BYTES=0-9"}, PreconditionResult(206, 0, 10), id="the unit in capitals"),
        pytest.param(
            {"Range": "bytes=, 0-9 ,"}, PreconditionResult(206, 0, 10), id="a list of one, with empty members"
        ),
        pytest.param(
            {"Range": f"bytes=90-{'9' * 5000}"}, PreconditionResult(206, 90, 10), id="an end of five thousand digits"
        ),
        pytest.param(
            {"Range": f"bytes=-{'9' * 5000}"}, PreconditionResult(206, 0, 100), id="the last of five thousand digits"
        ),
        pytest.param({"Range": "bytes=0-1,5-6"}, WHOLE, id="several ranges get the whole"),
        pytest.param({"Range": "lines=0-1"}, WHOLE, id="another unit"),
        pytest.param(
            {"Range": "bytes=0-9", "If-Range": '"sha256:x"'}, PreconditionResult(206, 0, 10), id="if it is still this"
        ),
        pytest.param({"Range": "bytes=0-9", "If-Range": 'W/"sha256:x"'}, WHOLE, id="a weak tag is not enough"),
        pytest.param({"Range": "bytes=0-9", "If-Range": '"a"'}, WHOLE, id="else the whole"),
        pytest.param({"Range": "bytes=0-9", "If-Range": NOW}, PreconditionResult(206, 0, 10), id="the very date"),
        pytest.param({"Range": "bytes=0-9", "If-Range": AFTER}, WHOLE, id="another date"),
        pytest.param(
            {"Range": "bytes=0-9", "If-None-Match": '"sha256:x"'}, PreconditionResult(304), id="unchanged comes first"
        ),
    ],
)
def test_get(headers: dict[str, str], expected: PreconditionResult) -> None:
    assert evaluate_preconditions("GET", headers, THERE) == expected


def test_head_has_no_ranges() -> None:
    assert evaluate_preconditions("HEAD", {"Range": "bytes=0-9"}, THERE) == WHOLE


def test_an_empty_representation_satisfies_no_range() -> None:
    assert evaluate_preconditions(
        "GET", {"Range": "bytes=0-"}, Representation(0, "x", THERE.modified)
    ) == PreconditionResult(416)


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 150))
def test_a_range_is_what_slicing_gives(first: int, last: int, size: int) -> None:
    """`bytes=first-last` counts both ends; a suffix counts from the end."""
    there = Representation(size, "x", THERE.modified)
    content = bytes(number % 251 for number in range(size))
    for wanted, expected in (
        (f"{first}-{last}", content[first : last + 1]),
        (f"-{last}", content[-last:] if last else b""),
    ):
        found = evaluate_preconditions("GET", {"Range": f"bytes={wanted}"}, there)
        if found.status == 206:
            assert expected
            assert content[found.start : found.start + found.length] == expected
        else:
            assert not expected


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_any_header_gets_a_range_within_the_representation(one: str, two: str, three: str) -> None:
    """Headers may contain any text."""
    headers = {"Range": f"bytes={one}", "If-None-Match": two, "If-Unmodified-Since": three, "If-Range": three}
    found = evaluate_preconditions("GET", headers, THERE)
    assert found.status in (200, 206, 304, 412, 416)
    assert 0 <= found.start <= found.start + found.length <= THERE.size
