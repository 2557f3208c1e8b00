"""operator-controller in the process of the test, with catalogd and rukpak as processes, and packages that require each other.

The bundles are plain+v0 with one CRD each, so that nothing but the API server is needed to install them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.images import Catalog, Registry
from devcluster.suite import NAMESPACE, Suite
from olmkit.api import bundledeployments, catalogs, customresourcedefinitions, operators
from olmkit.api.bundledeployments import PLANNED_BUNDLE_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.manager import Manager, Settings
from operator_controller.setup import build
from tests.bundle_properties import package_required
from tests.cluster.informing_client import InformingClient
from tests.cluster.killable_process import KillSwitch, first, run_killable
from tests.cluster.proxy import run_as
from tests.cluster.refusing_proxy import RefusingProxy
from tests.conditions import triple
from tests.e2e.packages import catalog_file, definition, group, package_blobs

WITHIN_SECONDS = 200.0
"""rukpak counts custom resources at most once a minute."""
MAX_PROCESSES = 40
"""More processes than any walk needs: each of them writes once."""

Object = dict[str, Any]
Requirements = Mapping[str, Sequence[str]]
"""By version: what its bundle requires, as `PACKAGE RANGE`."""
CHAIN: dict[str, Requirements] = {"a": {"1.0.0": ["b >=1.0.0"]}, "b": {"1.0.0": []}}
"""a requires b."""


class Site:
    """The cluster's side of a test. Whatever it makes bears its name."""

    def __init__(self, cluster: Cluster, client: InformingClient, directory: Path) -> None:
        self.cluster = cluster
        self.client = client
        self.name = f"dep-{uuid.uuid4().hex[:6]}"
        self._directory = directory
        self._kubeconfig = cluster.token_kubeconfig(NAMESPACE, "operator-controller")
        kinds = (operators.KIND, bundledeployments.KIND, catalogs.KIND, customresourcedefinitions.KIND)
        self.operators, self.deployments, self.catalogs, self.definitions = (Informer(client, kind) for kind in kinds)
        client.informers = self.informers
        self._changed = asyncio.Event()
        for informer in self.informers:
            informer.subscribe(self._heard)

    @property
    def informers(self) -> tuple[Informer, ...]:
        return self.operators, self.deployments, self.catalogs, self.definitions

    def _heard(self, _: Change) -> None:
        self._changed.set()

    # --- packages

    def package(self, letter: str) -> str:
        """The name of a package of this test."""
        return f"{self.name}-{letter}"

    async def publish(self, packages: Mapping[str, Requirements]) -> None:
        """Push a catalog of these packages, which replace those before; returns when it is served. Each version can be upgraded
        to every later one."""
        blobs = [self._blobs(letter, versions) for letter, versions in packages.items()]
        image = Catalog(Registry(self.cluster.registry), f"catalogs/{self.name}:latest", self.cluster.registry)
        digest = await asyncio.to_thread(image.push_files, catalog_file(*blobs))
        source = {"type": "image", "image": {"ref": image.reference, "pollInterval": "1s"}}
        metadata = {"name": self.name, "annotations": {"catalogd.operatorframework.io/refresh": digest}}
        body = {
            "apiVersion": catalogs.KIND.api_version,
            "kind": "Catalog",
            "metadata": metadata,
            "spec": {"source": source},
        }
        await self.client.apply(catalogs.KIND, body, "test")
        await self.until("the catalog is served", lambda: self._is_served(digest))

    def _is_served(self, digest: str) -> bool:
        status = (self.catalogs.get(self.name) or {}).get("status") or {}
        return digest in str(status.get("resolvedSource")) and bool(status.get("contentURL"))

    def _blobs(self, letter: str, versions: Requirements) -> list[Object]:
        package = self.package(letter)
        kind = {"type": "olm.gvk", "value": {"group": group(package), "version": "v1", "kind": "Thing"}}
        blobs = package_blobs(package, {version: self._push(package, version) for version in versions}, [kind])
        names = [f"{package}.v{version}" for version in versions]
        blobs[1]["entries"] = [{"name": name, "skips": names[:number]} for number, name in enumerate(names)]
        for blob, required in zip(blobs[2:], versions.values(), strict=True):
            blob["properties"] += [
                {"type": "olm.bundle.mediatype", "value": "plain+v0"},
                *map(self._requirement, required),
            ]
        return blobs

    def _requirement(self, text: str) -> Object:
        letter, _, versions = text.partition(" ")
        return package_required(self.package(letter), versions)

    def _push(self, package: str, version: str) -> str:
        body = definition(package)
        body["metadata"]["annotations"] = {"example.com/version": version}
        files = {"manifests/crd.yaml": yaml.safe_dump(body).encode()}
        digest = Registry(self.cluster.registry).push(f"bundles/{package}", f"v{version}", files, {})
        return f"{self.cluster.registry}/bundles/{package}@{digest}"

    # --- objects

    async def request(self, letter: str, **spec: Any) -> None:
        """Create an Operator for a package, as a person."""
        body = {
            "apiVersion": operators.KIND.api_version,
            "kind": operators.KIND.kind,
            "metadata": {"name": self.package(letter)},
            "spec": {"packageName": self.package(letter), **spec},
        }
        await self.client.create(operators.KIND, body)

    async def install(self, packages: Mapping[str, Requirements]) -> None:
        """Publish the packages, request a, and wait until a and b are installed, while operator-controller runs."""
        await self.publish(packages)
        await self.request("a")
        await self.until("a and b are installed", lambda: self.is_installed("a") and self.is_installed("b"))

    async def apply(self, letter: str) -> None:
        """Apply an Operator for a package, as a person whose manifest has its name and package alone."""
        body = {
            "apiVersion": operators.KIND.api_version,
            "kind": operators.KIND.kind,
            "metadata": {"name": self.package(letter)},
            "spec": {"packageName": self.package(letter)},
        }
        await self.client.apply(operators.KIND, body, "person")

    async def delete(self, letter: str, kind: Kind = operators.KIND) -> None:
        """Delete the Operator of a package, or its BundleDeployment."""
        await self.client.delete(kind, self.package(letter))

    async def delete_in_foreground(self, letter: str) -> None:
        """kubectl delete --cascade=foreground of an Operator."""
        arguments = ("delete", "operators.operators.operatorframework.io", self.package(letter))
        await asyncio.to_thread(self.cluster.kubectl, *arguments, "--cascade=foreground", "--wait=false")

    async def use(self, letter: str) -> None:
        """Create a custom resource of a package's kind."""
        await self.client.create(self.kind(letter), {
            "apiVersion": f"{group(self.package(letter))}/v1",
            "kind": "Thing",
            "metadata": {"name": "in-use", "namespace": "default"},
        })  # fmt: skip

    def kind(self, letter: str) -> Kind:
        """The kind of a package."""
        return Kind(group(self.package(letter)), "v1", "Thing", "things", namespaced=True)

    # --- what is there

    def operator(self, letter: str) -> Object | None:
        return self.operators.get(self.package(letter))

    def deployment(self, letter: str) -> Object | None:
        return self.deployments.get(self.package(letter))

    def ready(self, letter: str) -> tuple[str, str, str]:
        """Status, reason and message of Ready, for the current generation; empty if there is none."""
        found = self.operator(letter)
        if found is None or (found.get("status") or {}).get("observedGeneration") != found["metadata"]["generation"]:
            return ("", "", "")
        return triple(found, "Ready")

    def is_installed(self, letter: str, version: str = "1.0.0") -> bool:
        """Whether the Operator is Ready with this version, and rukpak has removed the version before."""
        installed = ((self.operator(letter) or {}).get("status") or {}).get("installed") or {}
        return installed.get("version") == version and self.ready(letter)[0] == "True"

    def is_gone(self, *letters: str) -> bool:
        """Whether nothing of these packages is left."""
        found = [self.operators.get(self.package(each)) for each in letters]
        found += [self.deployments.get(self.package(each)) for each in letters]
        found += [self.definitions.get(f"things.{group(self.package(each))}") for each in letters]
        return not any(found)

    def requested_version(self, letter: str) -> str:
        """The version that the BundleDeployment requests."""
        found = self.deployment(letter)
        annotations = found["spec"]["template"]["metadata"]["annotations"] if found else {}
        return str(annotations.get("operators.operatorframework.io/bundle-version", ""))

    def annotation(self, letter: str, name: str = PLANNED_BUNDLE_ANNOTATION) -> str:
        """An annotation of the BundleDeployment."""
        found = self.deployment(letter)
        return str((found["metadata"].get("annotations") or {}).get(name, "")) if found else ""

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait for events until it holds."""
        try:
            async with asyncio.timeout(WITHIN_SECONDS):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            own = [
                each
                for informer in (self.operators, self.deployments)
                for each in informer.objects.values()
                if each["metadata"]["name"].startswith(self.name)
            ]
            pytest.fail(f"not within {WITHIN_SECONDS:g} s: {what}\n{yaml.safe_dump_all(own)}")

    async def until_gone(self, *letters: str) -> None:
        """Wait until nothing of these packages is left."""
        await self.until(f"nothing is left of {', '.join(letters)}", lambda: self.is_gone(*letters))

    # --- operator-controller

    def settings(self, **changes: Any) -> Settings:
        """Those of operator-controller: alone, without ports; `changes` are others."""
        made = Settings(
            cache_dir=self._directory / "cache",
            kubeconfig=str(self._kubeconfig),
            system_namespace=NAMESPACE,
            metrics_bind_address="0",
            health_probe_bind_address="0",
            leader_elect=False,
            allow_source_cidr=("127.0.0.0/8",),
            extra=argparse.Namespace(catalogs_ca_file=None, catalogs_token=False, debug_bind_address="0"),
        )
        return replace(made, **changes)

    @contextlib.asynccontextmanager
    async def controller(self) -> AsyncIterator[KillSwitch]:
        """Run operator-controller; it is killed at the end. Its cache remains."""
        async with run_killable("operator-controller", self.settings(), build) as kill_switch:
            yield kill_switch

    @contextlib.asynccontextmanager
    async def replica(self, number: int) -> AsyncIterator[tuple[Manager, RefusingProxy]]:
        """Run a replica of operator-controller, which stands for election, behind a proxy; it stops in order at the end."""
        directory = self._directory / f"replica-{number}"
        await asyncio.to_thread(directory.mkdir)
        async with (
            run_as(RefusingProxy, self._kubeconfig, directory) as between,
            await Client.connect(str(between.kubeconfig)) as client,
        ):
            changes = {"kubeconfig": str(between.kubeconfig), "cache_dir": directory / "cache", "leader_elect": True}
            manager = Manager("operator-controller", self.settings(**changes), client)
            try:
                await build(manager)
                run = asyncio.create_task(manager.run())
                try:
                    yield manager, between
                finally:
                    between.allow()
                    manager.stop()
                    await run
            finally:
                await manager.close()

    async def walk(self, what: str, holds: Callable[[], bool]) -> int:
        """Run operator-controller until this holds; each process is killed after its first write of something else than a
        status. Returns the number of processes."""
        writes: list[str] = []
        for number in range(1, MAX_PROCESSES):
            async with self.controller() as kill_switch:
                kill_switch.writes_left, kill_switch.counts_status = 1, False
                await first(kill_switch.killed.wait(), self.until(what, holds))
                if not kill_switch.was_killed:
                    return number
                writes += kill_switch.writes
        pytest.fail(f"not with {MAX_PROCESSES} writes: {what}\n{chr(10).join(writes[-10:])}")

    async def close(self) -> None:
        """Delete everything, with operator-controller."""
        for each in list(self.operators.objects.values()):
            if each["metadata"]["name"].startswith(self.name):
                with contextlib.suppress(NotFound):
                    await self.client.delete(operators.KIND, each["metadata"]["name"])
        async with self.controller():
            await self.until("all Operators are gone", lambda: not any(self._own(self.operators)))
            await self.until("all BundleDeployments are gone", lambda: not any(self._own(self.deployments)))
        with contextlib.suppress(NotFound):
            await self.client.delete(catalogs.KIND, self.name)

    def _own(self, informer: Informer) -> Iterable[Object]:
        return (each for each in informer.objects.values() if each["metadata"]["name"].startswith(self.name))


@contextlib.asynccontextmanager
async def make_site(cluster: Cluster, suite: Suite, directory: Path) -> AsyncIterator[Site]:
    """A Site with catalogd and rukpak running."""
    suite.stop("operator-controller")
    suite.start("catalogd", "rukpak")
    async with await InformingClient.connect(str(cluster.kubeconfig)) as client:
        site = Site(cluster, client, directory)
        tasks = [asyncio.create_task(informer.run()) for informer in site.informers]
        try:
            for informer in site.informers:
                await informer.synced.wait()
            yield site
            await site.close()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
