"""catalogd at work in the test's process, against the real API server and a real registry behind a proxy that can misbehave."""

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
from olmkit.api import bundlemetadata, catalogs, packages
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager, Settings, make_parser, parse_settings
from tests.conditions import triple
from tests.images import push, tar
from tests.servers.registry_proxy import RegistryProxy

NAMESPACE = "catalogd-test"
"""The system namespace of these tests: Secrets and ConfigMaps."""
ALONE = ("--no-leader-elect", "--insecure-http")
"""The flags of the only replica there is: no lease, plain HTTP."""
KINDS = (catalogs.KIND, packages.KIND, bundlemetadata.KIND)
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
    """What a test sees and does beside catalogd: the cluster, the registry, and catalogd's HTTP."""

    def __init__(self, cluster: Cluster, client: Client, proxy: RegistryProxy, http: aiohttp.ClientSession) -> None:
        self.cluster, self.client, self.proxy = cluster, client, proxy
        self.name = f"c-{uuid.uuid4().hex[:8]}"
        self.served_at = f"127.0.0.1:{free_port()}"
        self._http = http
        self._informers = {kind: Informer(client, kind) for kind in KINDS}
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
        """The reference of this test's image, by tag or digest, through the proxy."""
        return f"{self.proxy.address}/catalogs/{self.name}{version}"

    async def push(self, files: Mapping[str, bytes | str], tag: str = "v1") -> str:
        """Push a catalog image; returns its digest."""
        return await self.push_layers([tar(files)], tag)

    async def push_layers(self, layers: list[bytes], tag: str = "v1", labels: Mapping[str, str] | None = None) -> str:
        """Push an image of these layers; the catalog's label unless others are given."""
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

    def seen(self, name: str = "") -> Object:
        """The Catalog as last seen."""
        found = self.find(name)
        assert found
        return found

    def find(self, name: str = "") -> Object:
        """The Catalog as last seen, empty when there is none."""
        return self._informers[catalogs.KIND].get(name or self.name) or {}

    def packages(self, catalog: str = "") -> dict[str, Object]:
        """The Package objects of a Catalog by name."""
        objects = self._informers[packages.KIND].objects.values()
        of = catalog or self.name
        return {each["metadata"]["name"]: each for each in objects if each["spec"]["catalog"]["name"] == of}

    def bundles(self) -> dict[str, Object]:
        """The BundleMetadata objects of this test's Catalog by name."""
        objects = self._informers[bundlemetadata.KIND].objects.values()
        return {each["metadata"]["name"]: each for each in objects if each["spec"]["catalog"]["name"] == self.name}

    async def until(self, what: str, condition: Callable[[], Answer | None], within: float = 60) -> Answer:
        """What the condition says as soon as that is true, asked after each change; fails naming `what` if it takes too long."""
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
        """Delete a Catalog and return when it is gone."""
        await self.client.delete(catalogs.KIND, name)
        await self.until(f"{name} is gone", lambda: not self.find(name))

    async def when(self, kind: str, status: str, reason: str, name: str = "", within: float = 60) -> Object:
        """The Catalog as soon as a condition of its present generation is so."""

        def so() -> Object | None:
            found = self.find(name)
            if not found or found["status"]["observedGeneration"] != found["metadata"]["generation"]:
                return None
            return found if triple(found, kind)[:2] == (status, reason) else None

        return await self.until(f"{kind} {status} {reason}", so, within)

    async def ready(self, name: str = "") -> Object:
        """The Catalog as soon as all that its source holds is served, and its Packages are seen here too."""
        found = await self.when("Ready", "True", "Succeeded", name)
        count = found["status"]["packageCount"]
        await self.until("its Packages are seen", lambda: len(self.packages(name)) >= count)
        return found

    async def serves(self, digest: str, name: str = "") -> Object:
        """The Catalog as soon as its status names that digest and nothing is left to do."""

        def so() -> bool:
            found = self.find(name)  # none yet, when the informer is behind the request that made it
            image = found.get("status", {}).get("resolvedSource", {}).get("image", {})
            return bool(image.get("ref", "").endswith(digest) and triple(found, "Reconciling") == ("", "", ""))

        await self.until(f"{digest} is served", so)
        return self.seen(name)

    async def get(self, path: str) -> tuple[int, bytes]:
        """What catalogd answers below /catalogs/."""
        async with self._http.get(f"http://{self.served_at}/catalogs/{path}") as answer:
            return answer.status, await answer.read()

    async def fetch(self, url: str) -> bytes:
        """What is answered at another address of catalogd."""
        async with self._http.get(url) as answer:
            answer.raise_for_status()
            return await answer.read()

    async def asked(self, part: str, times: int) -> None:
        """Return when the registry has been asked that often, from now on, for something whose path contains `part`."""
        already = self.count(part)
        async with asyncio.timeout(60):
            while self.count(part) < already + times:  # noqa: ASYNC110 the proxy tells nobody
                await asyncio.sleep(0.05)

    def count(self, part: str) -> int:
        """How often the registry was asked for something whose path contains `part`."""
        return sum(part in line for line, _ in self.proxy.requests)


@pytest.fixture(scope="session")
def system_namespace(definitions: Cluster) -> Cluster:
    """The cluster, with the namespace of these tests and the suite's kinds."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    definitions.kubectl("apply", "--server-side", "--filename=-", input=json.dumps(manifest))
    return definitions


@pytest.fixture
async def world(system_namespace: Cluster) -> AsyncIterator[World]:
    """A test's share of the cluster, without catalogd."""
    async with (
        await Client.connect(str(system_namespace.kubeconfig)) as client,
        RegistryProxy(system_namespace.registry) as proxy,
        aiohttp.ClientSession() as http,
    ):
        ours = World(system_namespace, client, proxy, http)
        watching = asyncio.create_task(ours.watch())
        try:
            yield ours
        finally:
            await _remove(client, catalogs.KIND, ours.name)
            await _remove(client, packages.KIND, ours.name)
            await _remove(client, bundlemetadata.KIND, ours.name)
            watching.cancel()
            await asyncio.wait({watching})


async def _remove(client: Client, kind: Kind, prefix: str) -> None:
    objects, _ = await client.list(kind)
    for each in objects:
        if each["metadata"]["name"].startswith(prefix):
            with contextlib.suppress(NotFound):
                await client.delete(kind, each["metadata"]["name"])


def settings_of(world: World, cache: Path, *flags: str, role: Sequence[str] = ALONE) -> Settings:
    """What catalogd is started with: that folder, the registry's proxy, and the flags of its `role`; `flags` come last."""
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
    """catalogd at work with that folder; its manager, to look at and to stop."""
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
    """catalogd at work; its folder."""
    cache = tmp_path / "cache"
    async with running(world, cache):
        yield cache
