"""Which Operators a change of a Catalog enqueues, and which package a BundleDeployment is for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from olmkit.runtime.informer import Change
from operator_controller.operator.events import EventMapper, Informers, packages_of, taken_names
from tests.unit.operator_controller.operator.worlds import bundle_annotations, catalog, deployment, operator


def named(name: str, **image: str) -> dict[str, Any]:
    made = catalog(source={"type": "image", "image": {"ref": "r:v1", **image}})
    return {**made, "metadata": {"name": name}}


def mapper() -> EventMapper:
    objects = {
        ("", "alpha"): dict(deployment("1.0.0").raw),
        ("", "beta"): dict(deployment("1.0.0", annotations=bundle_annotations("1.0.0", catalog="other")).raw),
        ("", "gamma"): dict(deployment("1.0.0", annotations={}).raw),
    }
    return EventMapper(cast(Informers, SimpleNamespace(deployments=SimpleNamespace(objects=objects))))


OPEN, WITH_LOGIN = named("community"), named("community", pullSecret="login")
WITH_POLICY = {**OPEN, "spec": {**OPEN["spec"], "bundles": {"verify": {"authorities": [{"key": {"data": "k"}}]}}}}


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(Change(OPEN, WITH_LOGIN), ["alpha"], id="it names a Secret"),
        pytest.param(Change(WITH_LOGIN, named("community", pullSecret="b")), ["alpha"], id="it names another Secret"),
        pytest.param(Change(WITH_LOGIN, OPEN), ["alpha"], id="it names no Secret any more"),
        pytest.param(Change(None, WITH_LOGIN), ["alpha"], id="it was created"),
        pytest.param(Change(WITH_LOGIN, {**WITH_LOGIN, "status": {}}), [], id="anything else of it changed"),
        pytest.param(Change(OPEN, WITH_POLICY), ["alpha"], id="it has a policy for the signatures of its bundles"),
        pytest.param(Change(WITH_POLICY, OPEN), ["alpha"], id="it has no policy any more"),
        pytest.param(Change(WITH_POLICY, {**WITH_POLICY, "status": {}}), [], id="its policy is the same"),
        pytest.param(Change(WITH_LOGIN, None), [], id="it was deleted"),
        pytest.param(Change(None, named("third")), [], id="a Catalog that no BundleDeployment is from"),
    ],
)
def test_changes_of_a_catalog(change: Change, keys: list[str]) -> None:
    assert list(mapper().keys_of_catalog(change)) == keys


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
