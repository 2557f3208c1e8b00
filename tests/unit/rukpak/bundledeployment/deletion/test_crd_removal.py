"""Whether the deletion of a BundleDeployment removes custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, FINALIZER
from rukpak.bundledeployment.deletion.crd_removal import removes_custom_resources

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
REMOVING = {**DELETED, "finalizers": ["foregroundDeletion", FINALIZER]}


def deployment(metadata: dict[str, Any], **spec: str) -> dict[str, Any]:
    return {"metadata": {"name": "web", **metadata}, "spec": spec}


@pytest.mark.parametrize(
    ("raw", "is_so"),
    [
        pytest.param(deployment({"finalizers": [FINALIZER]}), False, id="it is not being deleted"),
        pytest.param(deployment(REMOVING), True, id="it is being deleted"),
        pytest.param(deployment(REMOVING, deletionPolicy="Cascade"), True, id="by the policy that is the default"),
        pytest.param(deployment(REMOVING, deletionPolicy="KeepCRDs"), False, id="it keeps its CRDs"),
        pytest.param(deployment(REMOVING, deletionPolicy="Orphan"), False, id="it keeps everything"),
        pytest.param(
            deployment({**REMOVING, "annotations": {DELETION_HOLD_ANNOTATION: "party needs it"}}),
            False,
            id="it is held",
        ),
        pytest.param(
            deployment({**REMOVING, "annotations": {DELETION_HOLD_ANNOTATION: ""}}), True, id="the hold is empty"
        ),
        pytest.param(deployment(DELETED), False, id="it never had objects"),
        pytest.param(
            deployment({**DELETED, "finalizers": ["foregroundDeletion"]}), False, id="its objects are gone or abandoned"
        ),
    ],
)
def test_when_custom_resources_are_being_removed(raw: dict[str, Any], is_so: bool) -> None:
    assert removes_custom_resources(raw) is is_so
