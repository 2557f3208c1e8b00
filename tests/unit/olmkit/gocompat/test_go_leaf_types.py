"""The errors of Go's types with decoders of their own."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.gocompat.go_leaf_types import LEAVES, quantity_error, tolerant_version_error

FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    "text", ["0", "100m", "1.5", ".5", "5.", "+1Gi", "-2", "1e3", "1E-2", "12e+6", "7u", "3Pi", "Gi", "-"]
)
def test_quantities(text: str) -> None:
    assert quantity_error(text) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", FORM, id="nothing"),
        pytest.param("one", FORM, id="letters that are no suffixes"),
        pytest.param("1x", FORM, id="an unknown letter"),
        pytest.param("1 Gi", FORM, id="a blank"),
        pytest.param("1Gi5", SUFFIX, id="digits behind a suffix"),
        pytest.param("1mi", SUFFIX, id="letters of no suffix"),
        pytest.param("1e", SUFFIX, id="an exponent without digits"),
        pytest.param("1K", SUFFIX, id="an upper-case K"),
    ],
)
def test_texts_that_are_no_quantities(text: str, message: str) -> None:
    assert quantity_error(text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.2.3", ""),
        ("v1.2", ""),
        (" 01.002.3 ", ""),
        ("abc", 'Invalid character(s) found in major number "0abc"'),
        ("a", 'Invalid character(s) found in major number "a"'),
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.2-rc", "Short version cannot contain PreRelease/Build meta data"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("99999999999999999999.0.0", 'strconv.ParseUint: parsing "99999999999999999999": value out of range'),
    ],
)
def test_versions_as_blang_reads_them(text: str, message: str) -> None:
    assert tolerant_version_error(text) == message


@pytest.mark.parametrize(
    ("leaf", "value", "message"),
    [
        pytest.param("quantity", 1.5, "", id="a number as a quantity"),
        pytest.param("quantity", None, "", id="no quantity"),
        pytest.param("quantity", {"a": 1}, FORM, id="a mapping as a quantity"),
        pytest.param("intorstring", "https", "", id="a port by name"),
        pytest.param("intorstring", 8080, "", id="a port by number"),
        pytest.param("intorstring", True, "json: cannot unmarshal bool into Go value of type int32", id="a boolean"),
        pytest.param(
            "intorstring", 2**31, "json: cannot unmarshal number 2147483648 into Go value of type int32", id="long"
        ),
        pytest.param("time", "2024-01-02T03:04:05Z", "", id="a time"),
        pytest.param("time", "2024-01-02T03:04:05.678+01:00", "", id="a time with parts of a second"),
        pytest.param("time", 5, "json: cannot unmarshal number into Go value of type string", id="a number as a time"),
        pytest.param(
            *("time", "2024-01-02", 'parsing time "2024-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
            id="a day",
        ),
        pytest.param("version", 1.2, "json: cannot unmarshal number into Go value of type string", id="a number"),
        pytest.param("version", None, 'strconv.ParseUint: parsing "": invalid syntax', id="null as a version"),
    ],
)
def test_values(leaf: str, value: Any, message: str) -> None:
    problem = LEAVES[leaf].problem(value)
    assert ("" if problem is None else getattr(problem, "text", "") or str(problem)) == message
