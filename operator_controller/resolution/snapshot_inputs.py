"""Reads the inputs of a Snapshot that are not requests: what each Catalog offers to resolution, and the facts of the cluster.

The content of a Catalog is read once per digest, and again after a delay if it cannot be read. A read never delays another one,
and a new digest replaces what is known only once it is read. All calls from one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api.catalogs import Catalog, ConditionType, Reason, package_names, served_digest, unpack_failure
from olmkit.api.conditions import find_condition, is_condition_true
from olmkit.api.customresourcedefinitions import definition_of
from olmkit.api.meta import Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from operator_controller.catalog_cache.client import CatalogContentResult
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts, ClusterKind
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource
from operator_controller.resolve.snapshot.package_snapshot import CatalogState

CATALOG_RETRY_DELAY = timedelta(seconds=10)
"""Time until a catalog that cannot be read is requested again: no event announces that it can be."""
FIRST_READ_TIMEOUT = timedelta(seconds=10)
"""Time for which resolution waits for the first read of a Catalog; then the Catalog counts as unreadable until it is read."""
MAX_CONCURRENT_READS = 4
NOT_READ_YET = "it is being read"
REFRESH_INTERVAL = timedelta(minutes=10)
"""Time between two requests for the version and for discovery, which no event announces."""

ReadContent = Callable[[Mapping[str, Any]], Awaitable[CatalogContentResult]]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CatalogRead:
    """The state of a Catalog after a read, and whether it may change without an event."""

    source: CatalogSource
    needs_recheck: bool = False


@dataclass
class _Reading:
    """The task that reads a Catalog; what counts until it has read it once, and since when."""

    task: asyncio.Task[None]
    unread: CatalogSource
    started: float


class CatalogReads:
    """The CatalogSource of each Catalog. `changed` is called when a read has changed one."""

    def __init__(self, read: ReadContent, changed: Callable[[], None]) -> None:
        self._read = read
        self._changed = changed
        self._known: dict[str, CatalogRead] = {}
        self._readings: dict[str, _Reading] = {}
        self._outdated: set[str] = set()
        self._free = asyncio.Semaphore(MAX_CONCURRENT_READS)
        self._progress = asyncio.Event()

    @property
    def reads(self) -> tuple[CatalogRead, ...]:
        """The last read of each Catalog, sorted by name."""
        unread = {name: CatalogRead(each.unread, needs_recheck=True) for name, each in self._readings.items()}
        return tuple(read for _, read in sorted((unread | self._known).items()))

    @property
    def outdated(self) -> Set[str]:
        """The Catalogs that have changed since they were read last: what is known of them may be what they were."""
        return self._outdated

    def update(self, raw: Object) -> None:
        """Read a Catalog that is new or whose resolution_inputs() have changed."""
        catalog = Catalog.load(raw)
        name = catalog.metadata.name
        self._cancel(name)
        known = self._known.get(name)
        if known is not None and known.source.state is CatalogState.PENDING and served_digest(catalog):
            del self._known[name]  # it had nothing to offer, so that its first content is read for the first time
        self._outdated.add(name)
        task = asyncio.create_task(self._keep_reading(name, raw), name=f"read catalog {name}")
        unread = catalog_source(catalog, CatalogContentResult(CatalogState.UNREACHABLE, message=NOT_READ_YET))
        self._readings[name] = _Reading(task, unread, asyncio.get_running_loop().time())

    def remove(self, name: str) -> None:
        """Forget a Catalog that was deleted."""
        self._cancel(name)
        self._known.pop(name, None)
        self._outdated.discard(name)
        self._progress.set()

    def read_again(self, digests: frozenset[str], catalogs: Mapping[str, Object]) -> None:
        """Read the Catalogs again whose content has one of the digests and could not be read from disk."""
        for read in self.reads:
            if read.source.content in digests and read.source.name in catalogs:
                self.update(catalogs[read.source.name])

    async def first_reads(self) -> None:
        """Wait until every Catalog that serves content has been read once, or its read has lasted for FIRST_READ_TIMEOUT."""
        loop = asyncio.get_running_loop()
        while True:
            self._progress.clear()
            started = [each.started for name, each in self._readings.items() if name not in self._known]
            left = max(started, default=0.0) + FIRST_READ_TIMEOUT.total_seconds() - loop.time()
            if not started or left <= 0:
                return
            try:
                async with asyncio.timeout(left):
                    await self._progress.wait()
            except TimeoutError:
                return

    async def close(self) -> None:
        """Cancel all reads, and forget everything."""
        tasks = [each.task for each in self._readings.values()]
        for name in [*self._readings]:
            self._cancel(name)
        self._known.clear()
        self._outdated.clear()
        if tasks:
            await asyncio.wait(tasks)

    def _cancel(self, name: str) -> None:
        reading = self._readings.pop(name, None)
        if reading is not None:
            reading.task.cancel()

    async def _keep_reading(self, name: str, raw: Object) -> None:
        """Read it; if it cannot be read, or serves other content than its status names, again after a delay."""
        catalog = Catalog.load(raw)
        while True:
            async with self._free:
                result = await self._result(name, raw)
            found = CatalogRead(catalog_source(catalog, result), result.needs_recheck)
            if self._known.get(name) != found or name in self._outdated:
                self._known[name] = found
                self._outdated.discard(name)
                self._changed()
            self._progress.set()
            if not found.needs_recheck:
                return
            await asyncio.sleep(CATALOG_RETRY_DELAY.total_seconds())

    async def _result(self, name: str, raw: Object) -> CatalogContentResult:
        try:
            return await self._read(raw)
        except Exception as error:  # one Catalog must not keep the others from being resolved
            log.error("a catalog cannot be read", extra={"catalog": name, "error": str(error)}, exc_info=error)
            return CatalogContentResult(CatalogState.UNREACHABLE, message=str(error), needs_recheck=True)


def resolution_inputs(catalog: Object | None) -> tuple[object, ...] | None:
    """The part of a Catalog that resolution depends on; changes of the rest concern no Operator. A Catalog that is not served is
    waited for, and its error is what Operators report, but not its progress."""
    if catalog is None:
        return None
    model = Catalog.load(catalog)
    served = served_digest(model)
    is_ignored = model.metadata.deleting or model.is_unavailable
    labels = tuple(sorted(model.metadata.labels.items()))
    return (
        model.metadata.uid,
        served,
        model.status.content_url if served else unpack_failure(model),
        model.spec.priority,
        model.selected_packages,
        labels,
        is_ignored,
    )


def is_outdated(catalog: Object | None) -> bool:
    """Report whether the Catalog serves content while it waits for other content: its spec has changed, or newer content cannot
    be read.

    It still counts with what it serves, but what it does not offer may be about to come.
    """
    model = Catalog.load(catalog) if catalog is not None else None
    if model is None or not served_digest(model):
        return False
    if model.status.observed_generation != model.metadata.generation:
        return True
    ready = find_condition(model.status.conditions, ConditionType.READY)
    reconciling = is_condition_true(model.status.conditions, ConditionType.RECONCILING)
    return reconciling and ready is not None and ready.reason == Reason.SERVING_OLD_CONTENT


def catalog_source(catalog: Catalog, result: CatalogContentResult) -> CatalogSource:
    """The Catalog as a part of the Snapshot, with the result of reading its content."""
    names, selected = package_names(catalog), catalog.selected_packages
    listed = frozenset(names if selected is None else selected)
    withheld = tuple(each for each in names if each not in listed)
    is_ignored = result.state in (CatalogState.UNAVAILABLE, CatalogState.PENDING)
    return CatalogSource(
        name=catalog.metadata.name,
        priority=catalog.spec.priority,
        state=result.state,
        content=result.content.digest if result.content is not None else "",
        message=result.message,
        package_names=() if is_ignored else tuple(each for each in names if each in listed),
        lists_all_packages=catalog.status.package_count is not None and len(names) == catalog.status.package_count,
        selected_packages=selected,
        withheld_names=() if result.state is CatalogState.UNAVAILABLE else withheld,
    )


# --- the cluster


class ClusterFactsReader:
    """The facts of the cluster that bundles may require: its version, the kinds of CRDs, and those that discovery lists.

    What cannot be read stays as it was last known. The kinds of CRDs are taken from `definitions`, their trimmed informer: a
    CRD that is created or deleted counts at once and costs no request.
    """

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
