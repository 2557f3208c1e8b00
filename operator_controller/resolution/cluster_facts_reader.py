"""The facts of the cluster that bundles may require: its version, the kinds of CRDs, and those that discovery lists.

What cannot be read stays as it was last known. The kinds of CRDs are taken from their informer, so that a CRD that is created or
deleted counts at once and costs no request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta

from olmkit.api.customresourcedefinitions import definition_of
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind

REFRESH_INTERVAL = timedelta(minutes=10)
"""Time between two requests for the version and for discovery, which no event announces."""

log = logging.getLogger(__name__)


class ClusterFactsReader:
    """`definitions` is the informer of CustomResourceDefinitions, trimmed."""

    def __init__(self, client: Client, definitions: Informer) -> None:
        self.definitions = definitions
        self._client = client
        self._kube_version = ""
        self._discovered: frozenset[tuple[str, str, str]] | None = None
        self._reads = 0
        self._former_kinds: dict[tuple[str, str], int] = {}
        """(group, kind) of CRDs that were changed or deleted -> how many reads had begun. Discovery of before may list them."""

    @property
    def facts(self) -> ClusterFacts:
        """The facts as they are known."""
        found = [one for one in map(definition_of, self.definitions.objects.values()) if one is not None]
        kinds = [
            ClusterKind(one.group, one.kind, one.served_versions, is_installed=one.is_installed)
            for one in found
            if one.is_served
        ]
        kinds.sort(key=lambda each: (each.group, each.kind))
        custom = self._former_kinds.keys() | {one.group_kind for one in found}
        return ClusterFacts(self._kube_version, tuple(kinds), self._native_kinds(kinds, custom))

    def on_change(self, change: Change) -> bool:
        """A CustomResourceDefinition changed: whether that matters."""
        before = definition_of(change.old)
        if before is not None:
            self._former_kinds[before.group_kind] = self._reads
        return before != definition_of(change.new)

    def _native_kinds(
        self, served: Iterable[ClusterKind], custom: Collection[tuple[str, str]]
    ) -> tuple[str, ...] | None:
        if self._discovered is None:
            return None
        found = {f"{one.group}/{version}/{one.kind}" for one in served for version in one.versions}
        found.update(
            f"{group}/{version}/{kind}" for group, version, kind in self._discovered if (group, kind) not in custom
        )
        return tuple(sorted(found))

    async def read(self) -> None:
        """Request the version and discovery once."""
        self._reads += 1
        number = self._reads
        try:
            self._kube_version = await self._client.version()
            discovery = await self._client.discover()
        except ApiError as error:
            log.warning("the version and the kinds of the cluster cannot be read", extra={"error": str(error)})
            return
        self._discovered = None if discovery.failed_groups else frozenset(discovery.served)
        self._former_kinds = {kind: begun for kind, begun in self._former_kinds.items() if begun >= number}

    async def keep_reading(self, changed: Callable[[], None]) -> None:
        """Request them again periodically, until cancelled. `changed` is called when they differ."""
        while True:
            await asyncio.sleep(REFRESH_INTERVAL.total_seconds())
            before = self.facts
            await self.read()
            if before != self.facts:
                changed()
