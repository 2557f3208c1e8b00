"""The BundleDeployment that a candidate requires."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.operator.bundle_deployment import bundle_deployment_for, differs, foreign_fields
from tests.unit.operator_controller.operator.worlds import bundle_annotations, deployment, offer, world


def test_properties_beyond_the_limit_are_left_out() -> None:
    many = [{"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K" * 1000}}] * 500
    observed = world(offers=(offer("1.0.0", bundle={"properties": many}),))
    assert observed.resolution is not None
    assert observed.resolution.answer is not None
    assert observed.resolution.answer.bundle is not None
    desired = bundle_deployment_for(observed, observed.resolution.answer.bundle)
    assert desired is not None
    text = desired["spec"]["template"]["metadata"]["annotations"]["operators.operatorframework.io/properties"]
    assert len(text) <= 131_072
    assert text.endswith("}]")
    assert not differs(type(deployment("1.0.0")).load({**desired, "status": {}}), desired)


@pytest.mark.parametrize(
    ("applied", "removed"),
    [
        pytest.param({}, {}, id="nothing of others"),
        pytest.param(
            {"annotations": {**bundle_annotations("1.0.0"), "operators.operatorframework.io/x": "y"}},
            {"metadata": {"annotations": {"operators.operatorframework.io/x": None}}},
            id="an annotation that describes a bundle",
        ),
        pytest.param({"annotations": {**bundle_annotations("1.0.0"), "x/y": "z"}}, {}, id="not any other annotation"),
        pytest.param(
            {"pull_secret": "mine"}, {"spec": {"source": {"image": {"pullSecret": None}}}}, id="a pull secret"
        ),
    ],
)
def test_what_others_have_added_is_removed(applied: dict[str, Any], removed: dict[str, Any]) -> None:
    desired = dict(deployment("1.0.0").raw)
    assert foreign_fields(deployment("1.0.0", **applied), desired) == removed


def test_a_pull_secret_that_is_desired_stays() -> None:
    desired = dict(deployment("1.0.0", pull_secret="login").raw)
    assert foreign_fields(deployment("1.0.0", pull_secret="login"), desired) == {}
