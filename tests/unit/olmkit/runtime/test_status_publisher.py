"""without_empties: which statuses count as different."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.runtime.status_publisher import without_empties


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": [], "b": 1}, {"b": 1}, id="an empty list"),
        pytest.param({"a": {"b": {}}}, {}, id="a mapping with only empty values"),
        pytest.param(
            {"a": "", "b": 0, "c": False}, {"a": "", "b": 0, "c": False}, id="empty text, zero and False are kept"
        ),
        pytest.param({"a": [{"b": []}, 1]}, {"a": [{}, 1]}, id="items of a list are kept"),
    ],
)
def test_without_empties(value: object, expected: object) -> None:
    assert without_empties(value) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(JSON)
def test_without_empties_is_idempotent(value: object) -> None:
    assert without_empties(without_empties(value)) == without_empties(value)
