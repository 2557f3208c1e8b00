"""What an Operator requires is installed first, and deleted after it unless it is in use: the samples, and real packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from devcluster.watch import BUNDLE_DEPLOYMENTS, OPERATORS, Event, Object, is_true
from olmkit.api.operators import INSTALLED_FOR_LABEL
from tests.bundle_properties import package_required
from tests.conditions import triple
from tests.e2e.packages import group, package_blobs, publish, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import Stage, installed_version

DEPENDANT, DEPENDENCY = "party-operator", "hello-operator"
GREETINGS = "greetings.hello.example.com"
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
def test_the_deletion_of_what_others_require_waits_and_names_them(stage: Stage) -> None:
    stage.request_deletion("Operator", DEPENDENCY)
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


@pytest.mark.corpus
@pytest.mark.timeout(600)
def test_mercury_operator_brings_the_exact_versions_that_it_requires(stage: Stage, dependency_corpus: Path) -> None:
    content = Content(dependency_corpus / "catalog", dependency_corpus / "bundles")
    brought = {"camel-k": "1.9.0", "strimzi-kafka-operator": "0.28.0"}
    stage.ready_catalog(stage.publish(content, ["mercury-operator", *brought]).reference)
    for name in brought:
        stage.also_delete("Operator", name)
    stage.operator("mercury-operator", "mercury-operator", channel="stable")
    found = stage.ready_operator("mercury-operator", "1.0.2", seconds=240)
    listed = {entry["package"]: (entry["version"], entry["installed"]) for entry in found["status"]["dependencies"]}
    assert listed == {package: (version, True) for package, version in brought.items()}
    for package, version in brought.items():
        dependency = stage.ready_operator(package, version)
        assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}
    stage.delete("Operator", "mercury-operator")
    stage.until(OPERATORS, "the dependencies are deleted", lambda objects: not brought.keys() & objects.keys(), 240)
    for package in brought:
        assert not stage.exists("bundledeployment", package)


@pytest.mark.corpus
@pytest.mark.timeout(600)
def test_kubedb_installer_alone_brings_cert_manager_and_takes_it_away(stage: Stage, corpus: Path) -> None:
    package, needed = "kubedb-installer", "cert-manager"
    stage.ready_catalog(stage.publish(Content(corpus / "catalog", corpus / "bundles"), [package, needed]).reference)
    stage.also_delete("Operator", needed)
    before = installed_objects(stage)
    stage.operator(package, package)
    found = stage.operator_when(package, "Ready", lambda o: is_true(o, "Ready"), 240)
    (entry,) = found["status"]["dependencies"]
    assert (entry["package"], entry["operator"], entry["installed"]) == (needed, needed, True)
    dependency = stage.operator_when(needed, "Ready", lambda o: is_true(o, "Ready"), 240)
    assert dependency["metadata"]["labels"] == {INSTALLED_FOR_LABEL: ""}
    assert {package, needed} <= {name.partition("/")[2] for name in installed_objects(stage) - before}
    assert stage.exists("crd", "certificates.cert-manager.io")
    stage.delete("Operator", package)
    stage.until(OPERATORS, f"{needed} is deleted", lambda objects: needed not in objects, 240)
    assert installed_objects(stage) == before


def installed_objects(stage: Stage) -> set[str]:
    """What is installed, and what it may leave behind, as kind/name."""
    kinds = "bundledeployments,namespaces,crds,clusterroles,clusterrolebindings,validatingwebhookconfigurations"
    return set(stage.cluster.kubectl("get", kinds, "-o", "name").split())


def test_operators_whose_dependency_cannot_be_installed_can_be_deleted_at_once(stage: Stage) -> None:
    """The dependency has no image: nothing is installed of it, and what requires it waits."""
    package, needed = f"{stage.name[:30]}-a", f"{stage.name[:30]}-b"
    image = push_bundle(stage, package, registry_bundle(package))
    missing = f"{stage.cluster.registry}/bundles/was-never-pushed:v1"
    blobs = (
        package_blobs(package, {"1.0.0": image}, [package_required(needed)]),
        package_blobs(needed, {"1.0.0": missing}),
    )
    publish(stage, *blobs)
    stage.also_delete("Operator", needed)
    stage.operator(package, package)
    waits = stage.operator_when(package, "waits", lambda found: "was-never-pushed" in triple(found, "Reconciling")[2])
    assert triple(waits, "Reconciling")[:2] == ("True", "WaitingForDependencies")
    assert f"waiting for dependencies: {needed} 1.0.0 (" in triple(waits, "Reconciling")[2]
    stage.cluster.kubectl("delete", "operators.operators.operatorframework.io", package, needed, "--timeout=60s")
    stage.until(OPERATORS, "both are deleted", lambda objects: not {package, needed} & objects.keys())


def test_what_two_operators_require_is_installed_as_in_the_guide(stage: Stage) -> None:
    """A, pinned to 0.1.0, requires C 0.1.0, and B requires D: the four are installed."""
    a, b, c, d = (f"guide-{letter}" for letter in "abcd")
    publish(
        stage,
        versions(stage, a, {"0.1.0": (c, "0.1.0"), "0.2.0": (c, "0.2.0")}),
        versions(stage, b, {"0.1.0": (d, ">=0.1.0")}),
        versions(stage, c, {"0.1.0": None, "0.2.0": None}),
        versions(stage, d, {"0.1.0": None, "0.2.0": None}),
    )
    stage.operator(a, a, version="0.1.0")
    stage.operator(b, b)
    for name in (c, d):
        stage.also_delete("Operator", name)
    for name, version in ((a, "0.1.0"), (b, "0.1.0"), (c, "0.1.0"), (d, "0.2.0")):
        stage.ready_operator(name, version)
    stage.delete("Operator", a)
    stage.delete("Operator", b)
    stage.until(OPERATORS, "C and D are deleted", lambda objects: not {c, d} & objects.keys(), COUNT_SECONDS)


def test_operators_that_require_different_versions_are_in_conflict_as_in_the_guide(stage: Stage) -> None:
    """A, pinned to 0.1.0, requires C 0.1.0, and B requires C 0.2.0: the newcomer is refused until A is deleted."""
    a, b, c = (f"clash-{letter}" for letter in "abc")
    stage.operator(a, a, version="0.1.0")
    stage.operator(b, b)
    stage.also_delete("Operator", c)
    refusals: list[str] = []

    def seen(event: Event) -> None:
        if event.name == b and is_true(event.object, "Stalled"):
            refusals.append(triple(event.object, "Resolved")[2])

    watch = stage.watch(OPERATORS)
    publish(
        stage,
        versions(stage, a, {"0.1.0": (c, "0.1.0")}),
        versions(stage, b, {"0.1.0": (c, "0.2.0"), "0.2.0": (c, "0.2.0")}),
        versions(stage, c, {"0.1.0": None, "0.2.0": None}),
    )
    watch.until("B is refused", lambda objects: bool(refusals), seen=seen)
    refusal = f"Unable to resolve because {a} v0.1.0 requires {c} v0.1.0, which conflicts with {b} latest requiring {c} v0.2.0"
    assert refusals[0] == refusal
    stage.ready_operator(a, "0.1.0")
    stage.ready_operator(c, "0.1.0")
    refused = stage.operator_when(b, "refused", lambda found: is_true(found, "Stalled"))
    assert triple(refused, "Resolved") == ("False", "ResolutionFailed", refusal)
    assert triple(refused, "Ready")[2] == f"{refusal}; {c} has 0.1.0, 0.2.0"
    assert not stage.exists("bundledeployment", b)
    stage.delete("Operator", a)
    stage.ready_operator(b, "0.2.0")
    stage.ready_operator(c, "0.2.0")


def test_a_dependency_that_keeps_an_operator_out_is_deleted_when_it_is_not_used_any_more(stage: Stage) -> None:
    """C was upgraded while nothing required it; A, which comes back, requires the version before."""
    a, c = "again-a", "again-c"
    dependant = versions(stage, a, {"0.1.0": (c, "0.1.0")})
    publish(stage, dependant, versions(stage, c, {"0.1.0": None}))
    stage.also_delete("Operator", c)
    stage.operator(a, a)
    stage.ready_operator(a, "0.1.0")
    thing = {"apiVersion": f"{group(c)}/v1", "kind": "Thing", "metadata": {"name": "of-a-user", "namespace": "default"}}
    stage.cluster.kubectl("apply", "-f", "-", input=json.dumps(thing))
    try:
        stage.delete("Operator", a)
        push_catalog(stage, dependant, versions(stage, c, {"0.1.0": None, "0.2.0": None}))
        stage.operator_when(
            c, "kept at 0.2.0", lambda found: is_kept(found) and installed_version(found) == "0.2.0", COUNT_SECONDS
        )
        stage.operator(a, a)
        waits = stage.operator_when(a, "refused", lambda found: triple(found, "Resolved")[0] == "False")
        assert triple(waits, "Reconciling")[:2] == ("True", "WaitingForOperators")
        assert (
            f"nothing requires {c}: it is deleted unless its custom resources are in use" in triple(waits, "Ready")[2]
        )
    finally:
        stage.cluster.kubectl("delete", f"things.{group(c)}", "of-a-user", "-n", "default")
    stage.ready_operator(a, "0.1.0", COUNT_SECONDS)
    stage.ready_operator(c, "0.1.0")


def is_kept(operator: Object) -> bool:
    """Whether only its custom resources keep it."""
    return triple(operator, "Ready")[2].startswith("kept: ")


def versions(stage: Stage, package: str, requirements: Mapping[str, tuple[str, str] | None]) -> list[dict[str, Any]]:
    """The catalog blobs of a package, and the images of its bundles. `requirements`: by version the package and range."""
    images = {
        version: push_bundle(stage, package, registry_bundle(package, version), version) for version in requirements
    }
    blobs = package_blobs(package, images)
    for blob in blobs:
        required = requirements.get(blob["name"].rpartition(".v")[2]) if blob["schema"] == "olm.bundle" else None
        if required is not None:
            blob["properties"].append(package_required(*required))
    return blobs
