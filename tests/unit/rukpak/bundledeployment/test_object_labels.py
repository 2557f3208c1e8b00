"""The labels that spec adds to the objects of a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from olmkit.api.bundledeployments import OWNER_UID_LABEL, BundleDeployment
from rukpak.bundledeployment.apply.notes import restored
from rukpak.bundledeployment.object_labels import labels_digest, labels_of, with_labels
from rukpak.bundledeployment.plan import Apply, Done, ForgetNotes, Keep
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.revisions.history import begins
from rukpak.bundledeployment.world import NAMESPACE, LastApplied, World
from tests.unit.rukpak.bundledeployment.worlds import ENTRY, UID, ago, installed, plan_of, rendered, report_of

TEAM, OTHER = {"example.com/team": "red"}, {"example.com/team": "blue"}


def labeled(labels: Mapping[str, str], seen: World | None = None, generation: int = 1) -> World:
    """The same with these labels in spec, as it is observed."""
    seen = seen or installed()
    metadata = {**seen.raw["metadata"], "generation": generation}
    obj = {**seen.raw, "metadata": metadata, "spec": {**seen.raw["spec"], "objectLabels": dict(labels)}}
    content = with_labels(replace(rendered(), bundle=seen.target_bundle), labels)
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), content=content)


def applied_so(seen: World) -> World:
    """All of its objects are as they were applied with the labels of its content."""
    assert isinstance(seen.content, RenderedBundle)
    return replace(
        seen,
        last_applied={item.key: LastApplied(item.digest, ENTRY, ago(hours=1)) for item in seen.content.objects()},
    )


def test_every_object_but_namespaces_has_another_digest() -> None:
    before, after = rendered(), with_labels(rendered(), TEAM)
    digests = {item.key: item.digest for item in before.objects()}
    changed = {item.key for item in after.objects() if item.digest != digests[item.key]}
    assert changed == {key for key in digests if key[:2] != NAMESPACE}
    assert [item.digest for item in with_labels(rendered(), {}).objects()] == list(digests.values())


def test_the_order_of_labels_is_no_other_digest() -> None:
    assert labels_digest({"a": "1", "b": "2"}) == labels_digest({"b": "2", "a": "1"})
    assert labels_digest({"a": "1"}) != labels_digest({"a": "2"})
    assert labels_digest({}) == ""


def test_a_label_of_the_bundle_with_the_same_key_loses_and_that_of_the_owner_wins() -> None:
    seen = labeled({**TEAM, OWNER_UID_LABEL: "uid-other"})
    given = {"labels": {"example.com/team": "green", "app": "ship"}}
    assert labels_of(seen, given) == {"example.com/team": "red", "app": "ship", OWNER_UID_LABEL: UID}
    assert labels_of(installed(), {"labels": None}) == {OWNER_UID_LABEL: UID}


def reported(seen: World, outcome: Done) -> World:
    """The same after the status of a pass that ended so."""
    obj = {**seen.raw, "status": report_of(seen, outcome).status.dump()}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def test_a_change_applies_every_object_once_and_begins_no_revision() -> None:
    before = applied_so(labeled(TEAM))
    assert plan_of(before) == Keep()
    seen = labeled(OTHER, reported(before, Done(Keep())), generation=2)
    assert not begins(seen)
    assert plan_of(seen) == ForgetNotes(), "the digest of the status stands for the labels of before"
    seen = reported(seen, Done(ForgetNotes()))
    status = seen.deployment.status
    assert (status.applied_digest, status.revision, len(status.history or ())) == (None, 1, 1)
    plan = plan_of(seen)
    assert isinstance(plan, Apply)
    kinds = {item.key[:2] for step in plan.steps for item in step.items}
    assert kinds
    assert NAMESPACE not in kinds
    assert plan_of(applied_so(seen)) == Keep()


def test_a_new_process_applies_nothing_again() -> None:
    seen = applied_so(labeled(TEAM))
    noted = reported(seen, Done(Keep()))
    assert restored(replace(noted, last_applied={})).keys() == seen.last_applied.keys()
    assert restored(replace(labeled(OTHER, noted), last_applied={})) == {}
