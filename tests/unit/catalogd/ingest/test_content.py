"""Where blobs lie: filters, ranges, and the form on disk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.ingest.content import BlobIndex

BLOBS = [
    ("olm.package", "", "a", 10),
    ("olm.channel", "a", "stable", 20),
    ("olm.bundle", "a", "a.v1", 30),
    ("olm.bundle", "b", "b.v1", 40),
    ("olm.package", "", "b", 50),
    ("my.own", "", "", 60),
    ("my.own", "", "a", 70),
    ("olm.package", "b", "a", 80),
]


def index_of(blobs: list[tuple[str, str, str, int]]) -> BlobIndex:
    index = BlobIndex()
    for blob in blobs:
        index.add(*blob)
    return index


@pytest.mark.parametrize(
    ("schema", "package", "name", "expected"),
    [
        pytest.param("", "", "", [0, 1, 2, 3, 4, 5, 6, 7], id="nothing asked is everything"),
        pytest.param("olm.bundle", "", "", [2, 3], id="by schema"),
        pytest.param("", "a", "", [0, 1, 2, 7], id="by package, its own blobs with it"),
        pytest.param("", "b", "", [3, 4, 7], id="a package blob that names another package belongs to both"),
        pytest.param("", "", "a", [0, 6, 7], id="by name"),
        pytest.param("olm.package", "a", "", [0, 7], id="schema and package"),
        pytest.param("olm.bundle", "a", "a.v1", [2], id="all three"),
        pytest.param("olm.bundle", "a", "b.v1", [], id="matches that do not meet"),
        pytest.param("olm", "", "", [], id="matches are exact"),
        pytest.param("", "c", "", [], id="an unknown package"),
    ],
)
def test_filters(schema: str, package: str, name: str, expected: list[int]) -> None:
    assert list(index_of(BLOBS).find(schema, package, name)) == expected


def test_adjacent_blobs_are_one_range() -> None:
    index = index_of(BLOBS)
    assert index.byte_ranges([0, 1, 2, 4, 5]) == [(0, 60), (100, 110)]
    assert index.byte_ranges([]) == []
    assert index.size == 360


TEXTS = st.sampled_from(["", "a", "b", "olm.package", "olm.bundle", "é"])


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.integers(1, 1000))), TEXTS, TEXTS, TEXTS)
def test_an_index_finds_what_a_search_finds_also_when_it_was_stored(
    blobs: list[tuple[str, str, str, int]], schema: str, package: str, name: str
) -> None:
    """AND of exact matches in the order of the file; package=x brings the olm.package blob named x (trap 14)."""
    expected = [
        number
        for number, (its_schema, its_package, its_name, _) in enumerate(blobs)
        if schema in ("", its_schema)
        and name in ("", its_name)
        and (package in ("", its_package) or (its_schema == "olm.package" and its_name == package))
    ]
    index = BlobIndex.load(index_of(blobs).dump())
    assert list(index.find(schema, package, name)) == expected
    starts = [sum(length for *_, length in blobs[:number]) for number in range(len(blobs))]
    assert [index.byte_range(number) for number in expected] == [
        (starts[number], blobs[number][3]) for number in expected
    ]
