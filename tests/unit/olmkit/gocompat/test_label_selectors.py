"""Label selectors as text."""

from __future__ import annotations

import pytest

from olmkit.gocompat.label_selectors import BadSelector, Selector

LABELS = {"suite": "olm", "test": "a"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("suite=olm", True),
        ("suite==olm,test=b", False),
        ("suite!=olm", False),
        ("other!=x", True),
        ("test in (a, b)", True),
        ("test notin (a,b),suite=olm", False),
        ("suite", True),
        ("!suite", False),
        ("!other, suite", True),
    ],
)
def test_selection(text: str, matches: bool) -> None:
    assert Selector.parse(text).matches(LABELS) == matches


@pytest.mark.parametrize("text", ["=a", "a b", "a in b", ",", "a" * 2000])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadSelector):
        Selector.parse(text)
