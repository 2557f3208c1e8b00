"""The facts of the cluster that bundles may require: its version, the kinds of CRDs, and those that discovery lists.

Used by resolver.py. What cannot be read stays as it was last known.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from olmkit.api.customresourcedefinitions import definition_of
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from operator_controller.resolve.cluster_facts import ClusterFacts, ClusterKind

REFRESH_INTERVAL = timedelta(minutes=10)
"""Time between two requests for the version and for discovery, which no event announces. They also follow a change of a CRD."""

log = logging.getLogger(__name__)


class ClusterFactsReader:
    """`definitions` is the informer of CustomResourceDefinitions, trimmed."""

    def __init__(self, client: Client, definitions: Informer) -> None:
        self.definitions = definitions
        self._client = client
        self._kube_version = ""
        self._native_kinds: tuple[str, ...] | None = None
        self._refresh = asyncio.Event()

    @property
    def facts(self) -> ClusterFacts:
        """The facts as they are known."""
        found = filter(None, map(definition_of, self.definitions.objects.values()))
        kinds = [ClusterKind(one.group, one.kind, one.served_versions) for one in found if one.is_served]
        kinds.sort(key=lambda each: (each.group, each.kind))
        return ClusterFacts(self._kube_version, tuple(kinds), self._native_kinds)

    def on_change(self, change: Change) -> bool:
        """A CustomResourceDefinition changed: whether that matters."""
        if definition_of(change.old) == definition_of(change.new):
            return False
        self._refresh.set()
        return True

    async def read(self) -> None:
        """Request the version and discovery once."""
        try:
            self._kube_version = await self._client.version()
            discovery = await self._client.discover()
        except ApiError as error:
            log.warning("the version and the kinds of the cluster cannot be read", extra={"error": str(error)})
            return
        names = (f"{group}/{version}/{kind}" for group, version, kind in discovery.served)
        self._native_kinds = None if discovery.failed_groups else tuple(sorted(names))

    async def keep_reading(self, changed: Callable[[], None]) -> None:
        """Request them again after changes and periodically, until cancelled. `changed` is called when they differ."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_INTERVAL.total_seconds()):
                    await self._refresh.wait()
            self._refresh.clear()
            before = self._kube_version, self._native_kinds
            await self.read()
            if before != (self._kube_version, self._native_kinds):
                changed()
