"""What wakes the Bundle controller. The rest of it is tested on a real cluster."""

from typing import Any

import pytest

from olmkit.api.bundles import Bundle
from olmkit.runtime.informer_store import Change
from rukpak.bundle.reconciler import keys, recorded_image, recorded_keys


def bundle(generation: int = 1, uid: str = "u", conditions: int = 1, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": uid, "generation": generation},
        "status": {"conditions": [{}] * conditions, **status},
    }


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(Change(None, bundle()), True, id="it came"),
        pytest.param(Change(bundle(), None), True, id="it went"),
        pytest.param(Change(bundle(), bundle(2)), True, id="it was asked for differently"),
        pytest.param(Change(bundle(), bundle(uid="v")), True, id="another one of its name"),
        pytest.param(Change(bundle(), bundle(phase="Unpacked")), False, id="its own status is no news"),
        pytest.param(Change(bundle(), bundle(conditions=0)), True, id="somebody cleared its status"),
    ],
)
def test_what_gives_a_bundle_a_turn(change: Change, woken: bool) -> None:
    assert list(keys(change)) == (["a"] if woken else [])


IMAGE = "registry.example.com/a@sha256:" + "1" * 64
SPEC = {
    "provisionerClassName": "core-rukpak-io-registry",
    "source": {"type": "image", "image": {"ref": "registry.example.com/a:v1"}},
}
OTHER_SPEC = {**SPEC, "provisionerClassName": "core-rukpak-io-plain"}


def deployment(uid: str = "d", **record: Any) -> dict[str, Any]:
    known = {"bundle": "a", "image": IMAGE, "spec": SPEC, **record}
    return {
        "metadata": {"name": "deployment", "uid": uid},
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": {"spec": SPEC}},
        "status": {"activeBundle": "a", "installed": known},
    }


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


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(Change(None, deployment()), ["a"], id="it came with a record"),
        pytest.param(Change({**deployment(), "status": {}}, deployment()), ["a"], id="it has a record now"),
        pytest.param(Change(deployment(), deployment(image="x")), ["a"], id="the record is another one"),
        pytest.param(Change(deployment(), deployment()), [], id="anything else"),
        pytest.param(Change(deployment(), None), [], id="it went"),
    ],
)
def test_a_record_gives_its_bundle_a_turn(change: Change, woken: list[str]) -> None:
    assert list(recorded_keys(change)) == woken
