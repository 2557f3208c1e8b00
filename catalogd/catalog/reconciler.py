"""Reconciles Catalogs: observes one, runs the five steps, and writes its status.

Changes only the status; catalogd.catalog.act carries out Plans. Reads sources only in jobs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from catalogd.catalog.act import CatalogActions, Memory
from catalogd.catalog.decide import decide
from catalogd.catalog.package_diff import Difference, of_packages
from catalogd.catalog.report import report
from catalogd.catalog.valid_condition import MAX_ERROR_BYTES
from catalogd.catalog.world import (
    Done,
    Evaluation,
    FailedLoad,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    LoadState,
    Plan,
    Recovery,
    ServedContent,
    World,
)
from catalogd.storage.catalog_store import ServedCatalog
from olmkit.api.catalogs import MAX_REFRESH_LENGTH, REFRESH_ANNOTATION, Catalog, CatalogStatus
from olmkit.api.conditions import StatusReport
from olmkit.errors import Blocked, OlmError
from olmkit.gocompat.text import truncate
from olmkit.jobs.job import JobReason
from olmkit.jobs.state import Failed, Finished, Queued, Running
from olmkit.runtime.reconciler import Reconciler
from olmkit.runtime.status_publisher import Publisher
from olmkit.sources.errors import BadContent
from olmkit.store.disk_errors import DiskReason

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CatalogReconciler:
    """Observes and publishes; `actions` carries out Plans. `base_url` is the URL that catalogs are served at."""

    actions: CatalogActions
    publisher: Publisher
    base_url: str

    def steps(self) -> Reconciler[World, Plan, Evaluation, Done, StatusReport[CatalogStatus]]:
        """The pass over one Catalog."""
        return Reconciler(self.observe, decide, self.actions.act, report, self.publish)

    def start_leading(self) -> None:
        """Forget everything: content that this process loaded before it leads may be older than the content that another replica
        serves."""
        self.actions.jobs.cancel_all()
        self.actions.memories.clear()
        self.publisher.reset()

    def last_checked(self, name: str) -> datetime | None:
        """The time at which this process last read the Catalog's source successfully; None if it has not."""
        return self.actions.memory(name).last_checked

    def log_failure(self, name: str) -> None:
        """Log the failure of a job that has ended, unless the previous failure was the same."""
        state = self.actions.jobs.state(name)
        if not isinstance(state, Failed):
            return
        before, message = self.actions.memory(name).last_failure, state.error.message
        if before is None or before.error.message != message:
            facts = {"catalog": name, "error": truncate(message, MAX_ERROR_BYTES)}
            log.warning("the source of a catalog cannot be read", extra=facts)

    async def observe(self, name: str) -> World | None:
        """The World of a Catalog; None if the Catalog does not exist and this process has nothing of it left."""
        actions = self.actions
        raw, on_disk, memory = actions.catalogs.get(name), actions.store.get(name), actions.memory(name)
        corruption = actions.store.corruption(name)
        if raw is None and not (on_disk or corruption or actions.jobs.state(name) or name in actions.memories):
            return None
        catalog = None if raw is None else Catalog.load(raw)
        is_foreign = catalog is not None and on_disk is not None and not on_disk.record.belongs_to(catalog.metadata.uid)
        served = None if is_foreign else on_disk
        failure = self._last_failure(name, memory)
        return World(
            name=name,
            raw=raw,
            catalog=catalog,
            job=self._load_state(name, memory),
            served=ServedContent(served.record, served.content.summary) if served else None,
            package_diff=self._difference(catalog, served),
            last_checked=memory.last_checked,
            content_url=f"{self.base_url}/catalogs/{name}/all.json",
            now=datetime.now(UTC),
            input_versions=actions.inputs.versions(catalog.spec.source) if catalog else {},
            namespace=actions.inputs.namespace,
            pull_secret_version=actions.inputs.secrets.common_version,
            refresh_requested=_requested_refresh(raw),
            refresh_started=memory.refresh_started,
            loaded_config_map_versions=memory.loaded_config_map_versions,
            corruption=corruption,
            recovery=_recovery(memory),
            serves_deleted_catalog=is_foreign,
            last_failure=failure,
            is_disk_full=failure is not None and failure.error.reason == DiskReason.DISK_FULL,
        )

    def _load_state(self, name: str, memory: Memory) -> LoadState | None:
        match self.actions.jobs.state(name):
            case (Queued(identity) | Running(identity)) as state:
                previous = memory.last_failure
                error = previous.error if previous and previous.job_identity == identity else None
                return LoadRunning(identity, is_queued=isinstance(state, Queued), previous_error=error)
            case Finished(identity, result):
                digest = "" if result.unchanged else result.digest
                return LoadFinished(identity, result.ref, digest, result.resolved, result.validator, result.signed_by)
            case Failed(identity, error, finished_at):
                return LoadFailed(identity, _as_bad_content(error), timedelta(seconds=time.monotonic() - finished_at))
            case None if memory.start_failure is not None:
                failure, age = memory.start_failure, timedelta(seconds=time.monotonic() - memory.start_failed_at)
                return LoadFailed(failure.job_identity, failure.error, age)
            case None:
                return None

    def _last_failure(self, name: str, memory: Memory) -> FailedLoad | None:
        match self.actions.jobs.state(name):
            case Failed(identity, error):
                return FailedLoad(identity, _as_bad_content(error))
            case _:
                return memory.last_failure

    def _difference(self, catalog: Catalog | None, served: ServedCatalog | None) -> Difference:
        """The difference between the Package objects and the served content. While nothing is served, objects stay as they are,
        unless the Catalog is Unavailable."""
        if catalog is None:
            return Difference()
        if catalog.is_unavailable:
            return self.actions.packages.difference(catalog, ())
        if served is None:
            return Difference()
        desired, names = served.content.package_fingerprints, catalog.selected_packages
        return self.actions.packages.difference(catalog, desired if names is None else of_packages(names, desired))

    async def publish(self, world: World, status_report: StatusReport[CatalogStatus]) -> None:
        """Write the status of a Catalog that is not being deleted and has not changed since it was observed.

        A Catalog that has changed is in the queue again.
        """
        current = self.actions.catalogs.get(world.name)
        if world.raw is None or current is None or _version(current) != _version(world.raw):
            return
        if world.catalog is None or world.catalog.metadata.deleting:
            return
        await self.publisher(world.raw, status_report)
        memory = self.actions.memory(world.name)
        if memory.refresh_started and memory.refresh_started == status_report.status.last_handled_refresh:
            self.actions.memories[world.name] = replace(memory, refresh_started="")


def _recovery(memory: Memory) -> Recovery | None:
    if memory.recovery is None:
        return None
    return replace(memory.recovery, age=timedelta(seconds=time.monotonic() - memory.recovered_at))


def _version(raw: Mapping[str, Any]) -> str:
    return str(raw["metadata"].get("resourceVersion", ""))


def _requested_refresh(raw: Mapping[str, Any] | None) -> str:
    """The value of the annotation that requests a check, truncated to the length that is compared."""
    annotations = (raw or {}).get("metadata", {}).get("annotations") or {}
    return str(annotations.get(REFRESH_ANNOTATION, ""))[:MAX_REFRESH_LENGTH]


def _as_bad_content(error: OlmError) -> OlmError:
    """The error of a job, as BadContent if the input of the job killed it: another digest under the same tag may be readable."""
    if isinstance(error, Blocked) and error.reason in list(JobReason):
        return BadContent(error.reason, error.message, "")
    return error
