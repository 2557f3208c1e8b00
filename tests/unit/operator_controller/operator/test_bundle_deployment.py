"""The BundleDeployment that a candidate requires."""

from __future__ import annotations

from operator_controller.operator.bundle_deployment import bundle_deployment_for, differs
from tests.unit.operator_controller.operator.worlds import deployment, offer, world


def test_properties_beyond_the_limit_are_left_out() -> None:
    many = [{"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K" * 1000}}] * 500
    observed = world(offers=(offer("1.0.0", bundle={"properties": many}),))
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    assert observed.resolution.answer.bundle is not None
    desired = bundle_deployment_for(observed.operator, observed.resolution.answer.bundle)
    assert desired is not None
    text = desired["spec"]["template"]["metadata"]["annotations"]["operators.operatorframework.io/properties"]
    assert len(text) <= 131_072
    assert text.endswith("}]")
    assert not differs(type(deployment("1.0.0")).load({**desired, "status": {}}), desired)
