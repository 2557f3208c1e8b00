"""The story of the OpenShift 4.14 guide to OLM 1.0, section 7.3, with its commands, fields, conditions and messages.

The package is snapscheduler of the corpus, or our own hello-operator where there is no corpus.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.corpus import default_directory, open_corpus
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.errors import DevclusterError
from devcluster.images import Content, Pushed
from devcluster.watch import CATALOGS, PACKAGES, is_true
from tests.conditions import triple
from tests.e2e.stage import Stage, installed_version

NOT_ATTEMPTED = ("Unknown", "InstallationStatusUnknown", "installation has not been attempted as resolution failed")


@dataclass(frozen=True)
class Example:
    """A package with three versions, oldest first, in two channels; `crd` is one that its bundles bring."""

    content: Content
    package: str
    versions: tuple[str, str, str]
    follow: str
    crd: str

    @property
    def namespace(self) -> str:
        return f"{self.package}-system"

    def bundle(self, version: str) -> str:
        return f"{self.package}.v{version}"

    def publish(self, stage: Stage, *, without: Sequence[str] = ()) -> Pushed:
        return stage.publish(self.content, [self.package], [self.bundle(version) for version in without])

    def image(self, pushed: Pushed, version: str) -> str:
        return pushed.images[self.package, self.bundle(version)]


def _example(directory: Path) -> Example:
    try:
        opened = open_corpus(directory)
    except DevclusterError:
        content = Content(SAMPLES / "catalog", SAMPLES / "bundles")
        versions = ("0.1.0", "0.2.0", "0.3.0")
        return Example(content, "hello-operator", versions, "candidate", "greetings.hello.example.com")
    content = Content(opened / "catalog", opened / "bundles")
    versions = ("3.3.0", "3.4.0", "3.5.0")
    return Example(content, "snapscheduler", versions, "stable", "snapshotschedules.snapscheduler.backube")


@pytest.fixture(scope="module")
def example() -> Example:
    return _example(default_directory())


def test_a_catalog_names_its_image_and_lists_its_packages(stage: Stage, example: Example) -> None:
    pushed = example.publish(stage)
    name = stage.ready_catalog(pushed.reference)
    read = stage.get("Catalog", name)
    by_digest = f"{pushed.reference.rpartition(':')[0]}@{pushed.digest}"
    assert triple(read, "Unpacked") == (
        "True",
        "UnpackSuccessful",
        f'successfully unpacked the catalog image "{by_digest}"',
    )
    assert read["status"]["phase"] == "Unpacked"
    assert read["status"]["resolvedSource"]["type"] == "image"
    assert read["status"]["resolvedSource"]["image"]["ref"] == by_digest
    listed = stage.cluster.kubectl("get", "packages").splitlines()
    assert listed[0].split()[0] == "NAME"
    assert listed[0].split()[-1] == "AGE"
    assert f"{name}-{example.package}" in [line.split()[0] for line in listed[1:]]


def test_a_package_has_the_content_of_the_catalog(stage: Stage, example: Example) -> None:
    name = stage.ready_catalog(example.publish(stage).reference)
    catalog = stage.watch(CATALOGS).objects[name]
    shown = yaml.safe_load(stage.cluster.kubectl("get", "package", f"{name}-{example.package}", "-o", "yaml"))
    assert shown["apiVersion"] == "catalogd.operatorframework.io/v1alpha1"
    assert shown["kind"] == "Package"
    # The label of the guide, and one of the suite.
    assert shown["metadata"]["labels"] == {"catalog": name, "package": example.package}
    selector = f"catalog={name},package={example.package}"
    selected = stage.cluster.kubectl("get", "packages", "-l", selector, "-o", "wide", "--no-headers").splitlines()
    assert [line.split()[0] for line in selected] == [shown["metadata"]["name"]]
    heads, values = stage.cluster.kubectl("get", "package", shown["metadata"]["name"]).splitlines()
    columns = dict(zip(re.split(" {2,}", heads.strip()), re.split(" {2,}", values.strip()), strict=True))
    assert columns["CHANNELS"] == ",".join(each["name"] for each in shown["spec"]["channels"])
    assert re.fullmatch(r"[0-9]+[.][0-9]+[.][0-9]+.*", columns["LATEST"])
    assert shown["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "catalogd.operatorframework.io/v1alpha1",
            "blockOwnerDeletion": True,
            "controller": True,
            "kind": "Catalog",
            "name": name,
            "uid": catalog["metadata"]["uid"],
        }
    ]
    blobs = example.content.blobs(example.package)
    package = next(blob for blob in blobs if blob["schema"] == "olm.package")
    channels = {blob["name"]: blob["entries"] for blob in blobs if blob["schema"] == "olm.channel"}
    assert shown["spec"]["catalog"] == {"name": name}
    assert shown["spec"]["packageName"] == example.package
    assert shown["spec"]["defaultChannel"] == package["defaultChannel"]
    assert shown["spec"]["description"] == package["description"]
    assert {c["name"]: _edges(c["entries"]) for c in shown["spec"]["channels"]} == {
        channel: _edges(entries) for channel, entries in channels.items()
    }
    assert shown["status"] == {}


def test_an_operator_is_installed_updated_and_deleted_as_in_the_guide(stage: Stage, example: Example) -> None:
    oldest, middle, _ = example.versions
    pushed = example.publish(stage)
    stage.ready_catalog(pushed.reference)
    name = stage.operator(example.package, version=oldest)
    _assert_runs(stage, name, example.image(pushed, oldest), oldest)
    assert stage.cluster.kubectl("get", "pod", "-n", example.namespace).splitlines()[0].split()[0] == "NAME"
    assert stage.exists("crd", example.crd)
    patched = stage.cluster.kubectl(
        "patch",
        f"operator.operators.operatorframework.io/{name}",
        "-p",
        f'{{"spec":{{"version":"{middle}"}}}}',
        "--type=merge",
    )
    assert patched.strip() == f"operator.operators.operatorframework.io/{name} patched"
    _assert_runs(stage, name, example.image(pushed, middle), middle)
    deleted = stage.cluster.kubectl("delete", "operators.operators.operatorframework.io", name, "--timeout=90s")
    assert deleted.strip() == f'operator.operators.operatorframework.io "{name}" deleted'
    assert not stage.exists("namespace", example.namespace)
    assert not stage.exists("crd", example.crd)


def test_a_missing_version_as_the_first_one(stage: Stage, example: Example) -> None:
    stage.ready_catalog(example.publish(stage).reference)
    name = stage.operator(example.package, version="999.99.9")
    found = stage.operator_when(name, "Stalled", lambda o: is_true(o, "Stalled"))
    assert triple(found, "Resolved") == (
        "False",
        "ResolutionFailed",
        f"package '{example.package}' at version '999.99.9' not found",
    )
    assert triple(found, "Installed") == NOT_ATTEMPTED
    assert triple(found, "Ready")[0] == "False"
    assert "installedBundleResource" not in found["status"]
    assert not stage.exists("bundledeployment", name)


def test_a_missing_version_keeps_the_installed_one(stage: Stage, example: Example) -> None:
    oldest = example.versions[0]
    pushed = example.publish(stage)
    stage.ready_catalog(pushed.reference)
    name = stage.operator(example.package, version=oldest)
    stage.ready_operator(name, oldest)
    stage.patch_operator(name, {"version": "999.99.9"})
    found = stage.operator_when(name, "not resolved", lambda o: triple(o, "Resolved")[0] == "False")
    assert triple(found, "Resolved")[1:] == (
        "ResolutionFailed",
        f"package '{example.package}' at version '999.99.9' not found",
    )
    assert triple(found, "Installed") == ("True", "Success", f'installed from "{example.image(pushed, oldest)}"')
    assert found["status"]["installedBundleResource"] == example.image(pushed, oldest)
    assert triple(found, "Ready")[0] == "False"
    stage.patch_operator(name, {"version": oldest})
    stage.ready_operator(name, oldest)


def test_a_moved_tag_updates_operators_unless_pinned(stage: Stage, example: Example) -> None:
    oldest, middle, newest = example.versions
    stage.ready_catalog(example.publish(stage, without=[newest]).reference)
    name = stage.operator(example.package, version=oldest, channel=example.follow)
    stage.ready_operator(name, oldest)
    second = example.publish(stage)
    stage.catalog_when(
        stage.name, "serves the new content", lambda o: second.digest in str(o["status"]["resolvedSource"])
    )
    assert installed_version(stage.ready_operator(name, oldest)) == oldest
    stage.patch_operator(name, {"version": f">={oldest} <{newest}"})
    stage.ready_operator(name, middle)
    stage.patch_operator(name, {"version": None})
    found = stage.ready_operator(name, newest)
    assert triple(found, "Installed")[2] == f'installed from "{example.image(second, newest)}"'


def test_an_operator_is_updated_when_the_tag_moves(stage: Stage, example: Example) -> None:
    _, middle, newest = example.versions
    stage.ready_catalog(example.publish(stage, without=[newest]).reference)
    name = stage.operator(example.package, channel=example.follow)
    stage.ready_operator(name, middle)
    second = example.publish(stage)
    found = stage.ready_operator(name, newest)
    assert found["status"]["installedBundleResource"] == example.image(second, newest)
    assert found["status"]["resolvedBundleResource"] == example.image(second, newest)


def test_deleting_a_catalog_deletes_its_packages_and_keeps_installed_operators(stage: Stage, example: Example) -> None:
    newest = example.versions[2]
    pushed = example.publish(stage)
    catalog = stage.ready_catalog(pushed.reference)
    name = stage.operator(example.package, version=newest)
    stage.ready_operator(name, newest)
    stage.delete("Catalog", catalog)
    stage.until(
        PACKAGES,
        "its Packages are gone",
        lambda objects: all(o["spec"]["catalog"]["name"] != catalog for o in objects.values()),
    )
    found = stage.operator_when(name, "heard of it", lambda o: triple(o, "Installed")[0] == "True")
    assert triple(found, "Installed") == ("True", "Success", f'installed from "{example.image(pushed, newest)}"')
    assert stage.exists("namespace", example.namespace)
    assert stage.exists("crd", example.crd)


def test_objects_may_be_created_in_any_order(stage: Stage, example: Example) -> None:
    newest = example.versions[2]
    pushed = example.publish(stage)
    name = stage.operator(example.package, version=newest)
    waiting = stage.operator_when(name, "waits for a catalog", lambda o: is_true(o, "Reconciling"))
    assert not is_true(waiting, "Stalled")
    stage.catalog(pushed.reference)
    stage.ready_operator(name, newest)


def _assert_runs(stage: Stage, name: str, image: str, version: str) -> None:
    """Assert the two conditions and two fields of the guide."""
    found = stage.ready_operator(name, version)
    assert triple(found, "Resolved") == ("True", "Success", f'resolved to "{image}"')
    assert triple(found, "Installed") == ("True", "Success", f'installed from "{image}"')
    assert found["status"]["installedBundleResource"] == image
    assert found["status"]["resolvedBundleResource"] == image
    generation = found["metadata"]["generation"]
    assert {c["observedGeneration"] for c in found["status"]["conditions"]} == {generation}
    assert found["status"]["observedGeneration"] == generation


def _edges(entries: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Channel entries without empty fields, by name."""
    return sorted(({k: v for k, v in entry.items() if v} for entry in entries), key=lambda entry: str(entry["name"]))


def test_a_bundle_is_immutable(stage: Stage, example: Example) -> None:
    """7.2.3.3.1, with an image in the place of the guide's git repository."""
    if not stage.cluster.is_managed:
        pytest.skip("the API server of a cluster elsewhere cannot ask rukpak on this machine")
    pushed = example.publish(stage)
    first, second = (example.image(pushed, version) for version in example.versions[:2])
    body: dict[str, Any] = {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": stage.name},
        "spec": {
            "source": {"type": "image", "image": {"ref": first}},
            "provisionerClassName": "core-rukpak-io-registry",
        },
    }
    name = body["metadata"]["name"]
    kubectl = stage.cluster.kubectl
    assert kubectl("apply", "-f", "-", input=json.dumps(body)) == f"bundle.core.rukpak.io/{name} created\n"
    try:
        patch = json.dumps({"spec": {"source": {"image": {"ref": second}}}})
        with pytest.raises(DevclusterError) as refused:
            kubectl("patch", "bundle", name, "--type=merge", "-p", patch)
        assert str(refused.value).endswith(
            ": Error from server (bundle.spec is immutable): "
            'admission webhook "vbundles.core.rukpak.io" denied the request: bundle.spec is immutable'
        )
        assert kubectl("apply", "-f", "-", input=json.dumps(body)) == f"bundle.core.rukpak.io/{name} unchanged\n"
    finally:
        kubectl("delete", "bundle", name)
