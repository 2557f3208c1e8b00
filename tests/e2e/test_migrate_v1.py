"""`olm migrate v1` on a cluster with a package of OLM v1: it is taken over, given back, and interrupted after each write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from olmctl.commands import NOT_FOUND, REFUSED
from olmctl.main import main
from olmctl.migration.v1.command import migrate_v1
from olmctl.migration.v1.objects import MARK
from olmctl.migration.v1.serving import stop_serving
from olmctl.operators.retrying_client import RetryingClient
from olmctl.questions.session import Session
from olmkit.api import clustercatalogs, clusterextensions
from tests.e2e.killed_commands import killed_again_and_again
from tests.e2e.packages import catalog_file, definition, labels, package_blobs, push_bundle, service_version
from tests.e2e.stage import Stage
from tests.leaders import leader_of_olm_v1
from tests.olm_v1 import NAMESPACE, OlmV1, catalog, install

pytestmark = pytest.mark.timeout(600)

Object = dict[str, Any]


def files_of(name: str, version: str) -> dict[str, bytes]:
    manifests = {"csv": service_version(name, version), "crd": definition(name)}
    files = {f"manifests/{part}.yaml": json.dumps(body).encode() for part, body in manifests.items()}
    return {**files, "metadata/annotations.yaml": json.dumps({"annotations": labels(name)}).encode()}


class Site:
    """A package of OLM v1 on the cluster, and the command."""

    def __init__(self, stage: Stage, olm: OlmV1, name: str) -> None:
        self.stage, self.olm, self.name, self.namespace = stage, olm, name, f"{name}-ns"
        self.images: dict[str, str] = {}
        self.publish("1.0.0")
        reference = stage.repository().reference
        body = catalog(name, reference)
        body["spec"]["source"]["image"]["pollIntervalMinutes"] = 1
        olm.create(clustercatalogs.KIND, body)
        self.extension = install(olm, service_version(name), definition(name), self.namespace)
        stage.cluster.kubectl("-n", self.namespace, "rollout", "status", f"deployment/{name}", "--timeout=60s")

    def publish(self, version: str) -> None:
        self.images[version] = push_bundle(self.stage, self.name, files_of(self.name, version), version)
        self.stage.repository().push_files(catalog_file(package_blobs(self.name, self.images)))

    def run(self, *arguments: str) -> int:
        return main(["migrate", "v1", *arguments, "--kubeconfig", str(self.stage.cluster.kubeconfig)])

    def get(self, *what: str) -> Any:
        return json.loads(self.stage.cluster.kubectl("get", *what, "-o", "json", "-n", self.namespace))

    def pods(self) -> dict[str, str]:
        return {each["metadata"]["uid"]: each["metadata"]["name"] for each in self.get("pods")["items"]}

    def state(self) -> dict[str, Object]:
        """Everything that OLM v1 has installed, without what each write changes."""
        found: dict[str, Object] = {}
        kinds = "serviceaccounts,deployments,clusterroles,clusterrolebindings,customresourcedefinitions"
        for each in self.get(kinds, "-l", f"olm.operatorframework.io/owner-name={self.name}")["items"]:
            dropped = ("managedFields", "resourceVersion", "generation")
            metadata = {key: value for key, value in each["metadata"].items() if key not in dropped}
            found[f"{each['kind']} {metadata['name']}"] = {"metadata": metadata, "spec": each.get("spec")}
        return found


@pytest.fixture
def olm(cluster: Cluster, suite: Suite) -> Iterator[OlmV1]:
    """OLM v1 on the cluster, whose kinds the suite does not serve."""
    if not cluster.is_managed:
        pytest.skip("the cluster of the user may have an OLM v1 of its own")

    async def stop() -> None:
        async with RetryingClient(str(cluster.kubeconfig)) as client:
            await stop_serving(Session(client, "olm-suite-system"))

    asyncio.run(stop())
    mine = OlmV1(cluster)
    try:
        mine.install()
        yield mine
    finally:
        mine.close()
        suite.install()
        cluster.kubectl("wait", "--for=delete", f"namespace/{NAMESPACE}", "--timeout=60s")


def replicas_of_controllers(stage: Stage) -> list[int]:
    listed = json.loads(stage.cluster.kubectl("get", "deployments", "-n", NAMESPACE, "-o", "json"))["items"]
    return [each["spec"]["replicas"] for each in listed]


def check_same(site: Site, before: dict[str, Object]) -> None:
    after = site.state()
    assert {name: (each, after.get(name)) for name, each in before.items() if after.get(name) != each} == {}


def check_nothing_is_left(site: Site) -> None:
    """Nothing of OLM v1 but its kinds, and no mark of the migration."""
    assert MARK not in json.dumps([*site.state().values(), site.stage.get("Operator", site.name)])
    shown = site.stage.cluster.kubectl("get", "deployments,secrets", "-n", NAMESPACE, "-o", "name")
    assert [each for each in shown.split() if "sh.helm" in each or "controller-manager" in each] == []


@pytest.mark.crash
def test_what_is_installed_is_given_back_and_taken_over_without_restarting_a_pod(
    stage: Stage, olm: OlmV1, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "v1-lamp")
    before, pods = site.state(), site.pods()
    assert site.run() == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [site.name, site.name, site.name, "1.0.0", site.namespace, str(len(before)), "yes"] in rows
    assert site.run("--all", "--yes") == 5
    assert "--stop-controllers stops them" in capsys.readouterr().err
    assert site.run("--all", "--yes", "--stop-controllers", "--hold") == 0, capsys.readouterr()
    assert f"Deployment {site.namespace}/{site.name}: its pods have not been restarted" in capsys.readouterr().out
    assert (site.pods(), replicas_of_controllers(stage)) == (pods, [0, 0])
    assert site.run("--undo") == 0, capsys.readouterr()
    check_same(site, before)
    assert (site.pods(), replicas_of_controllers(stage)) == (pods, [1, 1])
    assert not stage.exists("Operator", site.name)
    assert not stage.exists("Catalog", site.name)

    assert site.run("--all", "--yes", "--stop-controllers") == 0, capsys.readouterr()
    assert site.pods() == pods
    check_nothing_is_left(site)
    (found,) = site.get("clusterextensions")["items"]
    assert found["metadata"]["finalizers"] == [clusterextensions.FINALIZER]
    site.publish("1.1.0")
    stage.ready_operator(site.name, "1.1.0", 90)
    stage.cluster.kubectl("delete", "clusterextension", site.name, "--timeout=60s")
    assert site.state() == {}


def killed(site: Site, on_kill: Callable[[], None] = lambda: None, **options: Any) -> int:
    """Run the command until it ends by itself; returns how often it was killed, each time after one write."""
    usual = {"is_all": True, "dry_run": False, "stops": True, "is_held": False, "is_undo": False}
    more = {"is_confirmed": True, "seconds": 90.0}

    async def command(session: Session) -> None:
        await migrate_v1.__wrapped__(session, **{**usual, **more, **options})  # type: ignore[attr-defined]

    last = NOT_FOUND if "is_undo" in options else 0
    return killed_again_and_again(site.stage.cluster.kubeconfig, command, set(), on_kill, last)


@pytest.mark.crash
def test_a_migration_that_is_killed_after_each_write_is_undone_and_completed(stage: Stage, olm: OlmV1) -> None:
    site = Site(stage, olm, "v1-killed")
    before, pods = site.state(), site.pods()
    assert killed(site, is_held=True) > 8
    assert site.pods() == pods
    assert killed(site, is_all=False, is_undo=True) > 8
    check_same(site, before)
    assert (site.pods(), replicas_of_controllers(stage)) == (pods, [1, 1])
    assert killed(site) > 15
    assert site.pods() == pods
    stage.ready_operator(site.name, "1.0.0")
    check_nothing_is_left(site)


@pytest.mark.crash
def test_a_version_that_no_catalog_offers_leaves_everything_to_olm_v1(
    stage: Stage, olm: OlmV1, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "v1-lost")
    before = site.state()
    site.images = {}
    site.publish("2.0.0")
    assert site.run("--all", "--yes", "--stop-controllers") == 1
    assert "version 1.0.0 is installed, and no Catalog offers it" in capsys.readouterr().err
    check_same(site, before)
    assert replicas_of_controllers(stage) == [1, 1]
    assert not stage.exists("Catalog", site.name)


@pytest.mark.crash
def test_nothing_is_taken_while_a_controller_of_olm_v1_renews_its_lease(
    stage: Stage, olm: OlmV1, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(stage, olm, "v1-led")
    before = site.state()
    with leader_of_olm_v1(stage.cluster):
        assert site.run("--all", "--yes", "--stop-controllers") == REFUSED
    renewed = "Lease default/catalogd-operator-lock is renewed by catalogd-7c9"
    assert f"a controller of OLM v1 acts: {renewed}; stop it first\n" in capsys.readouterr().err
    check_same(site, before)
    assert replicas_of_controllers(stage) == [1, 1]
    assert not stage.exists("Operator", site.name)
