"""The Bundles of a BundleDeployment as they are made. The wanted one's body is tested with the decision to make it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION, RECORDED_ANNOTATIONS
from olmkit.api.bundledeployment_status import BundleRecord
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, RESOLVED_SOURCE_ANNOTATION, BundleSpec
from olmkit.api.operator_status import InstalledBundle, OperatorStatus, ProvidedApi
from rukpak.bundledeployment.bundle_info import record_of
from rukpak.bundledeployment.revisions.bundle_bodies import (
    derive_record,
    desired_bundle_body,
    differs,
    recorded_bundle_body,
)
from rukpak.bundledeployment.revisions.target import bundle_name
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import NAME, UID, bundle, installed, raw, revision, world

TAG, DIGEST = "registry.example.com/ship:v1", "registry.example.com/ship@sha256:" + "1" * 64


def spec(ref: str, provisioner: str = "core-rukpak-io-registry") -> dict[str, Any]:
    return {"provisionerClassName": provisioner, "source": {"type": "image", "image": {"ref": ref}}}


def active(ref: str = TAG, provisioner: str = "core-rukpak-io-registry") -> str:
    return bundle_name(NAME, spec(ref, provisioner))


def record(ref: str = TAG, **other: Any) -> BundleRecord:
    return BundleRecord(bundle=active(ref), image=DIGEST, spec=BundleSpec.load(spec(ref)), **other)


def test_the_name_of_a_bundle_hashes_the_spec_and_not_the_order_of_its_fields() -> None:
    one = {"provisionerClassName": "p", "source": {"type": "image", "image": {"ref": "a"}}}
    two = {"source": {"image": {"ref": "a"}, "type": "image"}, "provisionerClassName": "p"}
    assert bundle_name("x", one) == bundle_name("x", two)
    assert bundle_name("x", one) != bundle_name("x", {**one, "provisionerClassName": "q"})
    assert len(bundle_name("x" * 45, one)) == 52


def test_a_bundle_and_its_record_are_equal() -> None:
    notes = {name: f"{field} of it" for field, name in RECORDED_ANNOTATIONS.items()}
    known = record_of(replace(bundle(active()), annotations={**notes, "other": "x"}, image=DIGEST, spec=spec(TAG)))
    assert known.annotations() == notes
    body = recorded_bundle_body(world(), known)
    assert body["spec"] == spec(TAG)
    metadata = body["metadata"]
    assert metadata["name"] == active()
    assert metadata["labels"] == bundle(active()).labels
    assert metadata["annotations"] == {**notes, IMAGE_BY_DIGEST_ANNOTATION: DIGEST}
    assert [(owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [(UID, True)]


def test_a_bundle_that_is_created_again_has_the_annotation_of_its_image_also_when_it_is_named_by_its_digest() -> None:
    body = recorded_bundle_body(world(), record(DIGEST))
    assert body["metadata"]["annotations"] == {IMAGE_BY_DIGEST_ANNOTATION: DIGEST}


def upgraded(**bundles: Any) -> World:
    """Installed from a tag, and recorded."""
    seen = installed()
    obj = {**seen.raw, "status": {**seen.raw["status"], "installed": record().dump()}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj), bundles=bundles)


def test_a_desired_bundle_body_that_is_made_again_keeps_its_digest() -> None:
    body = desired_bundle_body(upgraded())
    assert body["metadata"]["annotations"] == {IMAGE_BY_DIGEST_ANNOTATION: DIGEST}
    again = replace(bundle(active()), annotations=body["metadata"]["annotations"])
    assert not differs(again, desired_bundle_body(upgraded(**{active(): again}))["metadata"])


def test_a_bundle_that_was_never_away_is_not_written_for_its_digest() -> None:
    known = replace(bundle(active()), image=DIGEST, spec=spec(TAG))
    assert "annotations" not in desired_bundle_body(upgraded(**{active(): known}))["metadata"]


def begun(is_upgrade: bool = False, **bundles: Any) -> World:
    """The revision of a tag has begun, and nothing or another bundle is active."""
    status = {
        "history": [revision(2, TAG, "InProgress", image=DIGEST)],
        **({"activeBundle": "o"} if is_upgrade else {}),
    }
    return world(raw(TAG, status=status), bundles=bundles)


@pytest.mark.parametrize("is_upgrade", [False, True])
def test_a_bundle_that_is_made_again_before_it_is_installed_keeps_the_digest_of_its_revision(is_upgrade: bool) -> None:
    body = desired_bundle_body(begun(is_upgrade))
    assert body["metadata"]["annotations"] == {IMAGE_BY_DIGEST_ANNOTATION: DIGEST}
    again = replace(bundle(active()), annotations=body["metadata"]["annotations"])
    assert not differs(again, desired_bundle_body(begun(is_upgrade, **{active(): again}))["metadata"])
    first = bundle(active())
    assert "annotations" not in desired_bundle_body(begun(is_upgrade, **{active(): first}))["metadata"]


def test_a_bundle_whose_revision_has_not_begun_resolves_its_tag() -> None:
    status = {"history": [revision(1, "registry.example.com/ship:v0", image=DIGEST)]}
    assert "annotations" not in desired_bundle_body(world(raw(TAG, status=status)))["metadata"]


def test_a_bundle_of_a_repository_is_made_again_with_its_commit() -> None:
    git = {"repository": "https://git.example.com/r", "ref": {"branch": "main"}}
    template = {"provisionerClassName": "core-rukpak-io-plain", "source": {"type": "git", "git": git}}
    resolved = {"type": "git", "git": {"repository": git["repository"], "commit": "c" * 40}}
    known = record_of(replace(bundle("ship-1"), resolved_source=resolved, spec=template))
    assert known.dump() == {"bundle": "ship-1", "resolvedSource": resolved, "spec": template}
    (text,) = recorded_bundle_body(world(), known)["metadata"]["annotations"].values()
    assert recorded_bundle_body(world(), known)["metadata"]["annotations"] == {RESOLVED_SOURCE_ANNOTATION: text}
    assert json.loads(text) == resolved


def operator(ref: str | None = DIGEST, **changes: Any) -> OperatorStatus:
    api = ProvidedApi(group="example.com", version="v1", kind="Boat")
    known = InstalledBundle(name="ship.v1", version="1.0.0", catalog="c", channel="stable", apis=[api])
    return OperatorStatus(**{"installed_bundle_resource": ref, "installed": known, **changes})


@pytest.mark.parametrize("provisioner", ["core-rukpak-io-registry", "core-rukpak-io-plain"])
def test_a_record_is_derived_from_what_the_operator_reports_as_installed(provisioner: str) -> None:
    obj = raw(status={"activeBundle": active(DIGEST, provisioner)}, template={"annotations": {PACKAGE_ANNOTATION: "p"}})
    assert derive_record(world(obj), operator()) == BundleRecord(
        bundle=active(DIGEST, provisioner),
        name="ship.v1",
        version="1.0.0",
        package="p",
        catalog="c",
        channel="stable",
        properties='[{"type":"olm.gvk","value":{"group":"example.com","version":"v1","kind":"Boat"}}]',
        image=DIGEST,
        spec=BundleSpec.load(spec(DIGEST, provisioner)),
    )


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param(active(DIGEST), operator(None), id="the Operator reports no image"),
        pytest.param(active(DIGEST), operator(installed=None), id="the Operator reports no bundle"),
        pytest.param(active(TAG), operator(), id="another image has another name"),
        pytest.param("made-by-hand", operator(), id="a name that no image leads to"),
    ],
)
def test_no_record_is_derived(name: str, status: OperatorStatus) -> None:
    assert derive_record(world(raw(status={"activeBundle": name})), status) is None
