"""Objects that others change are reverted, ever less often."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from rukpak.bundledeployment.drift import backs_off_until, is_contested, next_applied
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import LastApplied
from tests.unit.rukpak.bundledeployment.worlds import ENTRY, MANAGER, NOW, SECRET, installed, member

MINUTE = timedelta(minutes=1)


def test_what_has_to_be_applied_again_soon_after_rests_ever_longer() -> None:
    note, now, rests = LastApplied("v1", "a", NOW), NOW, []
    for _ in range(12):
        now = max(now, backs_off_until(note)) + timedelta(seconds=1)
        note = next_applied(note, "v1", "a", now)
        rests.append((backs_off_until(note) - now) / MINUTE)
    assert rests == [0, 0, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]


def test_what_was_applied_again_a_few_times_only_does_not_rest() -> None:
    seen = installed()
    assert isinstance(seen.content, RenderedBundle)
    (item,) = [each for each in seen.content.objects() if each.key == SECRET]
    seen = replace(seen, labeled={**seen.labeled, SECRET: member(SECRET, applied_fields={MANAGER: "else"})})
    later = NOW + timedelta(seconds=1)
    notes = [LastApplied("v1", ENTRY, later, repeats) for repeats in range(5)]
    rests = [is_contested(replace(seen, last_applied={**seen.last_applied, SECRET: note}), item) for note in notes]
    assert rests == [False, False, False, True, True]


def test_rest_ends_with_another_manifest_or_after_a_calm_time() -> None:
    contested = LastApplied("v1", "a", NOW, quick_reverts=5)
    assert next_applied(contested, "v2", "a", NOW).quick_reverts == 0
    assert next_applied(contested, "v1", "a", NOW - timedelta(days=1)).quick_reverts == 0, "the clock was ahead"
    assert next_applied(contested, "v1", "a", backs_off_until(contested) + timedelta(minutes=2)).quick_reverts == 0
