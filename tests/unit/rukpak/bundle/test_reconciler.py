"""Which image a BundleDeployment records for a Bundle. The rest of the reconciler is tested on a real cluster."""

from typing import Any

import pytest

from olmkit.api.bundles import Bundle
from rukpak.bundle.reconciler import recorded_image
from tests.unit.rukpak.bundle.worlds import IMAGE, OTHER_SPEC, SPEC, deployment


@pytest.mark.parametrize(
    ("owner", "seen", "image"),
    [
        pytest.param({}, deployment(), IMAGE, id="the record of the BundleDeployment that controls it"),
        pytest.param({}, None, "", id="a BundleDeployment that is gone"),
        pytest.param({}, deployment(uid="e"), "", id="another BundleDeployment of that name"),
        pytest.param({}, deployment(bundle="b"), "", id="a record of another Bundle"),
        pytest.param({}, deployment(spec=OTHER_SPEC), "", id="a record of a Bundle with another spec"),
        pytest.param({}, deployment(image=None), "", id="a record without an image"),
        pytest.param({}, {**deployment(), "status": {}}, "", id="no record"),
        pytest.param({"controller": False}, deployment(), "", id="a BundleDeployment that only owns it"),
        pytest.param({"kind": "Operator"}, deployment(), "", id="an owner of another kind"),
    ],
)
def test_which_image_is_recorded_for_a_bundle(owner: dict[str, Any], seen: dict[str, Any] | None, image: str) -> None:
    reference = {
        **{"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "name": "deployment", "uid": "d"},
        **{"controller": True, **owner},
    }
    raw = {"metadata": {"name": "a", "uid": "u", "ownerReferences": [reference]}, "spec": SPEC}
    assert recorded_image(Bundle.load(raw), {"deployment": seen}.get) == image
