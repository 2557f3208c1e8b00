"""Names that Kubernetes accepts, and digests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.api.names import (
    dns1123_subdomain_errors,
    is_digest,
    is_dns1123_label,
    is_dns1123_subdomain,
    pluralize,
    safe_name,
)


@pytest.mark.parametrize(
    ("name", "label", "subdomain"),
    [
        pytest.param("a", True, True, id="a letter"),
        pytest.param("0", True, True, id="a digit"),
        pytest.param("a-b", True, True, id="a hyphen inside"),
        pytest.param("a.b", False, True, id="a dot makes a subdomain"),
        pytest.param("", False, False, id="empty"),
        pytest.param("-a", False, False, id="a hyphen first"),
        pytest.param("a-", False, False, id="a hyphen last"),
        pytest.param("a..b", False, False, id="an empty label"),
        pytest.param("a.-b", False, False, id="a label that starts with a hyphen"),
        pytest.param("A", False, False, id="a capital"),
        pytest.param("a_b", False, False, id="an underscore"),
        pytest.param("a\n", False, False, id="a line end"),
        pytest.param("é", False, False, id="a letter that is not ASCII"),
        pytest.param("a" * 63, True, True, id="63 characters"),
        pytest.param("a" * 64, False, True, id="64 characters are too long for a label"),
        pytest.param("a" * 254, False, False, id="254 characters are too long for a subdomain"),
    ],
)
def test_checks(name: str, label: bool, subdomain: bool) -> None:
    assert is_dns1123_label(name) is label
    assert is_dns1123_subdomain(name) is subdomain


@given(name=st.text(max_size=300), identity=st.text(max_size=20), limit=st.integers(20, 253))
def test_a_safe_name_is_valid_and_short_enough(name: str, identity: str, limit: int) -> None:
    result = safe_name(name, identity, limit)
    assert is_dns1123_subdomain(result)
    assert len(result) <= limit


def test_a_safe_name_is_unique_for_its_identity() -> None:
    assert safe_name("My_Package", "catalog/My_Package") == safe_name("My_Package", "catalog/My_Package")
    assert safe_name("My_Package", "catalog/My_Package") != safe_name("My_Package", "catalog/my-package")
    assert safe_name("My_Package", "x").startswith("my-package-")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("sha256:" + "0123456789abcdef" * 4, True, id="sha256"),
        pytest.param("sha384:" + "0" * 96, True, id="sha384"),
        pytest.param("sha512:" + "0" * 128, True, id="sha512"),
        pytest.param("sha256:" + "0" * 63, False, id="a digit is missing"),
        pytest.param("sha256:" + "A" * 64, False, id="upper case"),
        pytest.param("md5:" + "0" * 32, False, id="another algorithm"),
        pytest.param("sha256:" + "0" * 64 + "\n", False, id="a line end after it"),
    ],
)
def test_digests(text: str, expected: bool) -> None:
    assert is_digest(text) == expected


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 old replicas"), (1, "1 old replica"), (2, "2 old replicas")],
    ids=["none", "one", "two"],
)
def test_a_count_with_its_noun(number: int, words: str) -> None:
    assert pluralize(number, "old replica") == words


def test_a_count_with_an_irregular_plural() -> None:
    assert [pluralize(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        pytest.param("community", 0, id="a word"),
        pytest.param("c-1.example", 0, id="parts"),
        pytest.param("7", 0, id="a digit"),
        pytest.param("a" * 253, 0, id="as long as can be"),
        pytest.param("a" * 254, 1, id="longer"),
        pytest.param("Community", 1, id="capitals"),
        pytest.param("..", 1, id="the directory above"),
        pytest.param("../c", 2, id="a path that climbs"),
        pytest.param("c\x00", 1, id="a NUL"),
        pytest.param("c\n", 1, id="a line feed at the end"),
        pytest.param("-c", 1, id="a hyphen first"),
        pytest.param("c-.d", 1, id="a hyphen before a dot"),
        pytest.param("é", 1, id="a letter of another alphabet"),
        pytest.param("", 1, id="nothing"),
    ],
)
def test_the_reasons_why_a_name_is_not_a_subdomain(name: str, faults: int) -> None:
    assert len(dns1123_subdomain_errors(name)) == faults


@given(st.text(max_size=60))
def test_any_name_has_reasons_unless_it_is_a_subdomain(name: str) -> None:
    assert bool(dns1123_subdomain_errors(name)) is not is_dns1123_subdomain(name)
