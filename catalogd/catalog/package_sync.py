"""Package and BundleMetadata objects on the cluster: what separates them from what is served, and the writing of it.

Used by catalogd.catalog.reconciler, one for each kind. What they are called and which differ is
catalogd.catalog.package_diff's. Never deletes an object that another Catalog controls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from catalogd.catalog import package_diff
from catalogd.catalog.package_diff import Difference, ObjectWrite, SyncedKind
from catalogd.ingest.package_objects import ObjectFingerprint, fingerprint
from olmkit.api.catalogs import Catalog
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer

MAX_CONCURRENT_WRITES = 8
"""Objects written at a time."""
CATALOG_INDEX = "catalog"
CREATED, CHANGED, DELETED = VERBS = ("created", "changed", "deleted")

log = logging.getLogger(__name__)


def catalog_of(obj: Mapping[str, Any]) -> list[str]:
    """The name of the Catalog in an object's spec; the index of the informer."""
    name = ((obj.get("spec") or {}).get("catalog") or {}).get("name")
    return [name] if name else []


class PackageSync:
    """Objects of one kind, of all Catalogs. `informer` has the index BY_CATALOG and listing.project.

    `settled`: resourceVersions of objects that others own fields of, by name; they are left as they are.
    """

    def __init__(self, client: Client, kind: SyncedKind, informer: Informer, manager: str) -> None:
        self._client = client
        self._listing = kind
        self._informer = informer
        self._manager = manager
        self._settled: dict[str, str] = {}
        informer.add_index(CATALOG_INDEX, catalog_of)

    def difference(self, catalog: Catalog, offers: Sequence[ObjectFingerprint]) -> Difference:
        """What separates the objects of a Catalog from what it offers."""
        name = catalog.metadata.name
        there = (
            package_diff.existing_object(self._listing, obj, self._settled.get(obj["metadata"]["name"]))
            for obj in self._informer.by_index(CATALOG_INDEX, name)
        )
        return package_diff.difference(self._listing, (name, catalog.metadata.uid), offers, there, self._holder)

    def _holder(self, name: str) -> tuple[str, str] | None:
        obj = self._informer.get(name)
        if obj is None:
            return None
        found = package_diff.existing_object(self._listing, obj)
        return found.catalog, found.subject

    async def sync(self, catalog: Catalog, batch: Difference, read: Callable[[str], dict[str, Any]]) -> None:
        """Write and delete; `read` reads from disk what an object is to say. All is tried; the first error is raised."""
        turns = asyncio.Semaphore(MAX_CONCURRENT_WRITES)

        async def in_turn(work: Coroutine[Any, Any, str]) -> str:
            async with turns:
                return await work

        deletes = (self._delete(name, uid) for name, uid in batch.deletes)
        writes = (self._write(catalog, write, read) for write in batch.writes)
        outcomes = await asyncio.gather(*map(in_turn, (*deletes, *writes)), return_exceptions=True)
        done = [outcome for outcome in outcomes if isinstance(outcome, str)]
        counts = [f"{done.count(verb)} {verb}" for verb in VERBS if verb in done]
        if counts:
            # One line for all of them: a catalog has hundreds, each of which follows from its content.
            log.info(
                "%s objects: %s", self._listing.kind.kind, ", ".join(counts), extra={"catalog": catalog.metadata.name}
            )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _write(self, catalog: Catalog, write: ObjectWrite, read: Callable[[str], dict[str, Any]]) -> str:
        """Returns what was done, one of VERBS."""
        said = await asyncio.to_thread(read, write.subject)
        wanted = package_diff.desired_object(self._listing, catalog.metadata.name, catalog.metadata.uid, write, said)
        written = await self._client.apply(self._listing.kind, wanted, self._manager)
        if fingerprint(written) == fingerprint(said):
            self._settled.pop(write.name, None)
        else:
            self._settled[write.name] = written["metadata"]["resourceVersion"]
        self._informer.record_write(written)
        verb = CHANGED if write.uid else CREATED
        log.debug("%s %s %s", verb, self._listing.kind.kind, write.name)
        return verb

    async def _delete(self, name: str, uid: str) -> str:
        """Returns DELETED, or "" when somebody else had deleted it."""
        self._settled.pop(name, None)
        try:
            is_gone = await self._client.delete(self._listing.kind, name, uid=uid)
        except NotFound:
            self._informer.record_deletion(name, uid)
            return ""
        if is_gone:
            self._informer.record_deletion(name, uid)
        log.debug("%s %s %s", DELETED, self._listing.kind.kind, name)
        return DELETED
