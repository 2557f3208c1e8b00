"""`olm suite uninstall` where nothing but the suite is installed. tests/release has the longer tests, with Operators."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.processes import REPOSITORY
from olmctl.suite.objects import CRD
from olmkit.api import clustercatalogs, clusterextensions
from olmkit.api.crd import CRD_DEFINITIONS, V1_DEFINITIONS
from olmkit.api.meta import Kind
from olmkit.api.operators import DELETION_PROTECTION_ANNOTATION, KIND
from olmkit.api.package_manifests import API_SERVICE_NAME
from olmkit.runtime.client import Client
from tests.cluster.conftest import read_kind, serve_definitions
from tests.cluster.olmctl.suite.conftest import INSTALL, Olm, is_installed
from tests.cluster.olmctl.suite.test_web_console import assert_removed

OPERATORS = "operators.operators.operatorframework.io"
OWNERS: dict[Kind, dict[str, Any]] = {
    clusterextensions.KIND: {
        "namespace": "n",
        "source": {"sourceType": "Catalog", "catalog": {"packageName": "p"}},
    },
    clustercatalogs.KIND: {"source": {"type": "Image", "image": {"ref": "example.com/a:v1"}}},
}
"""The kinds that own Operators and Catalogs, and a spec of each."""
MOMENTARY = "momentary"
REMOVE = ("suite", "uninstall", "--remove", "--yes")


@pytest.mark.usefixtures("installed")
def test_nothing_is_deleted_before_it_is_chosen_and_confirmed(olm: Olm) -> None:
    with pytest.raises(SystemExit, match="2"):
        olm("suite", "uninstall", "--yes")
    with pytest.raises(SystemExit, match="2"):
        olm("suite", "uninstall", "--yes", "--orphan", "--remove")
    for way in ("--orphan", "--remove"):
        status, out, err = olm("suite", "uninstall", way)
        assert (status, out, err.splitlines()[-1]) == (5, "", "olm-suite is not uninstalled: confirm it with --yes")
        assert olm("suite", "uninstall", way, "--dry-run")[:2] == (0, "\n".join(err.splitlines()[:-1]) + "\n")
    status, _, err = olm(*REMOVE, "--as", "someone")
    assert (status, err.startswith("the user may not get, list, watch, delete customresourcedefinitions.")) == (5, True)
    assert is_installed(olm)


@pytest.mark.usefixtures("installed")
def test_protected_operators_are_named_and_what_owns_operators_is_deleted_before_them(
    olm: Olm, bare_cluster: Cluster
) -> None:
    names = ("guarded", "plain", "watched")
    for name in names:
        bare_cluster.kubectl("create", "-f", "-", input=json.dumps(operator_object(name)))
    for name in ("guarded", "watched"):
        bare_cluster.kubectl("annotate", OPERATORS, name, f"{DELETION_PROTECTION_ANNOTATION}=true")
    bare_cluster.kubectl("annotate", OPERATORS, "plain", f"{DELETION_PROTECTION_ANNOTATION}=false")
    for kind, spec in OWNERS.items():
        head = {"apiVersion": clusterextensions.KIND.api_version, "kind": kind.kind}
        bare_cluster.api.call("POST", kind.path(), {**head, "metadata": {"name": "owner"}, "spec": spec})
    text = "2 Operators protected from deletion, and deleted all the same: guarded, watched."
    assert text in olm("suite", "uninstall", "--remove", "--dry-run")[1].splitlines()
    assert "protected" not in olm("suite", "uninstall", "--orphan", "--dry-run")[1]
    status, _, err = olm("suite", "uninstall", "--remove")
    assert (status, text in err.splitlines()) == (5, True)
    status, out, err = olm(*REMOVE, "--force", "--timeout", "60s")
    assert (status, is_installed(olm)) == (0, False), err
    lines = [f"operator.{OPERATORS.partition('.')[2]}/{name} deleted" for name in names]
    owners = [f"{kind.kind.lower()}.{kind.group}/owner deleted" for kind in OWNERS]
    deleted = [line for line in out.splitlines() if line in (*owners, *lines)]
    assert (deleted[:2], sorted(deleted[2:])) == (owners, lines)


@pytest.mark.usefixtures("installed")
def test_the_suite_is_removed(olm: Olm, bare_cluster: Cluster) -> None:
    assert olm(*INSTALL, "--no-wait", "--with-operator-conditions", "--packagemanifests", "--console")[0] == 0
    status, out, err = olm(*REMOVE)
    assert (status, "namespace/olm-suite-system deleted\n" in out) == (0, True), err
    api = f"apiservice.apiregistration.k8s.io/{API_SERVICE_NAME} deleted"
    assert api in out.splitlines()[:2], "while it cannot be reached, no namespace is deleted"
    assert_removed(olm, bare_cluster, out)
    shown = bare_cluster.kubectl("get", "namespaces,crds,clusterroles", "-o", "name")
    assert "olm-suite" not in shown
    assert "operatorframework.io" not in shown
    assert "operatorconditions" not in shown
    assert "packages.operators" not in bare_cluster.kubectl("get", "apiservices", "-o", "name")
    assert olm(*REMOVE) == (0, "", "olm-suite is not installed: there is nothing to remove\n")
    assert olm("suite", "status")[0] == 3


@pytest.mark.usefixtures("installed")
def test_what_stays_of_olm_v1_has_no_finalizer_of_the_suite(olm: Olm, bare_cluster: Cluster) -> None:
    metadata = {"name": "staying", "finalizers": [clusterextensions.FINALIZER, "example.com/theirs"]}
    kind = {"apiVersion": clusterextensions.KIND.api_version, "kind": clusterextensions.KIND.kind}
    body = {**kind, "metadata": metadata, "spec": OWNERS[clusterextensions.KIND]}
    path = clusterextensions.KIND.path()
    bare_cluster.api.call("POST", path, body)
    try:
        status, out, err = olm("suite", "uninstall", "--orphan", "--yes")
        assert (status, "service/catalogd-service deleted" in out.splitlines()) == (0, True), err
        found = bare_cluster.api.call("GET", f"{path}/staying")
        assert found["metadata"]["finalizers"] == ["example.com/theirs"]
    finally:
        free = {"metadata": {"finalizers": None}}
        bare_cluster.api.call("PATCH", f"{path}/staying", free, MERGE)
        bare_cluster.api.call("DELETE", f"{path}/staying")


@pytest.mark.usefixtures("installed")
def test_each_kind_is_read_before_its_crd_is_deleted(olm: Olm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the API server may complete the deletion only when it looks at all CRDs again, minutes later."""
    sent: list[tuple[str, str, bool]] = []
    request = Client.request

    async def recorded(client: Client, method: str, path: str, **options: Any) -> dict[str, Any]:
        sent.append((method, path, bool((options.get("query") or {}).get("labelSelector"))))
        return await request(client, method, path, **options)

    monkeypatch.setattr(Client, "request", recorded)
    status, _, err = olm(*REMOVE)
    assert status == 0, err
    for kind in (each.kind for each in CRD_DEFINITIONS + V1_DEFINITIONS):
        read = sent.index(("GET", kind.path(), True))
        assert read < sent.index(("DELETE", CRD.path(name=f"{kind.plural}.{kind.group}"), False)), kind


@pytest.fixture
def team(bare_cluster: Cluster) -> Iterator[str]:
    """A namespace of a team, with a ConfigMap."""
    name = "team-a"
    bare_cluster.kubectl("create", "namespace", name)
    bare_cluster.kubectl("create", "configmap", "of-the-team", "-n", name)
    try:
        yield name
    finally:
        bare_cluster.kubectl("delete", "namespace", name, "--ignore-not-found")


@pytest.mark.parametrize("way", ["--orphan", "--remove"])
@pytest.mark.usefixtures("installed")
def test_a_suite_in_another_namespace_is_named_and_nothing_is_deleted(
    way: str, olm: Olm, bare_cluster: Cluster, team: str
) -> None:
    status, out, err = olm("suite", "uninstall", way, "--yes", "--force", "--system-namespace", team)
    assert (status, out) == (5, "")
    assert "olm-suite is installed in the namespace olm-suite-system" in err
    bare_cluster.kubectl("get", "configmap", "of-the-team", "-n", team)
    assert is_installed(olm)


def test_a_namespace_of_others_is_neither_taken_nor_deleted(olm: Olm, bare_cluster: Cluster, team: str) -> None:
    olm(*REMOVE)
    for name in (team, "default", "kube-system"):
        status, out, err = olm(*INSTALL, "--no-wait", "--system-namespace", name)
        assert (status, out, f"namespace/{name} exists and is not olm-suite's" in err) == (5, "", True), err
    assert olm(*INSTALL, "--no-wait", "--force", "--system-namespace", "default")[0] == 5
    assert olm("suite", "status", "--system-namespace", team)[0] == 3

    assert olm(*INSTALL, "--no-wait")[0] == 0
    bare_cluster.kubectl("label", "namespace", "olm-suite-system", "app.kubernetes.io/part-of-")
    status, _, err = olm(*REMOVE)
    assert (status, "namespace/olm-suite-system stays: it is not olm-suite's" in err) == (0, True), err
    bare_cluster.kubectl("get", "namespace", "olm-suite-system")
    bare_cluster.kubectl("delete", "namespace", "olm-suite-system")


def test_crds_of_another_program_stay_with_their_objects(olm: Olm, bare_cluster: Cluster) -> None:
    olm(*REMOVE)
    serve_definitions(bare_cluster)
    catalog = catalog_object("theirs", "quay.io/theirs/catalog:latest", "1h")
    bare_cluster.kubectl("apply", "-f", "-", input=json.dumps(catalog))
    bare_cluster.kubectl("label", "crds", "--all", "app.kubernetes.io/part-of-")
    try:
        status, out, err = olm(*REMOVE)
        assert (status, out) == (0, "")
        assert "olm-suite is not installed" in err
        bare_cluster.kubectl("get", "catalogs", "theirs")
    finally:
        for each in CRD_DEFINITIONS + V1_DEFINITIONS:
            read_kind(bare_cluster, each.kind.path())
        for flag, name in (("-k", "crd"), ("-f", "v1/crds.yaml")):
            bare_cluster.kubectl("delete", flag, str(REPOSITORY / "config" / name), "--ignore-not-found")


@contextmanager
def webhook_of_a_moment(cluster: Cluster, failures: int) -> Iterator[list[int]]:
    """Answer the first questions of a webhook about the deletion of Operators with a cut connection, then delete its
    configuration. Yields the number of each question."""
    questions: list[int] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(60)

    def answer() -> None:
        while len(questions) < failures:
            server.accept()[0].close()
            questions.append(len(questions) + 1)
        cluster.kubectl("delete", "validatingwebhookconfiguration", MOMENTARY)
        server.close()

    webhook = {
        "name": f"{MOMENTARY}.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{server.getsockname()[1]}/"},
        "rules": [
            {"apiGroups": [KIND.group], "apiVersions": ["*"], "operations": ["DELETE"], "resources": [KIND.plural]}
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    meta = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    obj = {**meta, "metadata": {"name": MOMENTARY}, "webhooks": [webhook]}
    cluster.kubectl("create", "-f", "-", input=json.dumps(obj))
    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield questions
    finally:
        thread.join()


@pytest.mark.usefixtures("installed")
def test_a_webhook_that_fails_for_a_moment_does_not_end_it(olm: Olm, bare_cluster: Cluster) -> None:
    bare_cluster.kubectl("create", "-f", "-", input=json.dumps(operator_object("asked")))
    with webhook_of_a_moment(bare_cluster, 2) as questions:
        status, _, err = olm(*REMOVE, "--force", "--timeout", "60s")
    assert (status, questions, is_installed(olm)) == (0, [1, 2], False), err
