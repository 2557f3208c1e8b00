"""The translation of ClusterExtensions on the real API server. The test plays the role of the controller of Operators."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import clusterextensions, operators
from olmkit.api.foreign_leader import UPSTREAM_LEASES
from olmkit.api.meta import Object
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import EVENT
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.lease_holder import LEASE
from olmkit.runtime.manager import Manager, Settings
from operator_controller.setup import make_extension_controller, make_informers
from tests.cluster.informing_client import InformingClient
from tests.cluster.proxy import run_as
from tests.cluster.recording_proxy import Recorded, RecordingProxy
from tests.conditions import triple

WITHIN_SECONDS = 60
OWN = clusterextensions.FINALIZER
ADOPT_FOR = clusterextensions.ADOPT_FOR_ANNOTATION


class Place:
    """The API server, with what the test waits for, and the requests of the controller."""

    def __init__(self, cluster: Cluster, client: InformingClient, between: RecordingProxy) -> None:
        self.cluster = cluster
        self.client = client
        self.name = f"ce-{uuid.uuid4().hex[:6]}"
        self._between = between
        self.extensions, self.operators = (Informer(client, kind) for kind in (clusterextensions.KIND, operators.KIND))
        client.informers = (self.extensions, self.operators)
        self._events = Informer(client, EVENT, field_selector="involvedObject.kind=ClusterExtension")
        self.informers = (*client.informers, self._events)
        self._changed = asyncio.Event()
        for informer in self.informers:
            informer.subscribe(self._heard)

    def _heard(self, _: Change) -> None:
        self._changed.set()

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(WITHIN_SECONDS):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pytest.fail(f"not in time: {what}\n{self.extension()}\n{self.operator()}")

    # --- objects

    def extension(self, name: str = "") -> Object:
        return self.extensions.get(name or self.name) or {}

    def operator(self, name: str = "") -> Object:
        return self.operators.get(name or self.name) or {}

    async def create(self, name: str = "", **spec: Any) -> Object:
        """Create a ClusterExtension for a package of its name."""
        body = {
            "apiVersion": clusterextensions.KIND.api_version,
            "kind": clusterextensions.KIND.kind,
            "metadata": {"name": name or self.name},
            "spec": {
                "namespace": "default",
                "source": {"sourceType": "Catalog", "catalog": {"packageName": self.name}},
                **spec,
            },
        }
        return await self.client.create(clusterextensions.KIND, body)

    async def create_operator(self, **spec: Any) -> Object:
        """Create an Operator of the name, as a person."""
        body = {
            "apiVersion": operators.KIND.api_version,
            "kind": operators.KIND.kind,
            "metadata": {"name": self.name},
            "spec": {"packageName": self.name, **spec},
        }
        return await self.client.create(operators.KIND, body)

    async def created(self) -> Object:
        """The Operator, as soon as it is there."""
        await self.until("the Operator is created", lambda: bool(self.operator()))
        return self.operator()

    async def install(self, version: str) -> None:
        """Report the version as installed, as the controller of Operators does."""
        operator = self.operator()
        bundle = {"name": f"{self.name}.v{version}", "version": version}
        image = f"quay.io/{self.name}:{version}"
        ready = {
            **{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "well"},
            **{"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": operator["metadata"]["generation"]},
        }
        status = {
            "observedGeneration": operator["metadata"]["generation"],
            "conditions": [ready],
            "installed": bundle,
            "installedBundleResource": image,
            "wanted": {**bundle, "image": image, "applied": True},
            "deprecations": {"known": True, "package": "use another one\nsoon"},
        }
        metadata = {"name": self.name}
        await self.client.apply_status(operators.KIND, {"metadata": metadata, "status": status}, "test")

    async def remove_operator_finalizer(self) -> None:
        await self.client.patch(operators.KIND, self.name, {"metadata": {"finalizers": []}})

    def condition(self, kind: str = "Progressing") -> tuple[str, str, str]:
        conditions = (self.extension().get("status") or {}).get("conditions") or []
        return triple(self.extension(), kind) if any(each["type"] == kind for each in conditions) else ("", "", "")

    def event_reasons(self) -> list[str]:
        """The reasons of the Events about the ClusterExtension of this test."""
        events = self._events.objects.values()
        return [each["reason"] for each in events if each["involvedObject"]["name"] == self.name]

    def writes(self, name: str = "") -> list[Recorded]:
        """The writes of the controller to the objects of a name, but Events."""
        return [each for each in self._between.writes if f"/{name or self.name}" in f"{each.path}/"]

    @contextlib.asynccontextmanager
    async def running(self, directory: Path) -> AsyncIterator[None]:
        """Run the controller of ClusterExtensions, and nothing else."""
        settings = Settings(directory, metrics_bind_address="0", health_probe_bind_address="0", leader_elect=False)
        async with await Client.connect(str(self._between.kubeconfig)) as own:
            manager = Manager("operator-controller", settings, own)
            controller = make_extension_controller(manager, make_informers(manager.informer))
            manager.add_runnable(controller.run, every_replica=False)
            run = asyncio.create_task(manager.run())
            try:
                yield
            finally:
                manager.stop()
                await run
                await manager.close()

    async def close(self) -> None:
        """Delete everything."""
        for informer in (self.extensions, self.operators):
            for raw in list(informer.objects.values()):
                if raw["metadata"]["name"].startswith(self.name):
                    metadata = {"metadata": {"finalizers": None}}
                    try:
                        await self.client.patch(informer.kind, raw["metadata"]["name"], metadata)
                        await self.client.delete(informer.kind, raw["metadata"]["name"])
                    except NotFound:
                        pass


@pytest.fixture
async def idle(definitions: Cluster, account: Path, tmp_path: Path) -> AsyncIterator[Place]:
    """A Place whose controller does not run."""
    async with (
        run_as(RecordingProxy, account, tmp_path) as between,
        await InformingClient.connect(str(definitions.kubeconfig)) as client,
    ):
        place = Place(definitions, client, between)
        tasks = [asyncio.create_task(each.run()) for each in place.informers]
        try:
            for each in place.informers:
                await each.synced.wait()
            yield place
        finally:
            await place.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


@pytest.fixture
async def place(idle: Place, tmp_path: Path) -> AsyncIterator[Place]:
    async with idle.running(tmp_path):
        yield idle


async def test_a_clusterextension_becomes_an_operator_whose_outcome_it_reports(place: Place) -> None:
    changes = {"tolerations": [], "affinity": {}, "resources": {"limits": {"cpu": "0.5"}}}
    inline = {"watchNamespace": "default", "deploymentConfig": changes}
    created = await place.create(config={"configType": "Inline", "inline": inline})
    operator = await place.created()
    assert [each["uid"] for each in operator["metadata"]["ownerReferences"]] == [created["metadata"]["uid"]]
    assert operator["metadata"]["finalizers"] == [operators.FINALIZER]
    assert operator["spec"]["install"]["config"] == {"affinity": {}, "resources": {"limits": {"cpu": "500m"}}}
    assert place.extension()["metadata"]["finalizers"] == [OWN]

    await place.install("1.0.0")
    await place.until("it has succeeded", lambda: place.condition()[1] == "Succeeded")
    assert place.condition("Installed") == (
        "True",
        "Succeeded",
        f"Installed bundle quay.io/{place.name}:1.0.0 successfully",
    )
    assert place.condition("Deprecated")[2] == "use another one\nsoon"
    assert place.extension()["status"]["install"]["bundle"] == {"name": f"{place.name}.v1.0.0", "version": "1.0.0"}
    assert len(place.writes()) == 3, "the finalizer, the Operator, the status"

    catalog = {"packageName": place.name, "version": "2.0.0"}
    change = {"spec": {"source": {"catalog": catalog}}}
    await place.client.patch(clusterextensions.KIND, place.name, change)
    await place.until("the Operator requests it", lambda: place.operator()["spec"].get("version") == "2.0.0")
    assert place.extension()["status"]["conditions"][0]["observedGeneration"] == 1, "which it does not report yet"
    await place.install("2.0.0")
    await place.until("it is reported", lambda: "2.0.0" in place.condition("Installed")[2])
    assert len(place.writes()) == 5, "the Operator, the status"


async def test_a_pass_that_changes_nothing_writes_nothing(place: Place) -> None:
    await place.create()
    await place.created()
    await place.install("1.0.0")
    await place.until("it has succeeded", lambda: place.condition()[1] == "Succeeded")
    before = place.writes()
    await place.client.patch(clusterextensions.KIND, place.name, {"metadata": {"annotations": {"a": "b"}}})
    await place.client.patch(operators.KIND, place.name, {"metadata": {"annotations": {"a": "b"}}})
    other = f"other-{place.name}"
    await place.create(other)
    await place.until("another one is created", lambda: bool(place.operator(other)))
    assert place.writes() == before
    await place.client.patch(operators.KIND, other, {"metadata": {"finalizers": []}})
    await place.client.delete(clusterextensions.KIND, other)
    await place.until("the other one is gone", lambda: not place.extension(other))


async def test_a_clusterextension_that_nests_deeper_than_python_reads_is_reported_and_stops_no_other(
    idle: Place, tmp_path: Path
) -> None:
    catalog = {"packageName": idle.name}
    config = {"configType": "Inline", "inline": {"deploymentConfig": "NESTED"}}
    spec = {"namespace": "default", "source": {"sourceType": "Catalog", "catalog": catalog}, "config": config}
    metadata = {"apiVersion": clusterextensions.KIND.api_version, "kind": clusterextensions.KIND.kind}
    body = json.dumps({**metadata, "metadata": {"name": idle.name}, "spec": spec})
    deep = body.replace('"NESTED"', '{"a":' * 1_100 + "1" + "}" * 1_100).encode()
    await idle.client.request("POST", clusterextensions.KIND.path(), body=deep)
    other = f"{idle.name}-other"
    async with idle.running(tmp_path):
        await idle.create(other)
        await idle.until("another one is created", lambda: bool(idle.operator(other)))
        await idle.until("the deep one is reported", lambda: "nests deeper than" in idle.condition()[2])
        assert idle.condition()[:2] == ("False", "InvalidConfiguration")
        change = {"spec": {"config": {"inline": {"deploymentConfig": None, "watchNamespace": "default"}}}}
        await idle.client.patch(clusterextensions.KIND, idle.name, change)
        await idle.created()


async def test_an_operator_of_a_person_blocks_and_its_end_wakes_the_clusterextension(place: Place) -> None:
    person = await place.create_operator(channel="stable")
    await place.create()
    await place.until("it is blocked", lambda: place.condition()[:2] == ("False", "Blocked"))
    assert place.operator()["metadata"]["resourceVersion"] == person["metadata"]["resourceVersion"]
    await place.client.delete(operators.KIND, place.name)
    await place.until("its own is created", lambda: "ownerReferences" in place.operator().get("metadata", {}))


async def test_an_operator_that_is_handed_over_gets_the_fields_of_the_clusterextension(place: Place) -> None:
    await place.create_operator(channel="stable", approval="Manual")
    await place.client.patch(operators.KIND, place.name, {"metadata": {"annotations": {ADOPT_FOR: place.name}}})
    await place.create()
    await place.until("it is changed", lambda: "channels" in place.operator()["spec"])
    operator = place.operator()
    assert operator["spec"]["channels"] == ["*"]
    assert operator["spec"]["approval"] == "Manual"
    assert "channel" not in operator["spec"]
    assert ADOPT_FOR not in (operator["metadata"].get("annotations") or {})
    assert operator["metadata"]["ownerReferences"][0]["name"] == place.name


async def test_a_deletion_returns_when_the_operator_is_gone(place: Place) -> None:
    await place.create()
    await place.created()
    await place.client.delete(clusterextensions.KIND, place.name)
    await place.until("the Operator is deleted", lambda: "deletionTimestamp" in place.operator()["metadata"])
    assert place.extension()["metadata"]["finalizers"] == [OWN]
    await place.remove_operator_finalizer()
    await place.until("it is gone", lambda: not place.extension())


async def test_with_cascade_orphan_the_operator_stays(place: Place) -> None:
    """The garbage collector removes its own finalizer, perhaps long afterwards."""
    await place.create()
    await place.created()
    arguments = ("delete", "clusterextensions.olm.operatorframework.io", place.name, "--cascade=orphan", "--wait=false")
    await asyncio.to_thread(place.cluster.kubectl, *arguments)
    await place.until("it is let go", lambda: OWN not in place.extension().get("metadata", {}).get("finalizers", ()))
    assert place.operator()["metadata"].keys() & {"deletionTimestamp", "ownerReferences"} == set()
    await place.until("an Event says so", lambda: place.event_reasons() == ["Released"])


async def test_a_change_that_operators_do_not_accept_is_reported(place: Place) -> None:
    inline = {"deploymentConfig": {"tolerations": [{"effect": "Never"}]}}
    await place.create(config={"configType": "Inline", "inline": inline})
    await place.until("it is reported", lambda: place.condition()[:2] == ("False", "InvalidConfiguration"))
    assert 'spec.install.config.tolerations[0].effect: Unsupported value: "Never"' in place.condition()[2]
    assert not place.operator()


async def test_while_a_controller_of_olm_v1_leads_nothing_is_written_and_a_lease_elsewhere_stops_nothing(
    idle: Place, tmp_path: Path
) -> None:
    """OLM v1 is where its account has its permission. The other Lease is a tenant's."""
    binding = f"{idle.name}-olm-v1"
    account = "--serviceaccount=default:operator-controller-controller-manager"
    kubectl = idle.cluster.kubectl
    await asyncio.to_thread(kubectl, "create", "clusterrolebinding", binding, "--clusterrole=cluster-admin", account)
    await idle.create()
    for namespace in ("default", "kube-public"):
        lease = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": UPSTREAM_LEASES[0], "namespace": namespace},
            "spec": {"holderIdentity": "olm", "leaseDurationSeconds": 2_147_483_647},
        }
        await idle.client.apply(LEASE, lease, "test")
    async with idle.running(tmp_path):
        try:
            await idle.create(f"{idle.name}-b")
            assert idle.writes() == []
            await idle.client.delete(LEASE, UPSTREAM_LEASES[0], "default")
            await idle.created()
        finally:
            await asyncio.to_thread(kubectl, "delete", "clusterrolebinding", binding)
            await asyncio.to_thread(
                kubectl, "delete", "leases", UPSTREAM_LEASES[0], "--namespace=default", "--ignore-not-found"
            )
            await idle.client.delete(LEASE, UPSTREAM_LEASES[0], "kube-public")
