"""The first keys of an object are found in upper and lower case."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.gocompat.fields import canonical_keys, canonical_object


@pytest.mark.parametrize(
    ("value", "named"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"kind": "A", "x": 1}, {"kind": "A", "x": 1}, id="as it should be"),
        pytest.param({"KIND": "A", "X": 1}, {"kind": "A", "X": 1}, id="another case; other keys stay"),
        pytest.param({"kind": "A", "Kind": "B"}, {"kind": "A"}, id="the exact name counts"),
        pytest.param({"Kind": "A", "KIND": "B"}, {"kind": "B"}, id="of two others the last counts"),
        pytest.param({"\u212aind": "A"}, {"kind": "A"}, id="what Unicode folds to the name"),
    ],
)
def test_spelled(value: dict[str, Any], named: dict[str, Any]) -> None:
    before = dict(value)
    assert canonical_keys(value, ("kind", "name")) == named
    assert value == before


def test_the_fields_of_metadata_are_named_and_what_they_hold_is_not() -> None:
    given = {"ApiVersion": "v1", "metadata": {"Name": "a", "Labels": {"Name": "b"}, "else": 1}, "Spec": {"Name": "c"}}
    assert canonical_object(given) == {
        "apiVersion": "v1",
        "metadata": {"name": "a", "labels": {"Name": "b"}, "else": 1},
        "Spec": {"Name": "c"},
    }


@pytest.mark.parametrize("metadata", [None, "a", ["Name"]])
def test_other_values_in_place_of_metadata_are_kept(metadata: Any) -> None:
    assert canonical_object({"Metadata": metadata}) == {"metadata": metadata}
