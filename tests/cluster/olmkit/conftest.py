"""A client of the session's cluster, and a new namespace for each test of the runtime."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from tests.cluster import proxy
from tests.cluster.proxy import Proxy

NAMESPACE = Kind("", "v1", "Namespace", "namespaces")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
Object = dict[str, Any]


def config_map(namespace: str, name: str, **data: str) -> Object:
    """A ConfigMap that the informers of these tests select by its label."""
    metadata = {"name": name, "namespace": namespace, "labels": {"test": "runtime"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@contextlib.asynccontextmanager
async def proxied(cluster: Cluster, directory: Path) -> AsyncIterator[tuple[Proxy, Client]]:
    """A client whose connections go through a proxy that can interrupt them."""
    async with (
        proxy.run(cluster.kubeconfig, directory) as between,
        await Client.connect(str(between.kubeconfig)) as client,
    ):
        yield between, client


async def until(condition: Callable[[], bool], what: str, *, within: float = 30.0) -> None:
    """Wait until the condition is true, by polling; fails with `what` if it is not in time."""
    try:
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110 there is no event to await
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"not within {within:g} s: {what}")


async def until_allowed(client: Client, account: str, **attributes: Object) -> None:
    """Wait until "namespace:name" may do that: the authorizer sees roles and bindings with a delay."""
    spec = {"user": f"system:serviceaccount:{account}", **attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    async with asyncio.timeout(30):
        while not (await client.request("POST", path, body=review))["status"]["allowed"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


class View:
    """The objects according to the changes of an informer; records changes that are not consecutive in `gaps`."""

    def __init__(self, informer: Informer) -> None:
        self.objects: dict[str, Object] = {}
        self.gaps: list[str] = []
        self.count = 0
        self._changed = asyncio.Event()
        informer.subscribe(self._on_change)

    def _on_change(self, change: Change) -> None:
        some = change.new or change.old
        assert some is not None
        name = some["metadata"]["name"]
        self.count += 1
        if self.objects.pop(name, None) != change.old:
            self.gaps.append(name)
        if change.new is not None:
            self.objects[name] = change.new
        self._changed.set()

    async def until(self, condition: Callable[[], bool], what: str, *, within: float = 60.0) -> None:
        """Wait until the condition is true, evaluated after each change; fails with `what` if it is not in time."""
        try:
            async with asyncio.timeout(within):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pytest.fail(f"not within {within:g} s: {what}")


def versions(objects: dict[Any, Object] | list[Object]) -> dict[str, str]:
    """resourceVersion by name."""
    values = objects.values() if isinstance(objects, dict) else objects
    return {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in values}


@contextlib.asynccontextmanager
async def running(informer: Informer) -> AsyncIterator[Informer]:
    """The informer, running and synced."""
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(60):
            await informer.synced.wait()
        yield informer
    finally:
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with the rights of the cluster administrator."""
    async with await Client.connect(str(cluster.kubeconfig)) as connected:
        yield connected


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A new namespace for one test."""
    name = f"runtime-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    with contextlib.suppress(NotFound, ApiError):
        await client.delete(NAMESPACE, name)
