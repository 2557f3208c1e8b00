"""catalogd in the process of the test, with the real API server and a real registry behind a proxy that can fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

from catalogd.__main__ import add_flags
from catalogd.ingest.load_job import CONFIGS_LABEL
from catalogd.setup import build
from devcluster.allocation import free_port
from devcluster.cluster import Cluster
from olmkit.api import catalogs, clustercatalogs, packages
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager, Settings, make_parser, parse_settings
from tests.cluster.informing_client import InformingClient
from tests.conditions import triple
from tests.images import push, tar
from tests.servers.registry_proxy import RegistryProxy

NAMESPACE = "catalogd-test"
"""The system namespace of these tests: Secrets and ConfigMaps."""
ALONE = ("--no-leader-elect", "--insecure-http")
"""The flags of a single replica: no lease, plain HTTP."""
KINDS = (catalogs.KIND, packages.KIND, clustercatalogs.KIND)
Object = dict[str, Any]
Answer = TypeVar("Answer")


def package(name: str, *versions: str, **more: Any) -> list[Object]:
    """The blobs of a package with one channel in which each version replaces the one before."""
    names = [f"{name}.v{version}" for version in versions]
    entries = [{"name": each, **({"replaces": names[at - 1]} if at else {})} for at, each in enumerate(names)]
    return [
        {"schema": "olm.package", "name": name, "defaultChannel": "stable", **more},
        {"schema": "olm.channel", "package": name, "name": "stable", "entries": entries},
        *(_bundle(name, version) for version in versions),
    ]


def _bundle(name: str, version: str) -> Object:
    properties = [{"type": "olm.package", "value": {"packageName": name, "version": version}}]
    image = f"registry.example/{name}:{version}"
    return {
        "schema": "olm.bundle",
        "package": name,
        "name": f"{name}.v{version}",
        "image": image,
        "properties": properties,
    }


def lines(*blobs: list[Object]) -> dict[str, bytes]:
    """A catalog's files: one of JSON lines."""
    return {"configs/catalog.json": b"".join(json.dumps(blob).encode() + b"\n" for each in blobs for blob in each)}


class World:
    """What a test uses in addition to catalogd: the cluster, the registry, and the HTTP server of catalogd."""

    def __init__(
        self, cluster: Cluster, client: InformingClient, proxy: RegistryProxy, http: aiohttp.ClientSession
    ) -> None:
        self.cluster, self.client, self.proxy = cluster, client, proxy
        self.name = f"c-{uuid.uuid4().hex[:8]}"
        self.served_at = f"127.0.0.1:{free_port()}"
        self._http = http
        self._informers = {kind: Informer(client, kind) for kind in KINDS}
        client.informers = tuple(self._informers.values())
        self._changed = asyncio.Event()
        self.history: list[Object] = []
        for informer in self._informers.values():
            informer.subscribe(lambda change: self._changed.set())
        self._informers[catalogs.KIND].subscribe(lambda change: self.history.append(change.new or {}))

    async def watch(self) -> None:
        """Follow the cluster until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers.values():
                group.create_task(informer.run())

    def ref(self, version: str = ":v1") -> str:
        """The reference of this test's image, by tag or digest, at the proxy."""
        return f"{self.proxy.address}/catalogs/{self.name}{version}"

    async def push(self, files: Mapping[str, bytes | str], tag: str = "v1") -> str:
        """Push a catalog image; returns its digest."""
        return await self.push_layers([tar(files)], tag)

    async def push_layers(self, layers: list[bytes], tag: str = "v1", labels: Mapping[str, str] | None = None) -> str:
        """Push an image of these layers; with the label of a catalog unless others are given."""
        labels = {CONFIGS_LABEL: "/configs"} if labels is None else labels
        return await asyncio.to_thread(push, self.cluster.registry, f"catalogs/{self.name}", tag, layers, labels)

    async def catalog(self, ref: str, name: str = "", poll: str = "1h") -> str:
        """Apply a Catalog; returns its name."""
        interval = {} if "@" in ref else {"pollInterval": poll}
        return await self.catalog_of({"source": {"type": "image", "image": {"ref": ref, **interval}}}, name)

    async def catalog_of(self, spec: Object, name: str = "", **metadata: Any) -> str:
        """Apply a Catalog with that spec; returns its name."""
        name = name or self.name
        metadata = {"name": name, **metadata}
        body = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": metadata, "spec": spec}
        await self.client.apply(catalogs.KIND, body, "test")
        return name

    async def cluster_catalog(self, ref: str, **spec: Any) -> None:
        """Apply a ClusterCatalog of this image."""
        kind, image = clustercatalogs.KIND, {"ref": ref, **spec.pop("image", {})}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": self.name}}
        await self.client.apply(kind, {**body, "spec": {"source": {"type": "Image", "image": image}, **spec}}, "test")

    def found(self) -> Object:
        """The ClusterCatalog as last observed, empty if it does not exist."""
        return self._informers[clustercatalogs.KIND].get(self.name) or {}

    async def when_found(self, kind: str, status: str, reason: str) -> Object:
        """The ClusterCatalog as soon as a condition has that status and reason, for the current generation."""

        def reached() -> Object | None:
            found = self.found()
            current = [
                each["type"]
                for each in (found.get("status") or {}).get("conditions") or ()
                if each["observedGeneration"] == found["metadata"]["generation"]
            ]
            return found if kind in current and triple(found, kind)[:2] == (status, reason) else None

        return await self.until(f"{kind} {status} {reason} of the ClusterCatalog", reached)

    def seen(self, name: str = "") -> Object:
        """The Catalog as last observed."""
        found = self.find(name)
        assert found
        return found

    def find(self, name: str = "") -> Object:
        """The Catalog as last observed, empty if it does not exist."""
        return self._informers[catalogs.KIND].get(name or self.name) or {}

    def packages(self, catalog: str = "") -> dict[str, Object]:
        """The Package objects of a Catalog by name."""
        objects = self._informers[packages.KIND].objects.values()
        of = catalog or self.name
        return {each["metadata"]["name"]: each for each in objects if each["spec"]["catalog"]["name"] == of}

    async def until(self, what: str, condition: Callable[[], Answer | None], within: float = 60) -> Answer:
        """The result of the condition as soon as it is true, evaluated after each change; fails with `what` after `within` s."""
        try:
            async with asyncio.timeout(within):
                while not (answer := condition()):
                    self._changed.clear()
                    await self._changed.wait()
                return answer
        except TimeoutError:
            objects = self._informers[catalogs.KIND].objects.values()
            states = "\n".join(json.dumps(each.get("status"), indent=1) for each in objects)
            pytest.fail(f"not within {within:g} s: {what}\n{states}")

    async def remove(self, name: str) -> None:
        """Delete a Catalog and wait until it does not exist."""
        await self.client.delete(catalogs.KIND, name)
        await self.until(f"{name} is deleted", lambda: not self.find(name))

    async def when(self, kind: str, status: str, reason: str, name: str = "", within: float = 60) -> Object:
        """The Catalog as soon as a condition of its current generation has that status and reason."""

        def reached() -> Object | None:
            found = self.find(name)
            if not found or found["status"]["observedGeneration"] != found["metadata"]["generation"]:
                return None
            return found if triple(found, kind)[:2] == (status, reason) else None

        return await self.until(f"{kind} {status} {reason}", reached, within)

    async def ready(self, name: str = "") -> Object:
        """The Catalog as soon as all content of its source is served, and its Packages are observed here too."""
        found = await self.when("Ready", "True", "Succeeded", name)
        count = found["status"]["packageCount"]
        await self.until("its Packages are observed", lambda: len(self.packages(name)) >= count)
        return found

    async def serves(self, digest: str, name: str = "") -> Object:
        """The Catalog as soon as its status names that digest and it is not reconciling."""

        def reached() -> bool:
            found = self.find(name)  # empty if the informer has not observed it yet
            image = found.get("status", {}).get("resolvedSource", {}).get("image", {})
            return bool(image.get("ref", "").endswith(digest) and triple(found, "Reconciling") == ("", "", ""))

        await self.until(f"{digest} is served", reached)
        return self.seen(name)

    async def get(self, path: str) -> tuple[int, bytes]:
        """The response of catalogd below /catalogs/."""
        async with self._http.get(f"http://{self.served_at}/catalogs/{path}") as answer:
            return answer.status, await answer.read()

    async def fetch(self, url: str) -> bytes:
        """The response at another address of catalogd."""
        async with self._http.get(url) as answer:
            answer.raise_for_status()
            return await answer.read()

    async def wait_for_requests(self, part: str, times: int) -> None:
        """Wait for that many further requests to the registry whose path contains `part`."""
        already = self.count(part)
        async with asyncio.timeout(60):
            while self.count(part) < already + times:  # noqa: ASYNC110 there is no event to await
                await asyncio.sleep(0.05)

    def count(self, part: str) -> int:
        """The number of requests to the registry whose path contains `part`."""
        return sum(part in line for line, _ in self.proxy.requests)


@pytest.fixture(scope="package")
def system_namespace(definitions: Cluster) -> Cluster:
    """The cluster, with the namespace of these tests and the suite's kinds."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    definitions.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(manifest))
    return definitions


@pytest.fixture
async def world(system_namespace: Cluster) -> AsyncIterator[World]:
    """The World of one test, without catalogd."""
    async with (
        await InformingClient.connect(str(system_namespace.kubeconfig)) as client,
        RegistryProxy(system_namespace.registry) as proxy,
        aiohttp.ClientSession() as http,
    ):
        created = World(system_namespace, client, proxy, http)
        watching = asyncio.create_task(created.watch())
        try:
            yield created
        finally:
            await _remove(client, clustercatalogs.KIND, created.name)
            await _remove(client, catalogs.KIND, created.name)
            await _remove(client, packages.KIND, created.name)
            watching.cancel()
            await asyncio.wait({watching})


async def _remove(client: Client, kind: Kind, prefix: str) -> None:
    objects, _ = await client.list(kind)
    for each in objects:
        if each["metadata"]["name"].startswith(prefix):
            with contextlib.suppress(NotFound):
                await client.delete(kind, each["metadata"]["name"])


def settings_of(world: World, cache: Path, *flags: str, role: Sequence[str] = ALONE) -> Settings:
    """The settings of catalogd: that directory, the proxy of the registry, and the flags of its `role`; `flags` come last."""
    conf = cache.parent / f"{cache.name}.conf"
    conf.write_text(f'[[registry]]\nprefix = "{world.proxy.address}"\ninsecure = true\n')
    parser = make_parser("catalogd")
    add_flags(parser)
    given = {
        "--cache-dir": cache,
        "--kubeconfig": world.cluster.kubeconfig,
        "--metrics-bind-address": "0",
        "--health-probe-bind-address": "0",
        "--registries-conf": conf,
        "--allow-source-cidr": "127.0.0.0/8",
        "--catalogs-server-addr": world.served_at,
        "--system-namespace": NAMESPACE,
    }
    named = [text for flag, value in given.items() for text in (flag, str(value))]
    return parse_settings(parser, [*named, *role, *flags])


@contextlib.asynccontextmanager
async def running(world: World, cache: Path, *flags: str, role: Sequence[str] = ALONE) -> AsyncIterator[Manager]:
    """catalogd with that cache directory; yields its manager."""
    settings = settings_of(world, cache, *flags, role=role)
    async with await Client.connect(settings.kubeconfig) as client:
        manager = Manager("catalogd", settings, client)
        try:
            await build(manager)
            run = asyncio.create_task(manager.run())
            try:
                yield manager
            finally:
                manager.stop()
                await run
        finally:
            await manager.close()


@pytest.fixture
async def catalogd(world: World, tmp_path: Path) -> AsyncIterator[Path]:
    """catalogd; yields its cache directory."""
    cache = tmp_path / "cache"
    async with running(world, cache):
        yield cache
