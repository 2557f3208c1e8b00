"""A backup made as docs/operations.md says brings everything back on a cluster that is empty but for the suite."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.images import Catalog, Registry, labels_of
from devcluster.suite import Suite
from devcluster.watch import Object
from tests.e2e.packages import catalog_file, package_blobs, registry_bundle
from tests.e2e.reader import Reader
from tests.forked_programs import ForkedOlm
from tests.pages import PAGES, Step, name_of, steps

PACKAGE, DEPENDENCY = "restored", "restored-library"
EXTENSION, NAMESPACE = "restored-extension", "restored-ns"
V1 = "olm.operatorframework.io/v1"
REQUIREMENT = {"type": "olm.package.required", "value": {"packageName": DEPENDENCY, "versionRange": ">=1.0.0"}}
HOST = "registry.example.com"
OPERATORS = "operators.operators.operatorframework.io"
BACKUPS = ("olm-suite-backup.json", "olm-suite-backup-pinned.json")


def publish(cluster: Cluster, *versions: str) -> None:
    """Push a catalog with these versions of a package, and of one that it requires, and one for a ClusterExtension, to the
    cluster's registry."""
    registry = Registry(cluster.registry)
    packages = []
    for package, properties in ((PACKAGE, [REQUIREMENT]), (DEPENDENCY, []), (EXTENSION, [])):
        images = {}
        for version in versions:
            files = registry_bundle(package, version)
            digest = registry.push(package, f"v{version}", files, labels_of(files["metadata/annotations.yaml"]))
            images[version] = f"{HOST}/{package}@{digest}"
        packages.append(package_blobs(package, images, properties))
    Catalog(registry, "catalog:latest", HOST).push_files(catalog_file(*packages[:2]))
    Catalog(registry, "extensions:latest", HOST).push_files(catalog_file(packages[2]))


def objects_of_v1() -> list[Object]:
    """A ClusterCatalog, and a ClusterExtension of its package."""
    image = {"type": "Image", "image": {"ref": f"{HOST}/extensions:latest"}}
    source = {"sourceType": "Catalog", "catalog": {"packageName": EXTENSION}}
    specs = {"ClusterCatalog": {"source": image}, "ClusterExtension": {"namespace": NAMESPACE, "source": source}}
    return [
        {"apiVersion": V1, "kind": kind, "metadata": {"name": EXTENSION}, "spec": spec} for kind, spec in specs.items()
    ]


def get(cluster: Cluster, kind: str, name: str) -> Object:
    found: Object = json.loads(cluster.kubectl("get", kind, name, "-o", "json"))
    return found


def apply(cluster: Cluster, *objects: Object) -> None:
    """Apply objects and wait until all are Ready."""
    given = "\n".join(map(json.dumps, objects))
    cluster.kubectl("apply", "-f", "-", input=given)
    cluster.kubectl("wait", "--for=condition=Ready", "--timeout=90s", "-f", "-", input=given)


def install_extension(cluster: Cluster) -> None:
    """Install a ClusterExtension, whose Operator a person changes afterwards."""
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl("apply", "-f", "-", input="\n".join(map(json.dumps, objects_of_v1())))
    cluster.kubectl("wait", "--for=condition=Installed", "--timeout=90s", f"clusterextension/{EXTENSION}")
    approval = json.dumps({"spec": {"approval": "Manual"}})
    cluster.kubectl("patch", OPERATORS, EXTENSION, "--type=merge", "-p", approval)


def remove_extension(cluster: Cluster) -> None:
    """Delete what install_extension() has created, or a part of it."""
    for kind, name in (("clusterextension", EXTENSION), ("clustercatalog", EXTENSION), ("namespace", NAMESPACE)):
        cluster.kubectl("delete", kind, name, "--ignore-not-found")


def check_extension(restored: Cluster) -> None:
    """The ClusterExtension is as it was, and owns what it owned, with the change of the person."""
    extension = get(restored, "clusterextension", EXTENSION)
    assert extension["status"]["install"]["bundle"]["version"] == "1.0.0", "though there is a newer one"
    assert "version" not in extension["spec"]["source"]["catalog"]
    operator = get(restored, OPERATORS, EXTENSION)
    assert operator["spec"]["approval"] == "Manual"
    catalog = get(restored, "catalogs.catalogd.operatorframework.io", EXTENSION)
    owners = extension, get(restored, "clustercatalog", EXTENSION)
    for owned, owner in zip((operator, catalog), owners, strict=True):
        assert [each["uid"] for each in owned["metadata"]["ownerReferences"]] == [owner["metadata"]["uid"]]


def blocks_with(word: str) -> list[Step]:
    """The steps of the page whose commands contain the word."""
    (page,) = [page for page in PAGES if name_of(page) == "docs/operations.md"]
    found = [step for step in steps(page) if word in step.commands.text]
    assert found
    return found


def test_a_backup_is_restored_on_a_new_cluster(
    cluster: Cluster, suite: Suite, forked_olm: ForkedOlm, tmp_path: Path
) -> None:
    if not cluster.is_managed:
        pytest.skip("the images are in the registry of a cluster of devcluster")
    old, new = tmp_path / "old", tmp_path / "new"
    for each in (old, new):
        each.mkdir()
    catalog = catalog_object(PACKAGE, f"{HOST}/catalog:latest", "10m")
    operator = operator_object(PACKAGE, channel="stable")
    publish(cluster, "1.0.0")
    try:
        apply(cluster, catalog, operator)
        apply(cluster, operator_object(PACKAGE, channel="stable", paused=True, approval="Manual"))
        install_extension(cluster)
        Reader(cluster, old, forked_olm).follow(blocks_with("everything.json"))
    finally:
        for one in (operator, catalog):
            cluster.kubectl("delete", one["kind"].lower() + "s." + one["apiVersion"].partition("/")[0], PACKAGE)
        remove_extension(cluster)
    with start(ClusterOptions(f"restore-{os.getpid()}"), print) as empty, Suite(empty) as restored:
        publish(empty, "1.0.0", "1.1.0")
        restored.install()
        restored.start()
        reader = Reader(empty, new, forked_olm)
        empty.kubectl("create", "namespace", NAMESPACE)
        for name in BACKUPS:
            (new / "repository" / name).write_bytes((old / "repository" / name).read_bytes())
        reader.follow(blocks_with("kubectl apply -f"))
        found, dependency = (get(empty, OPERATORS, name) for name in (PACKAGE, DEPENDENCY))
        for one in (found, dependency):
            assert one["status"]["installed"]["version"] == "1.0.0", "that of the backup, though there is a newer one"
        assert {"paused": True, "approval": "Manual"}.items() <= found["spec"].items()
        assert "version" not in found["spec"]
        check_extension(empty)
        empty.kubectl("wait", "--for=condition=Available", "deployment", "--all", "--all-namespaces", "--timeout=60s")
