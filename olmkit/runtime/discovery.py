"""The kinds that the API server serves, by its aggregated discovery.

parse_discovery is pure; olmkit.runtime.client requests the documents; DiscoveryCache keeps the result until it is invalidated,
because a CRD or an APIService changed. A group whose server does not answer is listed as such, never treated as absent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from olmkit.api.meta import Kind


@dataclass(frozen=True)
class Discovery:
    """The kinds that are served at one moment."""

    kinds: Mapping[tuple[str, str], Kind]
    """The kinds by (group, kind), in the version that the API server prefers."""
    served: Mapping[tuple[str, str, str], Kind]
    """The kinds in every version, by (group, version, kind)."""
    failed_groups: frozenset[str]
    """Groups whose aggregated API server does not answer: their kinds are unknown."""
    listable: frozenset[tuple[str, str, str]] = frozenset()
    """(group, version, kind) of those whose objects can be listed; reviews and bindings cannot."""
    deletable: frozenset[tuple[str, str, str]] = frozenset()
    """(group, version, kind) of those whose objects can be deleted; figures and views of other objects cannot."""

    def find(self, api_version: str, kind: str) -> Kind | None:
        """The kind as a manifest names it, such as ("apps/v1", "Deployment"); None when exactly that is not served."""
        group, _, version = api_version.rpartition("/")
        return self.served.get((group, version, kind))


def parse_discovery(documents: Iterable[Mapping[str, Any]]) -> Discovery:
    """APIGroupDiscoveryList documents (of /api and /apis, version v2 or v2beta1) as one Discovery."""
    kinds: dict[tuple[str, str], Kind] = {}
    served: dict[tuple[str, str, str], Kind] = {}
    failed: set[str] = set()
    by_verb: dict[str, set[tuple[str, str, str]]] = {"list": set(), "delete": set()}
    for document in documents:
        for item in document.get("items") or []:
            group = (item.get("metadata") or {}).get("name", "")
            for version in item.get("versions") or []:
                if version.get("freshness", "Current") != "Current":
                    failed.add(group)
                for kind, verbs in _kinds(group, version):
                    served.setdefault((group, kind.version, kind.kind), kind)
                    kinds.setdefault((group, kind.kind), kind)
                    for verb in by_verb.keys() & set(verbs):
                        by_verb[verb].add((group, kind.version, kind.kind))
    return Discovery(kinds, served, frozenset(failed), *map(frozenset, by_verb.values()))


def _kinds(group: str, version: Mapping[str, Any]) -> Iterator[tuple[Kind, Collection[str]]]:
    """Each kind with its verbs."""
    for resource in version.get("resources") or []:
        name = (resource.get("responseKind") or {}).get("kind")
        if name:
            kind = Kind(group, version["version"], name, resource["resource"], resource.get("scope") == "Namespaced")
            yield kind, resource.get("verbs") or ()


class DiscoveryClient(Protocol):
    """The part of olmkit.runtime.client.Client that the cache needs."""

    async def discover(self) -> Discovery: ...


class DiscoveryCache:
    """The last Discovery, read again on demand after an invalidate()."""

    def __init__(self, client: DiscoveryClient) -> None:
        self._client = client
        self._lock = asyncio.Lock()
        self._changes = 0
        self._read_at = -1
        self._last: Discovery | None = None

    @property
    def current(self) -> Discovery | None:
        """The last result, unless it was invalidated since it was requested; else None."""
        return self._last if self._read_at == self._changes else None

    def invalidate(self) -> None:
        """A kind may have been added or removed: the next get() requests discovery again."""
        self._changes += 1

    async def get(self) -> Discovery:
        """The kinds that are served; requested only if they are not known. Concurrent callers share one request. Raises
        ApiError."""
        async with self._lock:
            return self.current or await self._read()

    async def refresh(self) -> Discovery:
        """The kinds that are served now; always requested. Raises ApiError."""
        async with self._lock:
            return await self._read()

    async def _read(self) -> Discovery:
        changes = self._changes
        answer = await self._client.discover()
        self._last, self._read_at = answer, changes
        return answer
