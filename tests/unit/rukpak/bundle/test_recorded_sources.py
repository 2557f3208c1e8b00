"""Which sources BundleDeployments record for Bundles."""

from typing import Any

import pytest

from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, RESOLVED_SOURCE_ANNOTATION, Bundle
from olmkit.sources.resolved_source import content_digest, resolved_image
from rukpak.bundle.recorded_sources import (
    changed_records,
    pinned_source,
    recorded_digests,
    recorded_pins,
    resolved_digest,
)
from tests.unit.rukpak.bundle.worlds import IMAGE, OTHER_SPEC, SPEC, deployment, revision, with_history

OTHER_IMAGE = IMAGE[:-1] + "2"


@pytest.mark.parametrize(
    ("owner", "seen", "images"),
    [
        pytest.param({}, deployment(), {IMAGE}, id="the record of the BundleDeployment that controls it"),
        pytest.param({}, None, set(), id="a BundleDeployment that is gone"),
        pytest.param({}, deployment(uid="e"), set(), id="another BundleDeployment of that name"),
        pytest.param({}, deployment(bundle="b"), set(), id="a record of another Bundle"),
        pytest.param({}, deployment(spec=OTHER_SPEC), set(), id="a record of a Bundle with another spec"),
        pytest.param({}, deployment(image=None), set(), id="a record without an image"),
        pytest.param({}, {**deployment(), "status": {}}, set(), id="no record"),
        pytest.param({"controller": False}, deployment(), set(), id="a BundleDeployment that only owns it"),
        pytest.param({"kind": "Operator"}, deployment(), set(), id="an owner of another kind"),
        pytest.param({}, with_history(revision()), {IMAGE}, id="a revision, while nothing is installed"),
        pytest.param(
            {}, with_history(revision(), bundle="b"), {IMAGE}, id="a revision, while another Bundle is installed"
        ),
        pytest.param(
            {}, with_history(revision(bundle="b"), revision(spec=OTHER_SPEC)), set(), id="revisions of others"
        ),
        pytest.param(
            {},
            with_history(revision(image=OTHER_IMAGE), bundle="a"),
            {IMAGE, OTHER_IMAGE},
            id="a record and a revision",
        ),
    ],
)
def test_which_images_are_recorded_for_a_bundle(
    owner: dict[str, Any], seen: dict[str, Any] | None, images: set[str]
) -> None:
    reference = {
        **{"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "name": "deployment", "uid": "d"},
        **{"controller": True, **owner},
    }
    raw = {"metadata": {"name": "a", "uid": "u", "ownerReferences": [reference]}, "spec": SPEC}
    found = recorded_pins(Bundle.load(raw), {"deployment": seen}.get)
    assert found == {(IMAGE_BY_DIGEST_ANNOTATION, image) for image in images}


def test_all_images_that_a_bundle_deployment_records_are_named_by_their_digests() -> None:
    seen = with_history(revision(image=OTHER_IMAGE), revision(bundle="b", image=None), bundle="c")
    assert recorded_digests(seen) == {"sha256:" + "1" * 64, "sha256:" + "1" * 63 + "2"}
    assert recorded_digests({"metadata": {}}) == set()


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        pytest.param(None, deployment(), [("a", True)], id="a first record"),
        pytest.param(
            with_history(revision()), with_history(revision(), bundle="a"), [], id="a revision that is installed"
        ),
        pytest.param(with_history(revision()), with_history(revision(outcome="Failed")), [], id="another outcome"),
        pytest.param(
            with_history(revision()), with_history(revision(image=OTHER_IMAGE)), [("a", True)], id="another image"
        ),
        pytest.param(
            with_history(revision(), revision(bundle="b")),
            with_history(revision()),
            [("b", False)],
            id="a revision that goes",
        ),
        pytest.param(with_history(revision()), None, [("a", False)], id="its BundleDeployment goes"),
    ],
)
def test_which_records_change(old: Any, new: Any, changed: list[tuple[str, bool]]) -> None:
    assert list(changed_records(old, new)) == changed


COMMIT: dict[str, Any] = {
    "type": "git",
    "git": {"repository": "https://git.example/r", "commit": "c" * 40, "directory": "a"},
}


def test_a_commit_is_recorded_and_pinned_by_the_annotation_of_its_resolved_source() -> None:
    seen = with_history(revision(image=None, resolvedSource=COMMIT))
    reference = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "name": "deployment", "uid": "d"}
    metadata = {"name": "a", "uid": "u", "ownerReferences": [{**reference, "controller": True}]}
    ((name, value),) = recorded_pins(Bundle.load({"metadata": metadata, "spec": SPEC}), {"deployment": seen}.get)
    assert name == RESOLVED_SOURCE_ANNOTATION
    assert pinned_source(name, value) == COMMIT
    assert pinned_source(IMAGE_BY_DIGEST_ANNOTATION, IMAGE) == resolved_image(IMAGE)
    assert recorded_digests(seen) == {content_digest(COMMIT)}
    other = with_history(revision(image=None, resolvedSource={**COMMIT, "git": {**COMMIT["git"], "commit": "d" * 40}}))
    assert list(changed_records(seen, other)) == [("a", True)]


@pytest.mark.parametrize(
    ("raw", "digest"),
    [
        pytest.param({}, "", id="no status"),
        pytest.param({"status": {}}, "", id="no resolved source"),
        pytest.param({"status": {"resolvedSource": {"type": "image"}}}, "", id="no image"),
        pytest.param({"status": {"resolvedSource": resolved_image("r/a:v1")}}, "", id="a tag"),
        pytest.param({"status": {"resolvedSource": resolved_image("r/a@sha256:1")}}, "sha256:1", id="a digest"),
        pytest.param({"status": {"resolvedSource": COMMIT}}, content_digest(COMMIT), id="a commit"),
    ],
)
def test_the_digest_of_a_bundle_is_that_of_its_resolved_source(raw: dict[str, Any], digest: str) -> None:
    assert resolved_digest(raw) == digest
