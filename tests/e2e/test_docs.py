"""Every page of docs/ and config/samples is followed on a real cluster: its commands run and print what it shows.

tests/pages.py says what the info string of a block means; tests/cases/test_docs.py checks blocks without a cluster. The local
registry answers for the registries that the pages name: it has the sample catalog, and a small one in the place of OperatorHub's.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import Cluster, ClusterOptions, start
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Catalog, Content, Registry, labels_of
from devcluster.services import request
from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, CATALOGS, NAMESPACES, OPERATORS, Object
from release.dashboard import queries
from rukpak.admission.probe import CONFIGURATION
from tests.e2e.packages import catalog_file, definition, package_blobs, registry_bundle, service_version
from tests.e2e.reader import Reader
from tests.e2e.stage import CLUSTER_CATALOGS, CLUSTER_EXTENSIONS
from tests.forked_programs import ForkedOlm
from tests.leaders import leaders
from tests.olm_v0 import OlmV0, Package
from tests.olm_v0 import install as install_package
from tests.pages import NO_RUN, PAGES, REPOSITORY, Block, Step, blocks, name_of, steps

pytestmark = pytest.mark.timeout(900)  # a page runs up to fifty commands, one after the other

INSTALL = "docs/install.md"
"""The page that installs and removes the suite: it is followed on a cluster without the suite."""
FROM_OLM_V0 = "docs/from-olm-v0.md"
README = "README.md"
"""It has commands of the quickstart alone, as tests/cases/test_docs.py checks."""
QUICKSTART = "docs/quickstart.md"
"""The page that installs the suite and an Operator on an empty cluster."""
COMMUNITY = catalog_object("community", "quay.io/operatorhubio/catalog:latest", "10m")
SAMPLE_CATALOG = catalog_object("samples", "registry.example.com/catalogs/samples:latest", "10m")
SNAPSCHEDULER = operator_object("snapscheduler", channel="stable")
PRESUMED = {
    "config/samples/README.md": (SAMPLE_CATALOG,),
    "docs/bundle.md": (COMMUNITY, SNAPSCHEDULER),
    "docs/bundledeployment.md": (COMMUNITY,),
    "docs/catalogd-http.md": (SAMPLE_CATALOG,),
    "docs/cli.md": (SAMPLE_CATALOG,),
    "docs/operator.md": (COMMUNITY,),
    "docs/operations.md": (COMMUNITY, SNAPSCHEDULER),
    "docs/package.md": (COMMUNITY,),
    "docs/troubleshooting.md": (COMMUNITY, SNAPSCHEDULER),
    **{
        f"docs/troubleshooting/{name}.md": (COMMUNITY, SNAPSCHEDULER)
        for name in (
            "bundles",
            "catalogs",
            "deletion",
            "drift",
            "not-found",
            "requirements",
            "same-package",
            "unhealthy",
        )
    },
}
"""Objects that have to exist before a page is followed; earlier pages create them."""
LEFT = {
    CLUSTER_EXTENSIONS: ("hello-operator",),
    OPERATORS: ("snapscheduler", "notebook-operator", "party-operator", "hello-operator", "greeter"),
    BUNDLE_DEPLOYMENTS: ("message-board", "greeter"),
    CLUSTER_CATALOGS: ("samples",),
    CATALOGS: ("community", "samples", "acme", "operatorhubio-catalog"),
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": ("reader-of-samples",),
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": ("reader-of-samples",),
    NAMESPACES: ("greetings", "argocd"),
}
"""Objects that pages leave behind, in the order of their deletion: their names by the path of their kind."""
NEEDED = ("bash", "cmp", "curl", "jq")

_METRIC = re.compile(r"\b(?:catalogd|leader|operator)_\w+")
_COMMAND = re.compile(r"\bkubectl ((?:-n \S+ )?)(\w[\w-]*)([^|\n]*)")
_FLAG = re.compile(r"(?<!\S)(--[a-z][a-z-]*)")


def with_blocks(language: str, marker: str = "") -> list[Path]:
    """The pages that have such a block."""
    return [page for page in PAGES if any((b.language, b.marker) == (language, marker) for b in blocks(page))]


FOLLOWED = [page for page in PAGES if any(step for step in steps(page)) and name_of(page) != README]


def publish(cluster: Cluster) -> None:
    """Push the catalogs that the pages name to the registry of the cluster, which answers for all hosts."""
    registry = Registry(cluster.registry)
    Catalog(registry, "catalogs/samples:latest", "registry.example.com").push(
        Content(SAMPLES / "catalog", SAMPLES / "bundles")
    )
    images = {}
    for version in ("3.4.0", "3.5.0"):
        files = registry_bundle("snapscheduler", version)
        labels = labels_of(files["metadata/annotations.yaml"])
        digest = registry.push("operatorhubio/snapscheduler", f"v{version}", files, labels)
        images[version] = f"quay.io/operatorhubio/snapscheduler@{digest}"
    catalog = Catalog(registry, "operatorhubio/catalog:latest", "quay.io")
    catalog.push_files(catalog_file(package_blobs("snapscheduler", images)))


@pytest.fixture(scope="module")
def published(cluster: Cluster, suite: Suite) -> Cluster:
    """The cluster, with the catalogs that the pages name in its registry."""
    if not cluster.is_managed:
        pytest.skip("the pages use names that may exist on the cluster of the user")
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        pytest.fail(f"the commands of the pages need {', '.join(missing)}", pytrace=False)
    publish(cluster)
    return cluster


@pytest.fixture
def reader(published: Cluster, forked_olm: ForkedOlm, tmp_path: Path) -> Iterator[Reader]:
    """On the cluster with the suite; the objects that the page leaves behind are deleted."""
    try:
        yield Reader(published, tmp_path, forked_olm)
    finally:
        for path, names in LEFT.items():
            found = [f"{kind_at(path)}/{name}" for name in names if exists(published, f"{path}/{name}")]
            if found:
                published.kubectl("delete", *found, "--ignore-not-found", "--timeout=90s")


@contextmanager
def prepared(page: Path, cluster: Cluster) -> Iterator[None]:
    """OLM v0 with an operator, for the page that moves it. What the page has installed is removed before its namespace."""
    if name_of(page) != FROM_OLM_V0:
        yield
        return
    olm, name = OlmV0(cluster), "snapscheduler"
    try:
        olm.install()
        address = {"sourceType": "grpc", "address": "10.0.0.7:50051"}
        body = {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "CatalogSource",
            "metadata": {"name": "in-house"},
        }
        olm.create("operators.coreos.com/v1alpha1", "catalogsources", "olm", {**body, "spec": address})
        version, image = service_version(name, "3.4.0"), "quay.io/operatorhubio/catalog:latest"
        source = ("olm", "operatorhubio-catalog")
        install_package(olm, Package(name, version, definition(name), "backups", image, source=source))
        cluster.kubectl("-n", "backups", "rollout", "status", f"deployment/{name}", "--timeout=60s")
        yield
    finally:
        cluster.kubectl("delete", kind_at(OPERATORS), name, "--ignore-not-found", "--timeout=90s")
        olm.close()


@pytest.fixture(scope="module")
def empty(published: Cluster) -> Iterator[Cluster]:
    """A cluster without the suite, with the catalogs that the pages name. The page that removes the suite leaves it so."""
    with start(ClusterOptions(f"docs-{os.getpid()}"), print) as bare:
        publish(bare)
        yield bare


def follow_until_installed(page: Path, cluster: Cluster, directory: Path, olm: ForkedOlm) -> list[Step]:
    """Run the commands of the page until the suite is installed; returns the others, after the one that activates the virtual
    environment, which comes first. While the suite is installed its controllers have leaders, as simulated nodes run nothing."""
    path = list(steps(page))
    installed = 1 + next(number for number, step in enumerate(path) if "olm suite install" in step.commands.text)
    with leaders(cluster, are_awaited=False):
        Reader(cluster, directory, olm).follow(path[:installed])
    return [path[0], *path[installed:]]


def kind_at(path: str) -> str:
    """The kind of a path, as `kubectl` spells it: "namespaces", "clusterroles.rbac.authorization.k8s.io"."""
    _, _, *group, _, plural = path.split("/")
    return ".".join([plural, *group])


def exists(cluster: Cluster, path: str) -> bool:
    """Whether there is an object at this path."""
    status, _ = cluster.api.request("GET", path)
    assert status in (http.client.OK, http.client.NOT_FOUND), status
    return status == http.client.OK


def apply(cluster: Cluster, *objects: Object) -> None:
    """Apply objects and wait until all are Ready."""
    if objects:
        given = "\n".join(map(json.dumps, objects))
        cluster.kubectl("apply", "-f", "-", input=given)
        cluster.kubectl("wait", "--for=condition=Ready", "--timeout=90s", "-f", "-", input=given)


def dangling(cluster: Cluster) -> list[str]:
    """Bindings of a role that does not exist: the API server accepts them, and they grant nothing."""
    roles, bindings = (
        json.loads(cluster.kubectl("get", kind, "--output=json"))["items"]
        for kind in ("clusterroles", "clusterrolebindings")
    )
    known = {role["metadata"]["name"] for role in roles}
    return [each["metadata"]["name"] for each in bindings if each["roleRef"]["name"] not in known]


@pytest.mark.parametrize("page", [page for page in FOLLOWED if name_of(page) not in (INSTALL, QUICKSTART)], ids=name_of)
def test_a_page_can_be_followed(page: Path, published: Cluster, reader: Reader) -> None:
    apply(published, *PRESUMED.get(name_of(page), ()))
    with prepared(page, published):
        reader.follow(list(steps(page)))
    # Objects that are still being installed may have a binding shortly before its role.
    deadline = time.monotonic() + 60
    while found := dangling(published):
        assert time.monotonic() < deadline, found
        time.sleep(0.5)


def test_the_suite_can_be_installed_and_removed_as_documented(
    empty: Cluster, forked_olm: ForkedOlm, tmp_path: Path
) -> None:
    (page,) = [page for page in PAGES if name_of(page) == INSTALL]
    rest = follow_until_installed(page, empty, tmp_path / "first", forked_olm)
    Reader(empty, tmp_path / "second", forked_olm).follow(rest)


def test_the_quickstart_leads_to_an_installed_operator(empty: Cluster, forked_olm: ForkedOlm, tmp_path: Path) -> None:
    """The controllers run as processes, under the accounts that the page has installed."""
    (page,) = [page for page in PAGES if name_of(page) == QUICKSTART]
    path = follow_until_installed(page, empty, tmp_path / "first", forked_olm)
    with Suite(empty) as suite:
        suite.install()
        suite.start()
        began = time.monotonic()
        ready = 1 + next(number for number, step in enumerate(path) if "kubectl wait" in step.commands.text)
        Reader(empty, tmp_path / "second", forked_olm).follow(path[:ready])
        print(f"apply and wait: {time.monotonic() - began:.1f} s")
        # Manifests name a Service, and are not applied over the URL of a process.
        empty.kubectl("delete", "validatingwebhookconfiguration", CONFIGURATION)
        Reader(empty, tmp_path / "third", forked_olm).follow([path[0], *path[ready:]])


@pytest.mark.parametrize("page", with_blocks("yaml"), ids=name_of)
def test_the_objects_of_a_page_are_accepted(page: Path, published: Cluster) -> None:
    for block in blocks(page):
        if block.language == "yaml":
            objects = list(yaml.safe_load_all(block.text))
            printed = published.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=block.text)
            assert printed.count("created (server dry run)") == len(objects), block.place


@pytest.mark.parametrize("page", with_blocks("promql"), ids=name_of)
def test_the_metrics_of_a_page_are_served(page: Path, published: Cluster, suite: Suite) -> None:
    named = {name for block in blocks(page) if block.language == "promql" for name in _METRIC.findall(block.text)}
    assert named
    until_served(suite, named)


@pytest.mark.parametrize(
    "block",
    [
        b
        for page in with_blocks("sh", NO_RUN)
        for b in blocks(page)
        if (b.language, b.marker) == ("sh", NO_RUN) and "kubectl" in b.text
    ],
    ids=lambda block: block.place,
)
def test_kubectl_accepts_the_commands_that_are_not_run(block: Block, published: Cluster) -> None:
    for _, verb, rest in _COMMAND.findall(block.text.replace("\\\n", " ")):
        help_text = published.kubectl(*shlex.split(verb), *_nouns(verb, rest), "--help")
        unknown = [flag for flag in _FLAG.findall(rest) if f"{flag}=" not in help_text]
        assert not unknown, f"{block.place}: kubectl {verb} knows no {', '.join(unknown)}"


def _nouns(verb: str, rest: str) -> list[str]:
    """The words that belong to the command in `kubectl create secret generic NAME`."""
    words = rest.split()
    return words[:2] if verb == "create" and words[:1] == ["secret"] else words[:1] if verb == "create" else []


def test_the_metrics_of_alerts_and_dashboard_are_served(suite: Suite) -> None:
    rules = yaml.safe_load((REPOSITORY / "config/prometheus/rules.yaml").read_text())["spec"]["groups"]
    written = [rule["expr"] for group in rules for rule in group["rules"]] + list(queries())
    named = {
        name for text in written for name in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b(?![\w(:])(?!=)", without_labels(text))
    }
    assert {"operator_condition", "bundle_condition", "catalogd_catalog_serving"} <= named
    families = {re.sub("_(bucket|count)$", "", name) for name in named}
    until_served(suite, families)


def until_served(suite: Suite, names: set[str]) -> None:
    """Wait for metrics of these names. Those of objects are served by leaders, which the processes are soon after their start."""
    deadline = time.monotonic() + 60
    while missing := names - served_metrics(suite):
        assert time.monotonic() < deadline, missing
        time.sleep(0.5)


def served_metrics(suite: Suite) -> set[str]:
    """The names of the metrics that the three controllers serve now."""
    pages = [request(addresses.metrics, "GET", "/metrics")[1] for addresses in suite.addresses.values()]
    return {name for page in pages for name in re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)}


def without_labels(query: str) -> str:
    """A PromQL query without what stands in braces, in brackets and behind `by` and `on`."""
    return re.sub(r"\{[^}]*\}|\[[^]]*\]|\b(?:by|on) \([^)]*\)", "", query)
