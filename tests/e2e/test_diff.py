"""`olm diff` on a cluster: what another version would change, shown before it is installed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from devcluster.watch import is_true
from tests.conditions import triple
from tests.e2e.stage import Stage, installed_version
from tests.forked_programs import ForkedOlm

PACKAGE = "hello-operator"
CONTENT = Content(SAMPLES / "catalog", SAMPLES / "bundles")
KIND = "operators.operators.operatorframework.io"


class Person:
    """Somebody at a shell, who reaches the registry of the cluster as rukpak does."""

    def __init__(self, stage: Stage, olm: ForkedOlm) -> None:
        self.stage = stage
        self._olm = olm

    def olm(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, stdout, stderr."""
        environment = {**os.environ, "KUBECONFIG": str(self.stage.cluster.kubeconfig)}
        done = self._olm.run(*arguments, environment=environment)
        return done.returncode, done.stdout, done.stderr

    def diff(self, *arguments: str, operator: str = PACKAGE) -> tuple[int, str, str]:
        """By the images: whole objects."""
        registry = ["--registries-conf", str(self.stage.cluster.registries_conf), "--allow-source-cidr", "127.0.0.0/8"]
        return self.olm("diff", operator, "--full", *arguments, *registry)

    def generations(self) -> dict[str, Any]:
        """The generation of each object that a plan must neither create nor change. Statuses may change meanwhile."""
        kinds = f"bundles.core.rukpak.io,bundledeployments.core.rukpak.io,{KIND},crds,deployments"
        found = json.loads(self.stage.cluster.kubectl("get", kinds, "-A", "-o", "json"))["items"]
        return {f"{each['kind']} {each['metadata']['name']}": each["metadata"]["generation"] for each in found}


@pytest.fixture
def person(stage: Stage, forked_olm: ForkedOlm) -> Iterator[Person]:
    stage.publish(CONTENT, [PACKAGE])
    stage.ready_catalog(stage.repository().reference)
    try:
        yield Person(stage, forked_olm)
    finally:
        stage.cluster.kubectl("delete", KIND, PACKAGE, "--ignore-not-found", "--timeout=90s")


def test_an_upgrade_is_shown_and_not_installed(person: Person) -> None:
    assert person.olm("install", PACKAGE, "--version", "0.1.0", "--wait")[0] == 0
    before = person.generations()
    status, out, err = person.diff("0.2.0")
    assert (status, err) == (1, "")
    first, *rest = out.splitlines()
    assert first == f"# {PACKAGE}: 0.1.0 -> 0.2.0"
    assert any(line.startswith("# objects: ") for line in rest)
    assert any(line.startswith("--- Deployment.apps ") for line in rest)
    assert any(line.startswith("+++ Deployment.apps ") for line in rest)
    assert person.generations() == before

    status, out, _ = person.diff("0.2.0", "-o", "json")
    value = json.loads(out)
    assert (status, value["oldVersion"], value["newVersion"]) == (1, "0.1.0", "0.2.0")
    assert {"changed"} <= {each["change"] for each in value["objects"]}
    assert value["refusals"] == []


def test_what_runs_differs_in_nothing_from_itself(person: Person) -> None:
    assert person.olm("install", PACKAGE, "--version", "0.1.0", "--wait")[0] == 0
    same = (0, f"# {PACKAGE}: 0.1.0 is installed: nothing would change\n", "")
    assert person.diff("0.1.0") == same
    assert person.olm("diff", PACKAGE, "0.1.0") == same


def test_summaries_show_the_same_changes_without_a_registry(person: Person) -> None:
    assert person.olm("install", PACKAGE, "--version", "0.1.0", "--wait")[0] == 0
    before = person.generations()
    status, out, err = person.olm("diff", PACKAGE, "0.2.0")
    assert (status, err) == (1, "")
    full_status, full, _ = person.diff("0.2.0")
    assert full_status == 1

    def summary(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("# ") and "--full" not in line]

    assert summary(out) == summary(full)
    changed = [line[2:] for line in out.splitlines() if line.startswith("~ ")]
    assert f"--- {changed[0]}" in full.splitlines()
    assert out.splitlines()[-1] == "# --full shows them"
    assert person.generations() == before
    values = [
        json.loads(person.olm("diff", PACKAGE, "0.2.0", "-o", "json")[1]),
        json.loads(person.diff("0.2.0", "-o", "json")[1]),
    ]
    for each in values[1]["objects"]:
        assert "new" in each
        del each["old"], each["new"]
    assert values[0] == values[1]


def test_what_a_package_brings_is_shown_before_it_is_installed(person: Person) -> None:
    status, out, err = person.olm("show", PACKAGE, "--permissions")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{PACKAGE} 0.2.0 of catalog ")
    assert "  greetings.hello.example.com" in lines
    assert "  1 CustomResourceDefinition.apiextensions.k8s.io" in lines
    status, out, _ = person.olm("show", PACKAGE, "--permissions", "--version", "0.1.0", "-o", "json")
    value = json.loads(out)
    assert (status, value["version"], value["statedBy"]) == (0, "0.1.0", "Image")
    assert value["permissions"][0]["account"].startswith("ServiceAccount ")
    status, out, err = person.olm("show", PACKAGE, "--permissions", "--version", "7.7.7")
    assert (status, out) == (3, "")
    assert "has no version 7.7.7" in err
    roles = person.olm("bundle", "permissions", PACKAGE)
    assert roles[0] != 0, "nothing is installed"
    assert person.olm("install", PACKAGE, "--version", "0.1.0", "--wait")[0] == 0
    status, out, err = person.olm("bundle", "permissions", PACKAGE)  # without a way to the registry
    assert (status, err) == (0, "")
    assert next(each["kind"] for each in yaml.safe_load_all(out)) == "ClusterRole"


def test_what_an_approval_would_change_is_shown(person: Person) -> None:
    person.olm("install", PACKAGE, "--approval", "Manual", "--wait")
    path = "jsonpath={.status.available.message}"
    message = person.stage.cluster.kubectl("get", KIND, PACKAGE, "-o", path)
    assert (
        f"it adds Greeting (hello.example.com/v1alpha1); olm diff {PACKAGE} shows everything that it changes" in message
    )
    status, out, err = person.diff()
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == f"# {PACKAGE}: nothing -> 0.2.0"
    assert any(line.startswith("# permission gained: ServiceAccount ") for line in lines)
    assert "+++ CustomResourceDefinition.apiextensions.k8s.io greetings.hello.example.com" in lines
    assert not any(line.startswith("-") and line != "--- /dev/null" for line in lines)


def test_errors_are_no_differences(person: Person) -> None:
    status, out, err = person.diff()
    assert (status, out) == (3, "")
    assert PACKAGE in err
    assert person.olm("install", PACKAGE, "--version", "0.1.0", "--wait")[0] == 0
    assert person.diff("7.7.7") == (3, "", f"package {PACKAGE} has no version 7.7.7: see olm graph {PACKAGE}\n")
    status, out, err = person.olm("diff", PACKAGE, "0.2.0", "--full")  # without the mirror of the registry
    assert (status, out, "Usage:" in err) == (2, "", False)


RULE = "v1alpha1: spec.message: max-length-tightened: none -> 20"


def changed(directory: Path, name: str, change: Callable[[dict[str, Any]], None]) -> Content:
    """The samples, with another manifest of that name in version 0.2.0."""
    shutil.copytree(CONTENT.catalog, directory / "catalog")
    shutil.copytree(CONTENT.bundles, directory / "bundles")
    path = directory / "bundles" / PACKAGE / "0.2.0" / "manifests" / name
    manifest = yaml.safe_load(path.read_text())
    change(manifest)
    path.write_text(yaml.safe_dump(manifest))
    return Content(directory / "catalog", directory / "bundles")


LONG = {
    "apiVersion": "hello.example.com/v1alpha1",
    "kind": "Greeting",
    "metadata": {"name": "long", "namespace": "default"},
    "spec": {"message": "a message that is longer than twenty characters"},
}


def tighten(crd: dict[str, Any]) -> None:
    """Limit the length of messages."""
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    fields["spec"]["properties"]["message"]["maxLength"] = 20


def require_newer_kubernetes(csv: dict[str, Any]) -> None:
    csv["spec"]["minKubeVersion"] = "9.0.0"


def test_a_version_that_needs_a_newer_kubernetes_says_so(stage: Stage, forked_olm: ForkedOlm, tmp_path: Path) -> None:
    stage.publish(changed(tmp_path, "hello-operator.clusterserviceversion.yaml", require_newer_kubernetes), [PACKAGE])
    stage.ready_catalog(stage.repository().reference)
    name, person = stage.operator(PACKAGE, version="0.1.0"), Person(stage, forked_olm)
    stage.ready_operator(name, "0.1.0")
    status, out, _ = person.diff("0.2.0", operator=name)
    needed = f'# refused: bundle "{PACKAGE}.v0.2.0" needs Kubernetes 9.0.0 or newer, this cluster runs '
    assert (status, [line for line in out.splitlines() if line.startswith(needed)] != []) == (1, True)


def test_an_upgrade_that_tightens_a_schema_is_announced_and_refused_for_a_custom_resource_until_that_is_ignored(
    stage: Stage, forked_olm: ForkedOlm, tmp_path: Path
) -> None:
    stage.publish(changed(tmp_path, "hello.example.com_greetings.yaml", tighten), [PACKAGE])
    stage.ready_catalog(stage.repository().reference)
    name, person = stage.operator(PACKAGE, version="0.1.0"), Person(stage, forked_olm)
    stage.ready_operator(name, "0.1.0")
    definition = "# CustomResourceDefinition greetings.hello.example.com:"
    status, out, _ = person.diff("0.2.0", operator=name)
    assert (status, f"{definition} concerns no custom resource: {RULE}" in out.splitlines()) == (1, True)

    stage.cluster.kubectl("create", "-f", "-", input=yaml.safe_dump(LONG))
    invalid = "existing-object-invalid: default/long: spec.message: maxLength"
    status, out, _ = person.diff("0.2.0", operator=name)
    assert status == 1
    assert {f"{definition} refused: {invalid}", f"{definition} concerns custom resources: {RULE}"} <= set(
        out.splitlines()
    )

    stage.patch_operator(name, {"approval": "Manual", "version": "0.2.0"})
    stage.operator_when(name, "0.2.0 waits", lambda o: (o["status"].get("available") or {}).get("version") == "0.2.0")
    status, out, err = person.olm("approve", name)
    assert (status, out, f"the upgrade of {name} would be refused: 1 custom resource is not valid" in err) == (
        5,
        "",
        True,
    )

    assert person.olm("approve", name, "--force")[0] == 0
    refused = stage.operator_when(name, "its upgrade is refused", lambda o: is_true(o, "Stalled"))
    assert invalid.partition(": ")[2] in triple(refused, "Ready")[2]
    assert installed_version(refused) == "0.1.0"

    assert person.olm("upgrade", name, "--ignore-crd-rule", "existing-object-invalid")[0] == 0
    stage.ready_operator(name, "0.2.0")
    stage.cluster.kubectl("delete", "greetings.hello.example.com", "long", "-n", "default")
