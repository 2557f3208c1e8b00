"""Aggregated discovery: kinds, their versions, and groups that do not answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.api.meta import Kind
from olmkit.runtime.discovery import Discovery, DiscoveryCache, parse_discovery

DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)


VERBS = {"Binding": ["create"], "PackageManifest": ["get", "list"]}
"""Kinds with other verbs than those of stored objects."""


def version(name: str, *kinds: tuple[str, str, str], freshness: str | None = "Current") -> dict[str, Any]:
    resources = [
        {
            "resource": plural,
            "responseKind": {"group": "", "version": "", "kind": kind},
            "scope": scope,
            "verbs": VERBS.get(kind, ["create", "list", "delete"]),
        }
        for plural, kind, scope in kinds
    ]
    return {"version": name, "resources": resources} | ({"freshness": freshness} if freshness else {})


def group(name: str, *versions: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name} if name else {}, "versions": list(versions)}


CORE = {"items": [group("", version("v1", ("pods", "Pod", "Namespaced"), ("namespaces", "Namespace", "Cluster")))]}
GROUPS = {
    "items": [
        group("odd", version("v1", ("bindings", "Binding", "Namespaced"))),
        group("views", version("v1", ("packagemanifests", "PackageManifest", "Namespaced"))),
        group(
            "autoscaling",
            version("v2", ("horizontalpodautoscalers", "HorizontalPodAutoscaler", "Namespaced")),
            version("v1", ("horizontalpodautoscalers", "HorizontalPodAutoscaler", "Namespaced")),
        ),
        group("apps", version("v1", ("deployments", "Deployment", "Namespaced"), freshness=None)),
        group("metrics.k8s.io", version("v1beta1", freshness="Stale")),
        group("odd.example.com", {"version": "v1"}, version("v2", ("nothings", "", "Cluster"))),
    ]
}
FOUND = parse_discovery([CORE, GROUPS])


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        pytest.param("v1", "Pod", Kind("", "v1", "Pod", "pods", namespaced=True), id="a core kind"),
        pytest.param("v1", "Namespace", Kind("", "v1", "Namespace", "namespaces"), id="a cluster-scoped kind"),
        pytest.param("apps/v1", "Deployment", DEPLOYMENT, id="a kind of a group"),
        pytest.param("apps/v1beta1", "Deployment", None, id="a version that is not served"),
        pytest.param("apps/v1", "Pod", None, id="a kind of another group"),
    ],
)
def test_find(api_version: str, kind: str, expected: Kind | None) -> None:
    assert FOUND.find(api_version, kind) == expected


def test_the_first_version_is_preferred() -> None:
    assert FOUND.kinds["autoscaling", "HorizontalPodAutoscaler"].version == "v2"
    assert ("autoscaling", "v1", "HorizontalPodAutoscaler") in FOUND.served


def test_a_stale_group_is_failed() -> None:
    assert FOUND.failed_groups == {"metrics.k8s.io"}


def test_listable_kinds() -> None:
    assert ("", "v1", "Pod") in FOUND.listable
    assert FOUND.find("odd/v1", "Binding") is not None
    assert ("odd", "v1", "Binding") not in FOUND.listable


def test_deletable_kinds() -> None:
    assert ("", "v1", "Pod") in FOUND.deletable
    assert ("views", "v1", "PackageManifest") in FOUND.listable - FOUND.deletable


def test_empty_documents() -> None:
    assert parse_discovery([{}, {"items": None}]) == Discovery({}, {}, frozenset())


class Server:
    """Counts its requests; with `invalidate_meanwhile` the cache is invalidated during each."""

    def __init__(self) -> None:
        self.request_count = 0
        self.cache = DiscoveryCache(self)
        self.invalidate_meanwhile = False

    async def discover(self) -> Discovery:
        self.request_count += 1
        await asyncio.sleep(0)
        if self.invalidate_meanwhile:
            self.cache.invalidate()
        return FOUND


def test_the_cache_requests_discovery_once_until_invalidated() -> None:
    async def main() -> None:
        server = Server()
        cache = server.cache
        known = [cache.current]
        await asyncio.gather(cache.get(), cache.get(), cache.get())
        assert server.request_count == 1
        known.append(cache.current)
        cache.invalidate()
        known.append(cache.current)
        assert known == [None, FOUND, None]
        await cache.get()
        assert server.request_count == 2
        await cache.refresh()
        assert server.request_count == 3

    asyncio.run(main())


def test_an_invalidation_during_a_request_makes_its_result_stale() -> None:
    async def main() -> None:
        server = Server()
        server.invalidate_meanwhile = True
        assert await server.cache.get() == FOUND
        assert server.cache.current is None

    asyncio.run(main())
