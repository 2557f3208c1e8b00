"""What one process knows of what it applied is known to the next one, if it is still true."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmkit.api.bundledeployments import BundleDeployment
from olmkit.errors import Waiting
from rukpak.bundledeployment.apply.notes import is_outdated, reported, restored
from rukpak.bundledeployment.plan import Apply, ApplyBundle, Done, ForgetNotes, Keep
from rukpak.bundledeployment.rendered_bundle import MissingContent, RenderedBundle, RenderedNamespace
from rukpak.bundledeployment.world import LastApplied, World
from tests.unit.rukpak.bundledeployment.worlds import (
    ENTRY,
    MANAGER,
    NOW,
    NS,
    SECRET,
    WORKLOAD,
    ago,
    applied,
    installed,
    member,
    plan_of,
    rendered,
    report_of,
    unpacked,
    upgrading,
)

KEPT = Done(Keep())


def noting(seen: World, digest: str | None) -> World:
    """The World with this digest in the status."""
    obj = {**seen.raw, "status": {**seen.raw["status"], "appliedDigest": digest}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def noted(seen: World) -> World:
    """The World with the digest that its process writes."""
    digest = reported(seen, KEPT)
    assert digest
    return noting(seen, digest)


def restarted(seen: World) -> World:
    """The same cluster as a new process observes it."""
    fresh = replace(seen, last_applied={})
    return replace(fresh, last_applied=dict(restored(fresh)))


def test_a_process_that_starts_knows_what_was_applied_and_does_nothing() -> None:
    seen = restarted(noted(installed()))
    content = seen.content
    assert isinstance(content, RenderedBundle)
    assert seen.last_applied.keys() == {item.key for item in content.objects()}
    assert plan_of(seen) == Keep()
    assert report_of(seen, KEPT).status == report_of(noted(installed()), KEPT).status


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(noting(installed(), None), id="there is no digest"),
        pytest.param(
            replace(noted(installed()), content=replace(rendered(digest="v2"), bundle=installed().target_bundle)),
            id="another version of rukpak renders the objects differently",
        ),
        pytest.param(
            replace(
                noted(installed()),
                labeled={**installed().labeled, SECRET: member(SECRET, applied_fields={MANAGER: "other"})},
            ),
            id="somebody changed an object",
        ),
        pytest.param(
            replace(
                noted(installed()),
                labeled={key: entry for key, entry in installed().labeled.items() if key != SECRET},
            ),
            id="somebody deleted an object",
        ),
        pytest.param(
            replace(
                noted(installed()),
                labeled={**installed().labeled, SECRET: member(SECRET, applied_fields={"kubectl": ENTRY})},
            ),
            id="somebody deleted an object, and made another one",
        ),
        pytest.param(
            replace(
                noted(installed()),
                namespaces={NS.name: replace(installed().namespaces[NS.name], applied_fields={MANAGER: "other"})},
            ),
            id="somebody changed a Namespace",
        ),
        pytest.param(replace(noted(installed()), content=MissingContent()), id="the objects are not known"),
    ],
)
def test_everything_is_applied_again_if_one_object_is_not_as_it_was_applied(changed: World) -> None:
    assert restarted(changed).last_applied == {}


def test_what_was_installed_is_known_while_another_bundle_cannot_be_installed() -> None:
    before, asked = noted(installed()), upgrading()
    assert reported(before, KEPT) is not None
    blocked = replace(noting(asked, reported(before, KEPT)), content=MissingContent())
    assert restarted(blocked).last_applied.keys() == installed().last_applied.keys()


def test_the_digest_is_of_all_objects() -> None:
    incomplete = replace(
        installed(), last_applied={key: note for key, note in installed().last_applied.items() if key != SECRET}
    )
    assert reported(incomplete, KEPT) is None
    assert reported(noting(incomplete, "before"), KEPT) == "before"
    for note in (LastApplied("v0", ENTRY, NOW), LastApplied("v1", "other", NOW)):
        assert reported(
            replace(installed(), last_applied={**installed().last_applied, SECRET: note}), KEPT
        ) != reported(installed(), KEPT)


def test_the_digest_does_not_change_with_the_time_or_the_observed_state() -> None:
    digest = reported(installed(), KEPT)
    again = {key: replace(note, at=NOW, quick_reverts=4) for key, note in installed().last_applied.items()}
    contested = {**installed().labeled, SECRET: member(SECRET, applied_fields={MANAGER: "other"})}
    assert reported(replace(installed(), last_applied=again, labeled=contested), KEPT) == digest


def test_a_contested_object_is_reverted_by_the_next_process() -> None:
    """It left the object unchanged for a while: what others wrote is not what was applied."""
    contested = replace(
        installed(),
        labeled={**installed().labeled, SECRET: member(SECRET, applied_fields={MANAGER: "other"})},
        last_applied={**installed().last_applied, SECRET: LastApplied("v1", ENTRY, NOW, quick_reverts=5)},
    )
    assert isinstance(plan_of(contested), Keep)
    assert isinstance(plan_of(restarted(noted(contested))), ForgetNotes)


def test_an_object_whose_replicas_another_sets_is_known_as_it_was_applied_without_them() -> None:
    """The fields of the apply without replicas are those that are noted, and those that are there."""
    scaled = member(WORKLOAD, applied_fields={MANAGER: "no replicas"}, is_scaled_by_others=True)
    seen = replace(
        installed(),
        labeled={**installed().labeled, WORKLOAD: scaled},
        last_applied={**installed().last_applied, WORKLOAD: LastApplied("v1", "no replicas", ago(hours=1))},
    )
    assert plan_of(restarted(noted(seen))) == Keep()


def test_the_digest_is_removed_before_the_first_object_of_another_bundle() -> None:
    """An object with other values may have the same fields: after a kill between two writes the digest would not be true."""
    seen = noting(upgrading(), reported(installed(), KEPT))
    assert plan_of(seen) == ForgetNotes()
    assert report_of(seen, Done(ForgetNotes())).status.applied_digest is None
    assert isinstance(plan_of(noting(seen, None)), Apply)


def test_the_digest_stays_while_drift_is_reverted() -> None:
    """The same manifest gives the same values: with the same fields the object is as it was applied."""
    drifted = noted(installed())
    drifted = replace(drifted, labeled={**drifted.labeled, SECRET: member(SECRET, applied_fields={MANAGER: "other"})})
    assert isinstance(plan_of(drifted), Apply)
    assert not is_outdated(drifted, rendered(bundle=drifted.target_bundle))


@pytest.mark.parametrize("known", [None, "before"])
def test_a_pass_that_may_have_applied_objects_changes_no_digest(known: str | None) -> None:
    """The notes of its World are those of before."""
    seen = noting(upgrading(), known)
    content = seen.active_content
    assert isinstance(content, RenderedBundle)
    for outcome in (Done(Apply(content, (), dry_run_first=False)), Waiting("Retrying", "x", NOW - ago(seconds=1))):
        assert reported(seen, outcome) == known
    assert reported(seen, Done(ApplyBundle({}, is_new=False))) == reported(installed(), KEPT)


def test_a_namespace_that_a_bundle_only_writes_to_counts_as_soon_as_it_exists() -> None:
    external = (RenderedNamespace(NS.name, is_in_bundle=False),)
    seen = applied(unpacked(installed(), rendered(NS, SECRET)))
    content = seen.content
    assert isinstance(content, RenderedBundle)
    seen = replace(seen, content=replace(content, namespaces=external))
    absent = replace(
        seen,
        namespaces={},
        last_applied={key: note for key, note in seen.last_applied.items() if key != NS},
    )
    assert reported(absent, KEPT) not in (None, reported(seen, KEPT))
    assert restarted(noted(absent)).last_applied.keys() == {SECRET}
