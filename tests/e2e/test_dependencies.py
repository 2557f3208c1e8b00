"""party-operator of the samples requires hello-operator: it is installed first, and deleted after it unless it is in use."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from devcluster.watch import BUNDLE_DEPLOYMENTS, OPERATORS, Event, Object, is_true
from olmkit.api.operators import INSTALLED_FOR_LABEL
from tests.conditions import triple
from tests.e2e.stage import Stage, installed_version

DEPENDANT, DEPENDENCY = "party-operator", "hello-operator"
GREETINGS = "greetings.hello.example.com"
GREETING: Object = {
    "apiVersion": "hello.example.com/v1alpha1",
    "kind": "Greeting",
    "metadata": {"name": "of-a-user", "namespace": "default"},
    "spec": {"message": "Hello"},
}
COUNT_SECONDS = 180.0
"""rukpak counts custom resources at most once a minute."""


@pytest.fixture
def installed(stage: Stage) -> Iterator[list[str]]:
    """Applies party-operator alone and waits until it is Ready; the names of the BundleDeployments in order of their creation."""
    appeared: list[str] = []

    def seen(event: Event) -> None:
        if event.object is None or event.name in appeared:
            return
        appeared.append(event.name)
        if event.name == DEPENDANT:
            assert is_true(stage.watch(BUNDLE_DEPLOYMENTS).objects[DEPENDENCY], "Installed"), (
                "the dependency is not installed first"
            )

    stage.ready_catalog(
        stage.publish(Content(SAMPLES / "catalog", SAMPLES / "bundles"), [DEPENDANT, DEPENDENCY]).reference
    )
    deployments = stage.watch(BUNDLE_DEPLOYMENTS)
    deployments.until("the BundleDeployments are listed", lambda objects: True)
    stage.operator(DEPENDANT, DEPENDANT)
    deployments.until(
        f"{DEPENDANT} is installed", lambda objects: is_true(objects.get(DEPENDANT), "Installed"), seen=seen
    )
    stage.ready_operator(DEPENDANT, "1.0.0")
    try:
        yield appeared
    finally:
        names = ("greeting", GREETING["metadata"]["name"], "-n", GREETING["metadata"]["namespace"])
        if stage.exists("crd", GREETINGS):
            stage.cluster.kubectl("delete", *names, "--ignore-not-found")
        stage.also_delete("Operator", DEPENDENCY)


def test_what_an_operator_requires_is_installed_before_it_and_deleted_after_it(
    stage: Stage, installed: list[str]
) -> None:
    assert installed == [DEPENDENCY, DEPENDANT]
    dependency = stage.ready_operator(DEPENDENCY, "0.2.0")
    assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}
    assert "ownerReferences" not in dependency["metadata"]
    assert dependency["spec"]["packageName"] == DEPENDENCY
    (entry,) = stage.ready_operator(DEPENDANT, "1.0.0")["status"]["dependencies"]
    assert entry.pop("requirement") == f'{DEPENDENCY} ">=0.2.0" is satisfied by {DEPENDENCY} 0.2.0'
    assert entry == {
        "package": DEPENDENCY,
        "version": "0.2.0",
        "bundle": f"{DEPENDENCY}.v0.2.0",
        "operator": DEPENDENCY,
        "installed": True,
    }
    stage.delete("Operator", DEPENDANT)
    stage.until(OPERATORS, f"{DEPENDENCY} is deleted", lambda objects: DEPENDENCY not in objects, COUNT_SECONDS)
    for gone in (("bundledeployment", DEPENDENCY), ("crd", GREETINGS), ("namespace", f"{DEPENDENCY}-system")):
        assert not stage.exists(*gone), gone


@pytest.mark.usefixtures("installed")
def test_a_dependency_in_use_is_kept_until_its_last_custom_resource_is_deleted(stage: Stage) -> None:
    stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(GREETING))
    stage.delete("Operator", DEPENDANT)
    kept = stage.operator_when(DEPENDENCY, "kept", lambda found: "; kept: " in triple(found, "Ready")[2], COUNT_SECONDS)
    assert triple(kept, "Ready")[0] == "True"
    assert triple(kept, "Ready")[2].endswith(f"; kept: 1 {GREETINGS} in use")
    assert installed_version(kept) == "0.2.0"
    stage.cluster.kubectl("delete", "greeting", "of-a-user", "-n", "default")
    stage.until(OPERATORS, f"{DEPENDENCY} is deleted", lambda objects: DEPENDENCY not in objects, COUNT_SECONDS)
    assert not stage.exists("crd", GREETINGS)


@pytest.mark.usefixtures("installed")
def test_the_deletion_of_what_others_require_waits_and_names_them(stage: Stage) -> None:
    stage.cluster.kubectl("delete", "operators.operators.operatorframework.io", DEPENDENCY, "--wait=false")
    held = stage.operator_when(DEPENDENCY, "held", lambda found: triple(found, "Ready")[1] == "DeletionBlocked")
    assert triple(held, "Ready") == (
        "False",
        "DeletionBlocked",
        f"the deletion waits: Operator {DEPENDANT} requires it: delete what requires it first",
    )
    assert triple(held, "Reconciling")[:2] == ("True", "DeletionBlocked")
    assert is_true(stage.ready_operator(DEPENDANT, "1.0.0"), "Ready")
    assert stage.exists("crd", GREETINGS)
    stage.delete("Operator", DEPENDANT)
    stage.until(OPERATORS, f"{DEPENDENCY} is deleted", lambda objects: DEPENDENCY not in objects, COUNT_SECONDS)
    assert not stage.exists("bundledeployment", DEPENDENCY)
