"""Operators and BundleDeployments that are in each other's way: a defined outcome, and no other Operator notices."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object
from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, OPERATORS, Object, is_true
from tests.cluster.operator_controller.conftest import FINALIZER, HEALTHY, Scene, blobs, image_of, wanted_catalog
from tests.cluster.operator_controller.operator.bystander import Bystander, bystander
from tests.conditions import triple
from tests.e2e.packages import catalog_file

Blob = dict[str, Any]
MANY_ENTRIES, MANY_VERSIONS = 20_000, 19_000
LONG_NAME = "x" * 300_000


@pytest.fixture(scope="module")
def other(cluster: Cluster, suite: Suite) -> Iterator[Bystander]:
    """An installed Operator, the same for all tests of this module."""
    with bystander(cluster, suite, "bystander") as found:
        yield found


@pytest.fixture(autouse=True)
def _not_affected(other: Bystander) -> Iterator[None]:
    yield
    other.check()


def test_of_two_operators_created_at_once_the_first_has_the_package(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    first, second = f"{scene.name}-a", f"{scene.name}-b"
    for name in (first, second):
        scene.operator(scene.name, name)
    refused = scene.condition_when(second, "Stalled", "True")
    assert triple(refused, "Resolved")[:2] == ("False", "ResolutionFailed")
    assert f'package "{scene.name}" is ' in triple(refused, "Resolved")[2]
    assert f'Operator "{first}"' in triple(refused, "Resolved")[2]
    scene.install(first, "1.0.0")
    scene.ready_operator(first, "1.0.0")
    message = (
        f'package "{scene.name}" is already managed by Operator "{first}"; delete the one that has installed nothing'
    )
    refused = scene.condition_when(second, "Stalled", "True", message)
    assert triple(refused, "Ready") == ("False", "NotResolved", message)
    assert triple(refused, "Installed")[:2] == ("Unknown", "InstallationStatusUnknown")
    assert not scene.exists("bundledeployment", second)
    scene.delete("Operator", first)
    scene.install(second, "1.0.0")
    scene.ready_operator(second, "1.0.0")


def test_another_package_is_installed_instead_of_one_that_is_not_installed_yet(scene: Scene) -> None:
    other_package = f"{scene.name}-2"
    scene.repository().push_files(catalog_file(blobs(scene.name, ["1.0.0"], {}), blobs(other_package, ["2.0.0"], {})))
    scene.ready_catalog(scene.repository().reference)
    name = scene.operator(scene.name)
    uid = scene.deployment_when(name, "1.0.0")["metadata"]["uid"]
    scene.patch_operator(name, {"packageName": other_package})
    deployment = scene.deployment_when(name, "2.0.0")
    assert deployment["metadata"]["uid"] == uid
    resolved = scene.condition_when(name, "Resolved", "True", image_of(other_package, "2.0.0"))
    assert triple(resolved, "Installed")[0] == "Unknown"
    scene.install(name, "2.0.0")
    scene.ready_operator(name, "2.0.0")


def test_a_package_name_that_changes_while_it_is_installed_is_refused_in_one_sentence(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"packageName": "another"})
    message = (
        f'package "{scene.name}" is installed by this Operator and "another" is requested: set spec.packageName back to '
        f'"{scene.name}", or delete this Operator and create another one for "another"'
    )
    refused = scene.condition_when(name, "Stalled", "True", message)
    assert triple(refused, "Ready") == ("False", "NotResolved", message)
    assert triple(refused, "Installed") == ("True", "Success", f'installed from "{image_of(scene.name, "1.0.0")}"')
    assert refused["status"]["installed"]["name"] == f"{scene.name}.v1.0.0"
    assert scene.deployment_when(name, "1.0.0")["metadata"]["generation"] == 1
    rival = scene.operator(scene.name, f"{scene.name}-2")
    scene.condition_when(rival, "Stalled", "True", f'already managed by Operator "{name}"')
    free = scene.operator("another", f"{scene.name}-3")
    scene.condition_when(free, "Resolved", "False", "package 'another' not found")
    scene.patch_operator(name, {"packageName": scene.name})
    scene.ready_operator(name, "1.0.0")


@pytest.mark.parametrize("kind", [None, "Operator", "Thing"], ids=["nobody", "another Operator", "another kind"])
def test_a_bundle_deployment_that_is_not_its_own_is_left_alone(scene: Scene, kind: str | None) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    owners: list[Blob] = []
    whose = "no Operator"
    if kind == "Operator":
        made = scene.operator("no-such-package", f"{scene.name}-2")
        uid = scene.condition_when(made, "Resolved", "False")["metadata"]["uid"]
        whose = f'Operator "{made}"'
        owners = [{"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": kind, "name": made, "uid": uid}]
    elif kind == "Thing":
        whose = 'Thing "someone"'
        owners = [{"apiVersion": "example.com/v1", "kind": kind, "name": "someone", "uid": "1"}]
    scene.foreign_deployment(*({**each, "controller": True} for each in owners))
    try:
        name = scene.operator(scene.name)
        another = "create the Operator under another name"
        adopt = f"kubectl annotate bundledeployments.core.rukpak.io {name} operators.operatorframework.io/adopt=true"
        way = (
            f"{another}, or delete it there"
            if owners
            else f"to have this Operator take it over, run {adopt}; or {another}"
        )
        message = f'BundleDeployment "{name}" already exists and is owned by {whose}: {way}'
        refused = scene.condition_when(name, "Stalled", "True", message)
        assert triple(refused, "Installed") == ("False", "InstallationFailed", message)
        assert triple(refused, "Resolved")[:2] == ("True", "Success")
        assert "finalizers" not in refused["metadata"]
        scene.delete("Operator", name)
        found = scene.get("bundledeployment", name)
        assert found["metadata"]["generation"] == 1
        assert "deletionTimestamp" not in found["metadata"]
    finally:
        scene.cluster.kubectl("delete", "bundledeployment", scene.name, "--ignore-not-found")


def test_an_operator_that_is_deleted_during_its_installation_leaves_nothing(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    deployment = scene.deployment_when(name, "1.0.0")
    scene.set_status(name, [("Installed", "False", "Installing"), ("Ready", "False", "Installing")], message="phase 2")
    scene.set_finalizers(name, "example.com/hold")
    scene.request_deletion("Operator", name)
    scene.until(
        BUNDLE_DEPLOYMENTS, "it is being deleted", lambda o: "deletionTimestamp" in o.get(name, {}).get("metadata", {})
    )
    removing = scene.condition_when(name, "Reconciling", "True", "removing the BundleDeployment")
    assert triple(removing, "Ready")[:2] == ("False", "Removing")
    assert removing["metadata"]["finalizers"] == [FINALIZER]
    scene.set_finalizers(name)
    scene.until(OPERATORS, "the Operator is deleted", lambda objects: name not in objects)
    scene.until(BUNDLE_DEPLOYMENTS, "the BundleDeployment is deleted", lambda objects: name not in objects)

    scene.operator(scene.name)
    again = scene.deployment_when(name, "1.0.0")
    assert again["metadata"]["uid"] != deployment["metadata"]["uid"]
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")


def test_a_package_in_two_catalogs_of_one_priority_needs_a_decision_only_before_it_is_installed(scene: Scene) -> None:
    reference = scene.catalog_of("1.0.0", "1.1.0")
    first = scene.ready_catalog(reference)
    installed = scene.operator(scene.name, version="1.0.0")
    scene.install(installed, "1.0.0")
    before = scene.ready_operator(installed, "1.0.0")
    second = scene.ready_catalog(reference, f"{scene.name}-2")
    scene.patch_operator(installed, {"version": "1.0.0 || 1.1.0"})
    scene.install(installed, "1.1.0")
    assert scene.ready_operator(installed, "1.1.0")["status"]["installed"]["catalog"] == first
    assert before["status"]["installed"]["catalog"] == first
    scene.delete("Operator", installed)

    name = scene.operator(scene.name)
    refused = scene.condition_when(name, "Stalled", "True", f'catalogs "{first}" and "{second}"')
    assert triple(refused, "Resolved")[:2] == ("False", "ResolutionFailed")
    assert "priority" in triple(refused, "Ready")[2]
    assert not scene.exists("bundledeployment", name)
    scene.patch_catalog(second, {"priority": 1})
    deployment = scene.deployment_when(name, "1.1.0")
    assert wanted_catalog(deployment) == second


def test_a_catalog_of_high_priority_changes_nothing_that_is_installed(scene: Scene) -> None:
    catalog = scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    before = scene.ready_operator(name, "1.0.0")
    hostile = f"{scene.name}-hostile"
    scene.repository("-hostile").push_files(catalog_file(blobs(scene.name, ["1.0.0", "99.0.0"], {})))
    made = catalog_object(hostile, scene.repository("-hostile").reference, "1h")
    made["spec"]["priority"] = 2**31 - 1
    scene.apply(made)
    scene.until(CATALOGS, "the hostile Catalog is Ready", lambda o: is_true(o.get(hostile), "Ready"))
    # An Operator that is applied afterwards is resolved with that Catalog: what is installed was resolved with it as well.
    newcomer = scene.operator(scene.name, f"{scene.name}-new")
    scene.condition_when(newcomer, "Stalled", "True", f'already managed by Operator "{name}"')
    assert scene.get("Operator", name)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert wanted_catalog(scene.deployment_when(name, "1.0.0")) == catalog
    scene.delete("Operator", newcomer)
    scene.delete("Operator", name)

    trusted = {"matchLabels": {"olm.operatorframework.io/metadata.name": catalog}}
    scene.operator(scene.name, catalogSelector=trusted)
    assert wanted_catalog(scene.deployment_when(name, "1.0.0")) == catalog
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"catalogSelector": None})
    scene.ready_operator(name, "1.0.0")
    assert wanted_catalog(scene.deployment_when(name, "1.0.0")) == catalog
    scene.delete("Operator", name)
    scene.operator(scene.name)
    assert wanted_catalog(scene.deployment_when(name, "99.0.0")) == hostile


def test_catalogs_that_lie_are_installed_from_as_far_as_they_can_be(scene: Scene) -> None:
    """An upgrade graph with a cycle, an entry without a bundle, two heads, 20,000 entries: each in a package of its own."""
    packages = {
        "cycle": _chain(scene.name + "-cycle", {"1.0.0": "1.2.0", "1.1.0": "1.0.0", "1.2.0": "1.1.0"}),
        "missing": _chain(scene.name + "-missing", {"1.0.0": "", "1.2.0": "1.0.0", "2.0.0": "1.2.0"}, without="2.0.0"),
        "heads": _chain(scene.name + "-heads", {"1.0.0": "", "1.1.0": "1.0.0", "1.2.0": "1.0.0"}),
        "long": _long(scene.name + "-long", MANY_VERSIONS),
        "huge": _long(scene.name + "-huge", MANY_ENTRIES),
    }
    scene.repository().push_files(catalog_file(*packages.values()))
    catalog = scene.catalog(scene.repository().reference, poll_interval="1h")
    lying = scene.catalog_when(catalog, "Ready", lambda o: is_true(o, "Ready"), 120)
    problems = triple(lying, "Valid")
    assert problems[:2] == ("False", "ProblemsFound")
    for package in ("cycle", "heads", "huge"):
        assert f"{scene.name}-{package}" in problems[2]
    assert (
        f'package "{scene.name}-huge" has more than 20,000 blobs: they are served unchanged, and none of them can be installed'
        in problems[2]
    )
    expected = {"cycle": "1.2.0", "missing": "1.2.0", "heads": "1.2.0", "long": f"1.0.{MANY_VERSIONS - 1}"}
    for package, version in expected.items():
        name = scene.operator(f"{scene.name}-{package}", f"{scene.name}-{package}"[:45])
        scene.install(name, version)
        ready = scene.ready_operator(name, version)
        assert triple(ready, "Ready")[1] == "Succeeded"
        assert f"{version} of channel stable" in ready["status"]["resolution"]

    name = scene.operator(f"{scene.name}-huge", f"{scene.name}-huge"[:45])
    refused = scene.condition_when(name, "Stalled", "True")
    assert triple(refused, "Resolved")[2] == (
        f'package "{scene.name}-huge" of catalog "{catalog}" is too large to be resolved: it has more than 20,000 blobs, which '
        "is the limit; ask its publisher to remove old entries"
    )

    # Nothing is upgraded along a cycle, and a refusal names the steps of a long chain without listing them all.
    name = f"{scene.name}-cycle"[:45]
    scene.patch_operator(name, {"version": "1.1.0"})
    refused = scene.condition_when(name, "Stalled", "True")
    assert triple(refused, "Installed")[0] == "True"
    assert len(triple(refused, "Ready")[2].encode()) <= 1024
    scene.delete("Operator", f"{scene.name}-long"[:45])
    name = scene.operator(f"{scene.name}-long", f"{scene.name}-long"[:45], version="1.0.0")
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.patch_operator(name, {"version": f"1.0.{MANY_VERSIONS - 1}"})
    refused = scene.condition_when(name, "Stalled", "True", "next step 1.0.1")
    assert len(triple(refused, "Ready")[2].encode()) <= 1024


def test_a_channel_whose_name_is_too_long_affects_its_package_alone(scene: Scene) -> None:
    named = _chain(scene.name + "-named", {"1.0.0": ""})
    next(blob for blob in named if blob["schema"] == "olm.channel")["name"] = LONG_NAME
    scene.repository().push_files(catalog_file(named, _chain(scene.name, {"1.0.0": ""})))
    catalog = scene.catalog(scene.repository().reference, poll_interval="1h")
    served = scene.catalog_when(catalog, "Ready", lambda o: is_true(o, "Ready"), 120)
    limit = f'a channel of 300,000 characters ("{LONG_NAME[:100]}…"), and 253 is the limit'
    assert triple(served, "Valid")[:2] == ("False", "ProblemsFound")
    assert f'package "{scene.name}-named" has {limit}' in triple(served, "Valid")[2]
    name = scene.operator(f"{scene.name}-named", f"{scene.name}-named"[:45])
    refused = scene.condition_when(name, "Stalled", "True")
    assert triple(refused, "Resolved")[2] == (
        f'package "{scene.name}-named" of catalog "{catalog}" is too large to be resolved: it has {limit}; ask its publisher for '
        "a shorter one"
    )
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")


def _long(package: str, versions: int) -> list[Blob]:
    """A package with a chain of that many versions, and MANY_ENTRIES entries."""
    content = _chain(package, {f"1.0.{number}": f"1.0.{number - 1}" if number else "" for number in range(versions)})
    channel = next(blob for blob in content if blob["schema"] == "olm.channel")
    channel["entries"] += [{"name": f"{package}.v0.0.{number}"} for number in range(MANY_ENTRIES - versions)]
    return content


def _chain(package: str, replaces: Mapping[str, str], without: str = "") -> list[Blob]:
    """A package with a channel in which each version replaces the given one; one may have an entry and no bundle."""
    content = blobs(package, [*replaces], {})
    channel = next(blob for blob in content if blob["schema"] == "olm.channel")
    channel["entries"] = [
        {"name": f"{package}.v{version}", **({"replaces": f"{package}.v{before}"} if before else {})}
        for version, before in replaces.items()
    ]
    return [blob for blob in content if not without or blob.get("name") != f"{package}.v{without}"]


def test_an_annotation_that_describes_another_bundle_is_removed_from_the_template(scene: Scene) -> None:
    """An apply would not remove it, and the Operator would wait for a change that never comes."""
    scene.ready_catalog(scene.catalog_of("1.0.0"))
    name = scene.operator(scene.name)
    bundle = scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    forged = "operators.operatorframework.io/forged"
    template = {"metadata": {"annotations": {forged: "x", "mine": "kept"}}}
    patch = json.dumps({"spec": {"template": template}})
    scene.cluster.kubectl("patch", "bundledeployment", name, "--type=merge", "--patch", patch)

    def removed(objects: Mapping[str, Object]) -> Mapping[str, str] | None:
        annotations: Mapping[str, str] = objects[name]["spec"]["template"]["metadata"]["annotations"]
        return None if forged in annotations else annotations

    assert scene.until(BUNDLE_DEPLOYMENTS, f"{forged} is removed", removed)["mine"] == "kept"
    scene.set_status(name, HEALTHY, active=bundle)
    scene.ready_operator(name, "1.0.0")
