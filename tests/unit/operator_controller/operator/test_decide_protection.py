"""The protection from deletion is on the BundleDeployment as on its Operator."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.operator.decide import decide
from operator_controller.operator.world import ObservedBundleDeployment, ProtectDeployment
from tests.unit.operator_controller.operator.worlds import deployment, operator, owner, world

ANNOTATION = "operators.operatorframework.io/deletion-protection"
PROTECTED = {ANNOTATION: "true"}


def observed(annotations: dict[str, str], **changes: Any) -> ObservedBundleDeployment:
    raw = dict(deployment("1.0.0", **changes).raw)
    return ObservedBundleDeployment.load({**raw, "metadata": {**raw["metadata"], "annotations": annotations}})


def protect(is_protected: bool) -> ProtectDeployment:
    return ProtectDeployment("alpha", "uid-deployment", is_protected)


@pytest.mark.parametrize(
    ("raw", "existing", "plan"),
    [
        pytest.param(operator(), observed({}), None, id="neither is protected"),
        pytest.param(operator(annotations=PROTECTED), observed(PROTECTED), None, id="both are"),
        pytest.param(operator(annotations=PROTECTED), observed({}), protect(True), id="the Operator alone is"),
        pytest.param(operator(), observed(PROTECTED), protect(False), id="the Operator is not any more"),
        pytest.param(operator(annotations={ANNOTATION: "no"}), observed({}), None, id="a value that means nothing"),
        pytest.param(
            operator({"paused": True}, annotations=PROTECTED), observed({}), protect(True), id="a paused Operator is"
        ),
        pytest.param(
            operator({"packageName": "missing"}, annotations=PROTECTED),
            observed({}),
            protect(True),
            id="an Operator whose package is not found",
        ),
        pytest.param(operator(annotations=PROTECTED), None, None, id="there is no BundleDeployment"),
        pytest.param(
            operator(annotations=PROTECTED),
            observed({}, owners=[owner(uid="another")]),
            None,
            id="the BundleDeployment is not of this Operator",
        ),
        pytest.param(operator(deleting=True), observed(PROTECTED), None, id="the Operator is being deleted"),
    ],
)
def test_the_bundle_deployment_follows(
    raw: dict[str, Any], existing: ObservedBundleDeployment | None, plan: ProtectDeployment | None
) -> None:
    found = decide(world(raw, bundle_deployment=existing)).plan
    assert (found if isinstance(found, ProtectDeployment) else None) == plan
