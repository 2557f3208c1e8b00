"""Which package a BundleDeployment is for."""

from __future__ import annotations

from operator_controller.operator.informers import packages_of, taken_names
from tests.unit.operator_controller.operator.worlds import deployment, operator


def test_the_package_of_a_bundle_deployment() -> None:
    assert packages_of(dict(deployment("1.0.0").raw)) == ["p"]
    assert packages_of(dict(deployment("1.0.0", annotations={}).raw)) == []
    assert packages_of({"spec": {"template": {}}}) == []


def test_a_name_is_taken_by_an_operator_for_another_package_and_by_a_bundle_deployment_without_an_operator() -> None:
    alpha, p = operator(), operator(name="p")
    state = dict(deployment("1.0.0").raw)
    of_p = {**state, "metadata": {**state["metadata"], "name": "p"}}
    assert taken_names([], [state]) == (("alpha", 'BundleDeployment "alpha"'),)
    assert taken_names([alpha], [state]) == (("alpha", 'Operator "alpha" for package "p"'),)
    assert taken_names([p], [of_p]) == ()
