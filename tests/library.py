"""What a client of the operator library does: of a process in tests/cluster, and of a pod in tests/node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api.meta import Kind
from olmkit.errors import Conflict, NotFound
from olmkit.runtime.client import Client

GROUP = "library.example.com"
ALPHA, BETA = (Kind(GROUP, version, "Book", "books", namespaced=True) for version in ("v1alpha1", "v1beta1"))
SPEC = {"title": "Notes"}

Object = dict[str, Any]


async def served(cluster: Cluster, client: Client, kinds: Iterable[Kind]) -> None:
    """Return when the APIServices of the kinds are Available, and discovery, which follows them, lists the kinds."""
    expected = set(kinds)
    names = [f"apiservice/{each.version}.{each.group}" for each in expected]
    cluster.kubectl("wait", "--for=condition=Available", "--timeout=60s", *names)
    while not expected <= set((await client.discover()).served.values()):
        pass


async def borrow(client: Client, namespace: str, name: str) -> None:
    """Create a Book, find it and list it."""
    await client.create(ALPHA, {"metadata": {"name": name}, "spec": SPEC}, namespace)
    assert (await client.get(ALPHA, name, namespace))["spec"] == SPEC


async def assert_serves(client: Client, namespace: str) -> None:
    """Books are created once, listed and not found as the API server does it."""
    await borrow(client, namespace, "algebra")
    with pytest.raises(Conflict, match="already exists"):
        await borrow(client, namespace, "algebra")
    listed, _ = await client.list(ALPHA, namespace)
    assert "algebra" in [each["metadata"]["name"] for each in listed]
    with pytest.raises(NotFound, match=rf'books.{GROUP} "geometry" not found'):
        await client.get(ALPHA, "geometry", namespace)


async def assert_serves_both_versions(client: Client, namespace: str) -> None:
    """The Book of `assert_serves` is the same in the second version, where it is deleted."""
    assert (await client.get(BETA, "algebra", namespace))["spec"] == SPEC
    await client.delete(BETA, "algebra", namespace)
    with pytest.raises(NotFound):
        await client.get(ALPHA, "algebra", namespace)
