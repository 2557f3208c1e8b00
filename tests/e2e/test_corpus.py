"""All packages of the corpus as Operators at the same time: most are Ready, and each other one has a reason that is shown."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.demo import full_catalog
from devcluster.demo.printer import Printer
from devcluster.images import Catalog, Content, Registry
from devcluster.processes import REPOSITORY
from devcluster.suite import Suite
from olmkit.gocompat.versions import BlangRange, parse_version

READY_AT_LEAST = 145
"""Of the packages whose newest bundle names no dependency."""
DEPENDENCIES = {"olm.package.required", "olm.gvk.required", "olm.constraint"}

Blob = dict[str, Any]
Check = Callable[["Refused"], bool]


class Refused:
    """An Operator that is not Ready: its message, the bundle that it names, and the messages of the others by name."""

    def __init__(self, content: Content, cluster: Cluster, package: str, reasons: Mapping[str, str]) -> None:
        """Reads the package's part of the catalog."""
        self._content = content
        self._blobs = self._bundles(package)
        self.cluster = cluster
        self.reasons = reasons
        self.why = reasons[full_catalog.operator_name(package)]

    def _bundles(self, package: str) -> dict[str, Blob]:
        return {blob["name"]: blob for blob in self._content.blobs(package) if blob["schema"] == "olm.bundle"}

    def blob(self) -> Blob:
        """The bundle in the catalog that the message names."""
        found = re.search(r'bundle "([^"]+)"', self.why)
        assert found, f"no bundle is named: {self.why}"
        blob: Blob = self._blobs[found[1]]
        return blob

    def properties(self, kind: str) -> list[dict[str, Any]]:
        """The values of the properties of a type, of all bundles of the package whose requirement the message names."""
        subject = re.search(r"because (\S+) (?:latest|v\S+) requires", self.why)
        assert subject, f"the message does not name what requires it: {self.why}"
        bundles = self._bundles(subject[1]).values()
        return [item["value"] for blob in bundles for item in blob["properties"] if item["type"] == kind]

    def catalog_has(self, kind: str, matches: Callable[[dict[str, Any]], bool]) -> bool:
        """Whether some bundle of the catalog has a property of this type with such a value."""
        packages = self._content.packages()
        found = (blob["properties"] for package in packages for blob in self._bundles(package).values())
        return any(item["type"] == kind and matches(item["value"]) for items in found for item in items)

    def bundles(self) -> list[Blob]:
        """The bundles of the package in the catalog of the corpus."""
        return list(self._blobs.values())

    def has_no_directory(self, blob: Blob) -> bool:
        """Whether the corpus lacks the files of that bundle."""
        return self._content.bundle_directory(blob) is None

    def manifests(self) -> list[str]:
        """The manifests of all bundles of the package that the corpus has."""
        directories = [self._content.bundle_directory(blob) for blob in self.bundles()]
        return [
            path.read_text() for directory in directories if directory for path in (directory / "manifests").iterdir()
        ]

    def service_version(self) -> dict[str, Any]:
        """That bundle's ClusterServiceVersion."""
        directory = self._content.bundle_directory(self.blob())
        assert directory is not None
        for path in sorted((directory / "manifests").iterdir()):
            body = yaml.load(path.read_bytes(), yaml.CBaseLoader)
            if body["kind"] == "ClusterServiceVersion":
                return dict(body)
        raise AssertionError(f"{directory} holds no ClusterServiceVersion")


def _waits_for_what_is_not_installed(refused: Refused) -> bool:
    """The Operator of each dependency exists, is not installed either, and has the message that is quoted of it."""
    quoted = re.findall(r"(?:: |, )(\S+) [0-9]\S* \((.*?)(?:\.\.\.|…)?\)(?=, \S+ [0-9]\S* \(|$)", refused.why)
    return bool(quoted) and all(refused.reasons[package].startswith(state) for package, state in quoted)


def _requires_what_is_not_there(refused: Refused) -> bool:
    """Some bundle of the package requires the kind or the package that the message names, and no bundle of the catalog is it."""
    kind = re.search(r"requires a provider of (\S*?)/(\S+) (\w+)(, which no catalog offers)?", refused.why)
    package = re.search(r"requires (\S+) (?:v(\S+?)|\"([^\"]+)\")(?=[,; ]|$)", refused.why)
    if kind is not None:
        asked: Any = {"group": kind[1], "version": kind[2], "kind": kind[3]}
        is_required = any({**value, **asked} == value for value in refused.properties("olm.gvk.required"))
        return is_required and not (
            kind[4] and refused.catalog_has("olm.gvk", lambda value: {**value, **asked} == value)
        )
    assert package, refused.why
    constraints = json.dumps(refused.properties("olm.constraint"))
    required = [value["packageName"] for value in refused.properties("olm.package.required")]
    is_required = package[1] in required or f'"packageName": "{package[1]}"' in constraints
    return is_required and not (
        "which no catalog offers" in refused.why and refused.catalog_has("olm.package", _is_version(package))
    )


def _is_version(named: re.Match[str]) -> Callable[[dict[str, Any]], bool]:
    """Whether the value of a property olm.package is the package in the version or range that a message names."""
    versions = BlangRange.parse(named[2] or named[3])
    return lambda value: value["packageName"] == named[1] and versions.matches(parse_version(value["version"]))


def _has_no_image_in_the_registry(refused: Refused) -> bool:
    """The corpus has no directory of the bundle whose image is named: it was not pushed."""
    image = re.search(r'image "([^"]+)" not found', refused.why)
    assert image, refused.why
    (blob,) = [blob for blob in refused.bundles() if blob["image"] == image[1]]
    return refused.has_no_directory(blob)


def _needs_a_newer_cluster(refused: Refused) -> bool:
    needed = str(refused.service_version()["spec"]["minKubeVersion"]).removeprefix("v")
    version = refused.cluster.server_version().removeprefix("v")
    return needed in refused.why and version in refused.why


def _is_taken(refused: Refused) -> bool:
    found = re.search(r"(\S+) (?:(\S+)/)?(\S+) already exists and belongs to BundleDeployment (\S+)", refused.why)
    assert found, refused.why
    kind, namespace, name, owner = found.groups()
    uid = refused.cluster.kubectl("get", "bundledeployment", owner, "-o", "jsonpath={.metadata.uid}")
    where = ("-n", namespace) if namespace else ()
    path = "jsonpath={.metadata.labels.core\\.rukpak\\.io/owner-uid}"
    return refused.cluster.kubectl("get", kind, name, *where, "-o", path) == uid


def _is_refused_by_its_own_definition(refused: Refused) -> bool:
    """The object, the CustomResourceDefinition of its kind, and the fields that this one requires are all in the bundle."""
    named = re.search(r' (\w+)\.(\S+) "([^"]+)" is invalid: (.*?)(?:;|$)', refused.why)
    assert named, refused.why
    kind, group, name, faults = named.groups()
    bodies = [body for text in refused.manifests() for body in yaml.load_all(text, yaml.CBaseLoader)]
    names = [body["spec"].get("names", {}).get("kind") for body in bodies if body.get("spec", {}).get("group") == group]
    examples = [
        body["spec"].keys()
        for body in bodies
        if (body["kind"], body["apiVersion"].partition("/")[0], body["metadata"]["name"]) == (kind, group, name)
    ]
    missing = set(re.findall(r"spec\.(\w+): Required value", faults))
    return kind in names and bool(missing) and bool(examples) and not any(missing & fields for fields in examples)


def _is_written_for_older_clusters(refused: Refused) -> bool:
    definition = re.search(r"serves CustomResourceDefinitions as v1 only: (\S+) \(v1beta1\)", refused.why)
    assert definition, refused.why
    return any(definition[1] in text and "apiextensions.k8s.io/v1beta1" in text for text in refused.manifests())


def _needs_a_priority_class(refused: Refused) -> bool:
    """A Deployment of the bundle names a PriorityClass, which is neither in the bundle nor in the cluster."""
    named = re.search(r"no pod of Deployment \S+ is ready: .* no PriorityClass with name (\S+) was found", refused.why)
    assert named, refused.why
    there = refused.cluster.kubectl("get", "priorityclasses", "-o", "jsonpath={.items[*].metadata.name}").split()
    manifests = refused.manifests()
    is_named = any(f"priorityClassName: {named[1]}" in text for text in manifests)
    return is_named and named[1] not in there and not any("kind: PriorityClass" in text for text in manifests)


def _has_no_load_balancer(refused: Refused) -> bool:
    """The Service is of the type LoadBalancer, and nothing in the cluster gives it an address."""
    named = re.search(r"Service (\S+)/(\S+): its load balancer has no address", refused.why)
    assert named, refused.why
    service = json.loads(refused.cluster.kubectl("get", "service", named[2], "--namespace", named[1], "-o", "json"))
    return service["spec"]["type"] == "LoadBalancer" and not service["status"]["loadBalancer"]


REASONS: dict[str, tuple[str, Check]] = {
    "waits for a dependency that is not installed": (r"^waiting for dependencies: ", _waits_for_what_is_not_installed),
    "requires what no bundle of the catalog is": (r"Unable to resolve because ", _requires_what_is_not_there),
    "requires a newer Kubernetes": (r"(needs|requires) Kubernetes ", _needs_a_newer_cluster),
    "brings an object that another package brings too": (r"already exists and belongs to", _is_taken),
    "brings an object that its own definition refuses": (r"is invalid: ", _is_refused_by_its_own_definition),
    "brings definitions that Kubernetes does not read since 1.22": (
        r"cannot run on Kubernetes 1.22 or newer",
        _is_written_for_older_clusters,
    ),
    "has no bundle image in the corpus": (r"not found: registry ", _has_no_image_in_the_registry),
    "names a PriorityClass that nobody brings": (r"no PriorityClass with name", _needs_a_priority_class),
    "is installed, and waits for the address of a load balancer": (r"has no address yet", _has_no_load_balancer),
}
"""The reason why a package may not be Ready: part of the message, and whether it is true."""

EXPECTED = {
    "ack-iam-controller": "brings an object that its own definition refuses",
    "awss3-operator-registry": "waits for a dependency that is not installed",
    "community-kubevirt-hyperconverged": "names a PriorityClass that nobody brings",
    "dbaas-operator": "requires what no bundle of the catalog is",
    "file-integrity-console-plugin": "requires a newer Kubernetes",
    "global-load-balancer-operator": "has no bundle image in the corpus",
    "l5-operator": "requires what no bundle of the catalog is",
    "lib-bucket-provisioner": "brings definitions that Kubernetes does not read since 1.22",
    "mercury-operator": "requires what no bundle of the catalog is",
    "nexus-operator": "brings an object that another package brings too",
    "nexus-operator-m88i": "brings an object that another package brings too",
    "rabbitmq-messaging-topology-operator": "has no bundle image in the corpus",
    "special-resource-operator": "requires what no bundle of the catalog is",
    "tagger": "is installed, and waits for the address of a load balancer",
}
"""The packages that may not be Ready. docs/side-by-side.md says the same to people. Of the two nexus-operator, which own the same
ClusterRole, one is Ready."""


def test_the_page_explains_each_package_that_may_not_be_ready() -> None:
    page = (REPOSITORY / "docs" / "side-by-side.md").read_text()
    assert [package for package in EXPECTED if f"`{package}`" not in page] == []


@pytest.mark.scale
@pytest.mark.corpus
@pytest.mark.timeout(2400)
def test_all_packages_are_ready_side_by_side_or_truly_explained(cluster: Cluster, suite: Suite, corpus: Path) -> None:
    content = Content(corpus / "catalog", corpus / "bundles")
    before = _names(cluster)
    pushed = Catalog(Registry(cluster.registry), "catalogs/whole:latest", cluster.registry).push(content)
    printer = Printer()
    full_catalog.serve(cluster, printer, pushed.reference)
    try:
        outcome = full_catalog.install_all(cluster, printer, content.packages())
        packages = {full_catalog.operator_name(package): package for package in content.packages()}
        reasons = outcome.reasons("Ready")
        print(json.dumps(reasons, indent=1))
        found = {name: _reason(Refused(content, cluster, packages[name], reasons)) for name in reasons}
        independent = {name for name, package in packages.items() if not _has_dependencies(content, package)}
        ready = independent - reasons.keys()
        counts = {"installed": len(outcome.having("Installed")), "Ready": len(outcome.having("Ready"))}
        print(json.dumps(counts | {"without dependencies": len(independent), "of them Ready": len(ready)}, indent=1))
        assert {name: why for name, why in found.items() if EXPECTED.get(name) != why} == {}
        assert len(reasons.keys() & {"nexus-operator", "nexus-operator-m88i"}) == 1
        assert len(ready) >= READY_AT_LEAST
    finally:
        cluster.kubectl("delete", "operators.operators.operatorframework.io", "--all", "--timeout=900s")
        cluster.kubectl("delete", "catalogs.catalogd.operatorframework.io", full_catalog.CATALOG_NAME)
    assert _names(cluster) == before


def _reason(refused: Refused) -> str:
    for reason, (words, is_true) in REASONS.items():
        if re.search(words, refused.why):
            assert is_true(refused), f"not true: {refused.why}"
            return reason
    raise AssertionError(f"unknown reason: {refused.why!r}")


def _has_dependencies(content: Content, package: str) -> bool:
    """Whether the newest bundle of the package's default channel requires others."""
    blobs = content.blobs(package)
    (channel,) = [blob["defaultChannel"] for blob in blobs if blob["schema"] == "olm.package"]
    (entries,) = [blob["entries"] for blob in blobs if (blob["schema"], blob["name"]) == ("olm.channel", channel)]
    old = {name for each in entries for name in (each.get("replaces"), *each.get("skips", ()))}
    (head,) = [each["name"] for each in entries if each["name"] not in old]
    (bundle,) = [blob for blob in blobs if (blob["schema"], blob["name"]) == ("olm.bundle", head)]
    return any(item["type"] in DEPENDENCIES for item in bundle["properties"])


def _names(cluster: Cluster) -> set[str]:
    """Objects that operators may leave behind."""
    kinds = "namespaces,crds,bundledeployments,clusterroles,clusterrolebindings"
    return set(cluster.kubectl("get", kinds, "-o", "name").split())
