"""Compares the CustomResourceDefinitions of bundles that wait with those on the cluster, beside the passes of the reconciler.

    a bundle waits                  its summary is requested from catalogd, which reads its image
    the summary is there            each definition that the cluster has too is read and compared, of one bundle at a time
    a definition changes            the bundles that have it are compared again
    the summary cannot be had       it is requested again after a delay that grows, and when the Catalog changes

A pass never waits for this. An Operator whose answer differs is woken, and its next pass reports it. Requests have a session of
their own: a catalogd that is busy with summaries must not delay what the Resolver reads. A bundle of which the catalog only
states what is in it counts as not read: a catalog can lie. Never writes, and reads no custom resource.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import orjson
from pydantic import ValidationError

from olmkit.api import customresourcedefinitions
from olmkit.api.catalogs import Catalog, served_digest
from olmkit.api.customresourcedefinitions import definition_of
from olmkit.api.meta import Object
from olmkit.crd_safety.compare import Definition
from olmkit.fbc.bundle_summary import SCHEMAS, BadSummary, BundleSummary, StatedBy, load
from olmkit.jobs.staging import run_in_thread
from olmkit.runtime.backoff import Backoff
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer
from operator_controller.catalog_cache.client import (
    CatalogRequestError,
    CatalogResponse,
    CatalogSession,
    catalog_base_url,
)
from operator_controller.crd_checks.findings import MAX_BROKEN, BrokenRule, CrdCheckState, WaitingBundle, broken_rules

MAX_CONCURRENT_REQUESTS = 2
MAX_SUMMARY_BYTES = 4 * 1024**2
"""Bytes of a summary; catalogd makes none that is larger."""
BACKOFF = Backoff(1.0, 600.0)
"""The delays after which a summary that could not be had is requested again."""
PENDING_ATTEMPTS = 8
"""Requests after which a summary that is not there yet counts as one that cannot be had: after four minutes."""

log = logging.getLogger(__name__)


class _NotRead(Exception):
    """The summary cannot be had now. `is_pending`: it is being made, or catalogd cannot answer; it may be there in a moment."""

    def __init__(self, why: str, *, is_pending: bool = False) -> None:
        super().__init__(why)
        self.is_pending = is_pending


@dataclass
class _Check:
    """The check of one bundle, for the Operators for which it waits."""

    bundle: WaitingBundle
    operators: set[str] = field(default_factory=set)
    state: CrdCheckState | None = None
    definitions: frozenset[str] = frozenset()
    """The names of its definitions, once they are known."""
    is_stale: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class CrdChecker:
    """All calls from one event loop. `wake` is called with the name of an Operator whose state has changed."""

    def __init__(
        self,
        session: CatalogSession,
        client: Client,
        catalogs: Informer,
        definitions: Informer,
        wake: Callable[[str], None],
    ) -> None:
        self._session = session
        self._client = client
        self._catalogs = catalogs
        self._definitions = definitions
        self._wake = wake
        self._checks: dict[WaitingBundle, _Check] = {}
        self._bundles: dict[str, WaitingBundle] = {}
        """The bundle that waits for each Operator."""
        self._requests, self._comparisons = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS), asyncio.Semaphore(1)
        catalogs.subscribe(self._on_catalog)
        definitions.subscribe(self._on_definition)

    def state(self, operator: str) -> CrdCheckState | None:
        """The knowledge about the bundle that waits for the Operator; None if no pass has named one."""
        bundle = self._bundles.get(operator)
        if bundle is None:
            return None
        return self._checks[bundle].state or CrdCheckState(bundle)

    def expect(self, operator: str, bundle: WaitingBundle | None) -> None:
        """A pass has reported that this bundle waits for the Operator; None: that none does."""
        if self._bundles.get(operator) == bundle:
            return
        self._forget(operator)
        if bundle is None:
            return
        self._bundles[operator] = bundle
        check = self._checks.setdefault(bundle, _Check(bundle))
        check.operators.add(operator)
        if check.task is None:
            check.task = asyncio.create_task(self._keep_checking(check), name=f"check definitions of {bundle.name}")
        elif check.state is not None:  # which the pass did not know
            self._wake(operator)

    def forget_deleted(self, change: Change) -> None:
        """Forget an Operator that was deleted."""
        if change.new is None and change.old is not None:
            self._forget(change.old["metadata"]["name"])

    def clear(self) -> None:
        """Forget everything."""
        for operator in [*self._bundles]:
            self._forget(operator)

    async def close(self) -> None:
        """End all checks, and close all connections."""
        tasks = [check.task for check in self._checks.values() if check.task is not None]
        self.clear()
        if tasks:
            await asyncio.wait(tasks)
        await self._session.close()

    def _forget(self, operator: str) -> None:
        bundle = self._bundles.pop(operator, None)
        if bundle is None:
            return
        check = self._checks[bundle]
        check.operators.discard(operator)
        if not check.operators:
            del self._checks[bundle]
            if check.task is not None:
                check.task.cancel()

    # --- changes

    def _on_definition(self, change: Change) -> None:
        if _fingerprint(change.old) == _fingerprint(change.new):
            return
        name = (change.new or change.old or {})["metadata"]["name"]
        for check in self._checks.values():
            if name in check.definitions:
                check.is_stale.set()

    def _on_catalog(self, change: Change) -> None:
        """A summary that could not be had may be there with other content, or with another Secret."""
        name = (change.new or change.old or {})["metadata"]["name"]
        if _served(change.old) == _served(change.new):
            return
        for check in self._checks.values():
            if check.bundle.catalog == name and (check.state is None or check.state.has_failed):
                check.is_stale.set()

    # --- one check

    async def _keep_checking(self, check: _Check) -> None:
        """Check it, again when something has changed, and after a delay if it could not be checked."""
        failures = 0
        while True:
            check.is_stale.clear()
            state, delay = await self._checked(check, failures)
            failures = failures + 1 if delay else 0
            if state is not None and state != check.state:
                check.state = state
                for operator in sorted(check.operators):
                    self._wake(operator)
            try:
                async with asyncio.timeout(delay):
                    await check.is_stale.wait()
            except TimeoutError:
                continue
            failures = 0

    async def _checked(self, check: _Check, failures: int) -> tuple[CrdCheckState | None, float | None]:
        """The state, None while it stays as it is; and the time to the next attempt, None to wait for a change."""
        delay = BACKOFF.delay(failures + 1)
        try:
            return CrdCheckState(check.bundle, await self._broken(check)), None
        except _NotRead as error:
            if error.is_pending and failures < PENDING_ATTEMPTS:
                return None, delay
            why = str(error)
        except Exception as error:  # a bundle is untrusted: whatever is wrong with it concerns it alone
            why = f"{type(error).__name__}: {error}"
        facts = {"catalog": check.bundle.catalog, "bundle": check.bundle.name, "error": why}
        log.debug("the definitions of a bundle that waits cannot be checked", extra=facts)
        return CrdCheckState(check.bundle, has_failed=True), delay

    async def _broken(self, check: _Check) -> tuple[BrokenRule, ...]:
        """The rules that its definitions break. Raises _NotRead, ApiError, and whatever a hostile summary leads to."""
        async with self._requests:
            summary = await self._summary(check.bundle)
        new = summary.definitions()
        check.definitions = frozenset(new)
        found: list[BrokenRule] = []
        async with self._comparisons:
            for name in sorted(new):
                if self._definitions.get(name) is None:
                    continue
                live = await self._live(name)
                if live is not None:
                    found += await run_in_thread(lambda name=name, live=live: _broken_of(name, live, new[name]))  # type: ignore[misc]
        return tuple(found[:MAX_BROKEN])

    async def _live(self, name: str) -> Object | None:
        """The definition on the cluster; None if it is gone. Listed by its name, which the right to list them permits."""
        found, _ = await self._client.list(customresourcedefinitions.KIND, field_selector=f"metadata.name={name}")
        return found[0] if found else None

    async def _summary(self, bundle: WaitingBundle) -> BundleSummary:
        """The summary of its image. Raises _NotRead, BadSummary."""
        raw = self._catalogs.get(bundle.catalog)
        catalog = Catalog.load(raw) if raw is not None else None
        if catalog is None or not served_digest(catalog):
            raise _NotRead("its catalog is not served", is_pending=True)
        base = catalog_base_url(catalog.status.content_url or "")
        path = f"api/v1/bundles/{quote(bundle.name, safe='')}/summary?package={quote(bundle.package, safe='')}"
        body = _Body()
        try:
            response = await self._session.get(base.split("/catalogs/", 1)[0], f"{base}/{path}", body)
        except CatalogRequestError as error:
            raise _NotRead(str(error), is_pending=True) from error
        if response.status != 200:
            raise _without_summary(response.status)
        summary = await run_in_thread(lambda: load(orjson.loads(bytes(body.data))))
        if summary.stated_by is not StatedBy.IMAGE:
            raise _NotRead("its image has not been read", is_pending=True)
        if SCHEMAS in summary.left_out:
            raise BadSummary("it has no schemas")
        return summary


def _without_summary(status: int) -> _NotRead:
    """The error for an answer without a summary. A catalogd that is busy, or that cannot answer now, may have it in a moment."""
    if status == HTTPStatus.ACCEPTED:
        return _NotRead("its image is being read", is_pending=True)
    is_pending = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return _NotRead(f"catalogd answered {status}", is_pending=is_pending)


def _broken_of(name: str, live: Definition, new: Definition) -> list[BrokenRule]:
    return [*broken_rules(name, live, new)]


def _fingerprint(trimmed: Object | None) -> tuple[Any, ...] | None:
    """The part of a definition that rules are about."""
    found = definition_of(trimmed)
    if found is None or trimmed is None:
        return None
    return found.uid, trimmed["metadata"].get("generation"), found.stored_versions


def _served(raw: Object | None) -> tuple[Any, ...] | None:
    """The part of a Catalog that decides whether a summary can be had."""
    if raw is None:
        return None
    try:
        digest = served_digest(Catalog.load(raw))
    except ValidationError:  # of another version of the suite
        digest = ""
    return raw["metadata"]["uid"], raw["metadata"].get("generation"), digest


class _Body:
    """A BodyReceiver that keeps the body in memory."""

    def __init__(self) -> None:
        self.data = bytearray()

    def accepts(self, response: CatalogResponse) -> bool:
        """Report whether the body is to be read. Raises CatalogRequestError."""
        self.data.clear()
        if response.status == 200 and (response.encoding != "identity" or not response.is_delimited):
            raise CatalogRequestError("catalogd's answer has an encoding that was not requested, or no length")
        return response.status == 200

    async def write(self, chunk: bytes) -> None:
        """Append the bytes. Raises CatalogRequestError."""
        self.data += chunk
        if len(self.data) > MAX_SUMMARY_BYTES:
            raise CatalogRequestError(f"the summary has more than {MAX_SUMMARY_BYTES} bytes")
