"""Values that the decision stands on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rukpak.install.world import Note, names
from tests.unit.rukpak.install.worlds import NOW

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["b", "a"], "a, b", id="sorted"),
        pytest.param(list("gfedcba"), "a, b, c, d, e, and 2 more", id="the first five"),
    ],
)
def test_names_of_many(items: list[str], text: str) -> None:
    assert names(items) == text


def test_what_has_to_be_applied_again_soon_after_rests_ever_longer() -> None:
    note, now, rests = Note("v1", "a", NOW), NOW, []
    for _ in range(12):
        now = max(now, note.rests_until()) + timedelta(seconds=1)
        note = note.again("v1", "a", now)
        rests.append((note.rests_until() - now) / MINUTE)
    assert rests == [0, 0, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]


def test_rest_ends_with_another_manifest_or_after_a_calm_time() -> None:
    contested = Note("v1", "a", NOW, repeats=5)
    assert contested.again("v2", "a", NOW).repeats == 0
    assert contested.again("v1", "a", contested.rests_until() + timedelta(minutes=2)).repeats == 0
