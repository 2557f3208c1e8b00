"""rukpak at work in this process against the session's cluster, and what its tests do to the cluster and wait for."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.images import Registry
from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import ABANDON_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.manager import Manager, Settings
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, NAMESPACES
from rukpak.bundledeployment.cluster.webhook_endpoints import CONFIGURATIONS
from rukpak.setup import build
from tests.cluster.conftest import read_kind
from tests.cluster.informing_client import InformingClient
from tests.conditions import triple

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
CLUSTER_ROLES = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")
CLUSTER_ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
WEBHOOK_CONFIGURATIONS = tuple(CONFIGURATIONS.values())
OWNER = bundledeployments.OWNER_UID_LABEL
WITHIN = 60.0

Object = dict[str, Any]


def plain(*objects: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a plain+v0 bundle."""
    return {"manifests/all.yaml": yaml.safe_dump_all(objects).encode()}


def config_map(name: str, namespace: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def namespace(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def cluster_role(name: str, *, rules: Sequence[Mapping[str, Any]]) -> Object:
    kind = {"apiVersion": CLUSTER_ROLES.api_version, "kind": CLUSTER_ROLES.kind}
    return {**kind, "metadata": {"name": name}, "rules": list(rules)}


def deployment(name: str, namespace: str, replicas: int = 1, image: str = "registry.example.com/x:v1") -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def definition(group: str, kind: str = "Boat", *versions: str) -> Object:
    """A namespaced CRD; the last version is the one that is stored."""
    plural = f"{kind.lower()}s"
    names = versions or ("v1",)
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = [{"name": name, "served": True, "storage": name == names[-1], "schema": schema} for name in names]
    spec = {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": served}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }


def kind_of(group: str, kind: str = "Boat", version: str = "v1") -> Kind:
    """The kind of such a CRD."""
    return Kind(group, version, kind, f"{kind.lower()}s", namespaced=True)


def thing(kind: Kind, name: str, namespace: str, **metadata: Any) -> Object:
    """An object of such a kind."""
    named = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": named, "spec": {"color": "red"}}


def says(kind: str, status: str, reason: str = "", text: str = "") -> Callable[[Object | None], bool]:
    """A condition is so, for this generation."""

    def check(raw: Object | None) -> bool:
        if raw is None or raw["status"].get("observedGeneration") != raw["metadata"]["generation"]:
            return False
        found = triple(raw, kind)
        return found[0] == status and reason in ("", found[1]) and text in found[2]

    return check


READY = says("Ready", "True")


def gone(raw: Object | None) -> bool:
    return raw is None


def data(raw: Object | None) -> Object:
    """The data of a ConfigMap; empty when it is not there."""
    return (raw or {}).get("data") or {}


def version_of(raw: Object | None) -> str:
    """Its resourceVersion; "" when it is not there."""
    return str((raw or {}).get("metadata", {}).get("resourceVersion", ""))


class Harness:
    """The cluster's side of a test. Whatever it makes bears its name; `close` takes all of it away."""

    def __init__(self, cluster: Cluster, client: InformingClient) -> None:
        self.cluster = cluster
        self.client = client
        self.name = f"ins-{uuid.uuid4().hex[:6]}"
        self.group = f"{self.name}.example.com"
        self.deployments = Informer(client, bundledeployments.KIND)
        self.bundles = Informer(client, bundles.KIND)
        client.informers = (self.deployments, self.bundles)
        self._changed = asyncio.Event()
        self._made: list[tuple[Kind, str, str]] = []
        self.deployments.subscribe(self._heard)
        self.bundles.subscribe(self._heard)

    def _heard(self, _: Change) -> None:
        self._changed.set()

    def push(self, files: Mapping[str, bytes], tag: str = "v1", repository: str = "") -> str:
        """Push an image; returns its reference by digest."""
        repository = repository or f"bundles/{self.name}"
        digest = Registry(self.cluster.registry).push(repository, tag, files, {})
        return f"{self.cluster.registry}/{repository}@{digest}"

    def body(self, ref: str, name: str = "", provisioner: str = PLAIN) -> Object:
        """A BundleDeployment of a plain bundle."""
        source = {"type": "image", "image": {"ref": ref}}
        return {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "BundleDeployment",
            "metadata": {"name": name or self.name},
            "spec": {
                "provisionerClassName": PLAIN,
                "template": {"spec": {"provisionerClassName": provisioner, "source": source}},
            },
        }

    async def install(self, ref: str, name: str = "", provisioner: str = PLAIN, **spec: Any) -> str:
        """Ask for a bundle (or for another one instead); returns the BundleDeployment's name."""
        body = self.body(ref, name, provisioner)
        body["spec"] |= spec
        await self.client.apply(bundledeployments.KIND, body, "test")
        return str(body["metadata"]["name"])

    async def remove(self, name: str = "") -> None:
        await self.client.delete(bundledeployments.KIND, name or self.name)

    async def create(self, kind: Kind, body: Object) -> Object:
        """Something that is not rukpak's."""
        metadata = body["metadata"]
        self._made.append((kind, metadata["name"], metadata.get("namespace", "")))
        return await self.client.create(kind, body)

    async def read(self, kind: Kind) -> None:
        """Return when the API server has read what it stores of a kind."""
        await asyncio.to_thread(read_kind, self.cluster, kind.path())

    async def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        try:
            return await self.client.get(kind, name, namespace or None)
        except NotFound:
            return None

    async def until(self, wanted: Callable[[Object | None], bool], name: str = "", within: float = WITHIN) -> Object:
        """The BundleDeployment as soon as it is so ({} when there is none)."""
        name = name or self.name
        try:
            async with asyncio.timeout(within):
                while not wanted(self.deployments.get(name)):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raw = self.deployments.get(name)
            pytest.fail(f"not within {within:g} s; {name} is\n{yaml.safe_dump(raw)}")
        return self.deployments.get(name) or {}

    async def when(
        self, kind: Kind, name: str, namespace: str, so: Callable[[Object | None], bool], within: float = WITHIN
    ) -> Object | None:
        """An object as soon as it is so."""
        informer = Informer(self.client, kind, namespace=namespace or None, absent_is_empty=True)
        changed = asyncio.Event()
        informer.subscribe(lambda _: changed.set())
        async with running_informers(informer):
            try:
                async with asyncio.timeout(within):
                    while not so(informer.get(name, namespace)):
                        changed.clear()
                        await changed.wait()
            except TimeoutError:
                pytest.fail(f"not within {within:g} s; {kind.kind} {name} is\n{informer.get(name, namespace)}")
            return informer.get(name, namespace)

    async def when_any(self, kind: Kind, namespace: str, so: Callable[[Object], bool]) -> Object:
        """The first object of a kind in a namespace that is so, as soon as there is one."""
        informer = Informer(self.client, kind, namespace=namespace)
        changed = asyncio.Event()
        informer.subscribe(lambda _: changed.set())
        async with running_informers(informer):
            try:
                async with asyncio.timeout(WITHIN):
                    while not (found := [obj for obj in informer.objects.values() if so(obj)]):
                        changed.clear()
                        await changed.wait()
            except TimeoutError:
                pytest.fail(f"not within {WITHIN:g} s: no such {kind.kind} in {namespace}")
            return found[0]

    async def when_none(self, kind: Kind, namespace: str, so: Callable[[Object], object]) -> None:
        """Return as soon as no object of a kind in a namespace is so."""
        informer = Informer(self.client, kind, namespace=namespace)
        changed = asyncio.Event()
        informer.subscribe(lambda _: changed.set())
        async with running_informers(informer):
            try:
                async with asyncio.timeout(WITHIN):
                    while found := [name for (_, name), obj in informer.objects.items() if so(obj)]:
                        changed.clear()
                        await changed.wait()
            except TimeoutError:
                pytest.fail(f"not within {WITHIN:g} s: {kind.kind} {found} remain in {namespace}")

    async def owned(self, uid: str, kinds: Sequence[Kind]) -> dict[str, Object]:
        """What bears the owner-uid label of a BundleDeployment, as `Kind name`."""
        found: dict[str, Object] = {}
        for kind in kinds:
            informer = Informer(self.client, kind, label_selector=f"{OWNER}={uid}", absent_is_empty=True)
            async with running_informers(informer):
                found |= {f"{kind.kind} {name}": obj for (_, name), obj in informer.objects.items()}
        return found

    async def close(self) -> None:
        """Remove all that bears our name. Finalizers that a test put on its objects are its own business."""
        for _, name in list(self.deployments.objects):
            if name.startswith(self.name):
                with contextlib.suppress(ApiError):
                    patch = {"metadata": {"annotations": {ABANDON_ANNOTATION: "true"}, "finalizers": []}}
                    await self.client.patch(bundledeployments.KIND, name, patch)
                    await self.client.delete(bundledeployments.KIND, name)
        for kind, name, inside in reversed(self._made):
            with contextlib.suppress(ApiError):
                await self.client.delete(kind, name, inside or None)
        # An APIService whose server has ended keeps every Namespace of the cluster from being deleted.
        for kind in (API_SERVICES, *WEBHOOK_CONFIGURATIONS, CRDS, NAMESPACES, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS):
            objects, _ = await self.client.list(kind, metadata_only=True)
            for obj in objects:
                if self.name in obj["metadata"]["name"]:
                    with contextlib.suppress(ApiError):
                        await self.client.delete(kind, obj["metadata"]["name"])


@contextlib.asynccontextmanager
async def running_informers(*informers: Informer) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        for informer in informers:
            await informer.synced.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@contextlib.asynccontextmanager
async def harbour(cluster: Cluster) -> AsyncIterator[Harness]:
    """A cluster that serves our kinds, seen by an admin."""
    async with await InformingClient.connect(str(cluster.kubeconfig)) as client:
        ours = Harness(cluster, client)
        async with running_informers(ours.deployments, ours.bundles):
            try:
                yield ours
            finally:
                await ours.close()


def settings(cluster: Cluster, cache: Path, **changes: Any) -> Settings:
    """rukpak alone, without lease and ports; `changes` are other settings."""
    made = Settings(
        cache_dir=cache,
        kubeconfig=str(cluster.kubeconfig),
        metrics_bind_address="0",
        health_probe_bind_address="0",
        leader_elect=False,
        registries_conf=cluster.registries_conf,
    )
    return replace(made, **changes)


@contextlib.asynccontextmanager
async def rukpak(cluster: Cluster, cache: Path, make: type[Client] = Client, **changes: Any) -> AsyncIterator[Client]:
    """The process rukpak, in this one, until the block ends; yields its client. What it crashes with is raised."""
    made = settings(cluster, cache, **changes)
    async with await make.connect(made.kubeconfig) as client:
        manager = Manager("rukpak", made, client)
        try:
            await build(manager)
            run = asyncio.create_task(manager.run())
            try:
                yield client
            finally:
                manager.stop()
                await run
        finally:
            await manager.close()
