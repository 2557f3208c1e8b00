"""The Events of a pass that are no transition of a condition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.deployed_objects import ObjectReference
from rukpak.bundledeployment.pass_events import released_warning
from rukpak.bundledeployment.world import CRD, World
from tests.unit.rukpak.bundledeployment.worlds import installed, unpacked

KEPT = ObjectReference(group="", kind="Namespace", name="d")
RELEASED = (ObjectReference(group=CRD[0], kind=CRD[1], name="a.x"), KEPT)
TEXT = "no longer in the bundle and kept, because they are in use; nothing manages them any more: "


def reported(*known: ObjectReference) -> World:
    """What is installed, with a status that names these as released."""
    seen = installed()
    raw = {**seen.raw, "status": {**seen.raw["status"], "released": [one.dump() for one in known]}}
    return replace(seen, raw=raw, deployment=BundleDeployment.load(raw))


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        pytest.param(installed(), "CustomResourceDefinition a.x, Namespace d", id="both are new"),
        pytest.param(reported(KEPT), "CustomResourceDefinition a.x", id="one was reported before"),
        pytest.param(reported(*RELEASED), None, id="both were reported before"),
        pytest.param(unpacked(), None, id="an earlier BundleDeployment has left them"),
    ],
)
def test_what_is_released_is_one_warning(seen: World, names: str | None) -> None:
    events = released_warning(seen, RELEASED)
    assert [(event.type, event.reason, event.message) for event in events] == (
        [("Warning", "Released", f"{TEXT}{names}")] if names else []
    )
