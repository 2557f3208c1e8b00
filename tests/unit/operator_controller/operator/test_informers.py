"""Which package a BundleDeployment is for."""

from __future__ import annotations

from operator_controller.operator.informers import packages_of
from tests.unit.operator_controller.operator.worlds import deployment


def test_the_package_of_a_bundle_deployment() -> None:
    assert packages_of(dict(deployment("1.0.0").raw)) == ["p"]
    assert packages_of(dict(deployment("1.0.0", annotations={}).raw)) == []
    assert packages_of({"spec": {"template": {}}}) == []
