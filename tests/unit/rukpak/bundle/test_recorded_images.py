"""Which images BundleDeployments record for Bundles."""

from typing import Any

import pytest

from olmkit.api.bundles import Bundle
from rukpak.bundle.recorded_images import changed_records, recorded_digests, recorded_images
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
    assert recorded_images(Bundle.load(raw), {"deployment": seen}.get) == images


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
