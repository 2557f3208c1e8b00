"""Compares the Package objects on the cluster with the served content, and writes the differences.

catalogd.catalog.package_diff determines names and differences. Never deletes an object that another Catalog controls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from catalogd.catalog import package_diff
from catalogd.catalog.package_diff import Difference, ObjectWrite
from catalogd.ingest.package_objects import ObjectFingerprint, fingerprint
from olmkit.api.catalogs import Catalog
from olmkit.api.packages import KIND
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer

MAX_CONCURRENT_WRITES = 8
CATALOG_INDEX = "catalog"
CREATED, CHANGED, DELETED = VERBS = ("created", "changed", "deleted")

log = logging.getLogger(__name__)


def catalog_of(obj: Mapping[str, Any]) -> list[str]:
    """The name of the Catalog in an object's spec: the keys of CATALOG_INDEX."""
    name = ((obj.get("spec") or {}).get("catalog") or {}).get("name")
    return [name] if name else []


class PackageSync:
    """The Packages of all Catalogs. `informer` keeps what package_diff.transform returns; it gets CATALOG_INDEX."""

    def __init__(self, client: Client, informer: Informer, manager: str) -> None:
        self._client = client
        self.informer = informer
        self._manager = manager
        self._accepted_versions: dict[str, str] = {}
        """The resourceVersion, by name, of each object that is left as it is because others own some of its fields."""
        informer.add_index(CATALOG_INDEX, catalog_of)

    def difference(self, catalog: Catalog, desired: Sequence[ObjectFingerprint]) -> Difference:
        """Compare the objects of a Catalog with the desired ones."""
        name = catalog.metadata.name
        existing = (
            package_diff.existing_object(obj, self._accepted_versions.get(obj["metadata"]["name"]))
            for obj in self.informer.by_index(CATALOG_INDEX, name)
        )
        return package_diff.difference((name, catalog.metadata.uid), desired, existing, self._package_of)

    def _package_of(self, name: str) -> tuple[str, str] | None:
        obj = self.informer.get(name)
        if obj is None:
            return None
        found = package_diff.existing_object(obj)
        return found.catalog, found.package

    async def sync(self, catalog: Catalog, batch: Difference, read: Callable[[str], dict[str, Any]]) -> None:
        """Write and delete objects. `read` reads the body of a package's object from disk. All writes are tried, and the first
        error is raised."""
        slots = asyncio.Semaphore(MAX_CONCURRENT_WRITES)

        async def in_slot(request: Coroutine[Any, Any, str]) -> str:
            async with slots:
                return await request

        deletes = (self._delete(name, uid) for name, uid in batch.deletes)
        writes = (self._write(catalog, write, read) for write in batch.writes)
        outcomes = await asyncio.gather(*map(in_slot, (*deletes, *writes)), return_exceptions=True)
        done = [outcome for outcome in outcomes if isinstance(outcome, str)]
        counts = [f"{done.count(verb)} {verb}" for verb in VERBS if verb in done]
        if counts:
            # One line for all of them: a catalog has hundreds, each of which follows from its content.
            log.info("%s objects: %s", KIND.kind, ", ".join(counts), extra={"catalog": catalog.metadata.name})
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _write(self, catalog: Catalog, write: ObjectWrite, read: Callable[[str], dict[str, Any]]) -> str:
        """Write one object. Returns the verb for the write, one of VERBS."""
        body = await asyncio.to_thread(read, write.package)
        desired = package_diff.desired_object(catalog.metadata.name, catalog.metadata.uid, write, body)
        written = await self._client.apply(KIND, desired, self._manager)
        if fingerprint(written) == fingerprint(body):
            self._accepted_versions.pop(write.name, None)
        else:
            self._accepted_versions[write.name] = written["metadata"]["resourceVersion"]
        self.informer.record_write(written)
        verb = CHANGED if write.uid else CREATED
        log.debug("%s %s %s", verb, KIND.kind, write.name)
        return verb

    async def _delete(self, name: str, uid: str) -> str:
        """Delete one object. Returns DELETED, or "" if the object did not exist."""
        self._accepted_versions.pop(name, None)
        try:
            remaining = await self._client.delete(KIND, name, uid=uid)
        except NotFound:
            self.informer.record_deletion(name, uid)
            return ""
        if remaining is None:
            self.informer.record_deletion(name, uid)
        else:
            self.informer.record_write(remaining)  # its deletionTimestamp counts at once: it is not deleted again
        log.debug("%s %s %s", DELETED, KIND.kind, name)
        return DELETED
