"""Removes parts of uploads that nobody completes: those of an archive that came after another one for the same Bundle, and those
of an upload that was interrupted and not sent again.

It is a runnable of the manager, on the leader only, and is woken by the informer of ConfigMaps. What belongs to a Bundle that is
gone is deleted by the garbage collector of Kubernetes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from olmkit.api.meta import Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from olmkit.runtime.informer_store import Change
from rukpak.bundle.uploads.stored_upload import (
    CONFIG_MAPS,
    digest_of,
    index_name,
    owner_of,
    parts,
    role_of,
    stored_upload,
)

ABANDONED_SECONDS = 600.0
"""The time after which parts without an index are removed, since the last of them was seen: longer than an upload may take."""
RETRY_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass
class UploadCollector:
    """For the suite's `namespace`; `config_maps` has the metadata of its ConfigMaps. `clock` is in seconds."""

    client: Client
    config_maps: Informer
    namespace: str
    clock: Callable[[], float] = time.monotonic
    _seen: dict[tuple[str, str], float] = field(default_factory=dict)
    """(uid of the Bundle, digest) -> the time at which the last part was seen."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Remove such parts until cancelled."""
        self.config_maps.subscribe(self._note)
        try:
            while True:
                self._changed.clear()
                await self.config_maps.fresh.wait()
                delay = await self._collect()
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await self._changed.wait()
        finally:
            self.config_maps.unsubscribe(self._note)

    def _note(self, change: Change) -> None:
        obj = change.new or change.old
        if obj is None or not role_of(obj):
            return
        if change.new is not None and change.old is None:
            self._seen[owner_of(obj)[1], digest_of(obj)] = self.clock()
        self._changed.set()

    async def _collect(self) -> float | None:
        """Remove what is due; returns the seconds until something else may be, None if nothing will."""
        now = self.clock()
        loose = list(self._loose())
        self._seen = {key: seen for key, seen in self._seen.items() if any(key == _key(each) for each in loose)}
        due = {key: self._due(key, now) for key in set(map(_key, loose))}
        failures: list[ApiError] = []
        for part in loose:
            if due[_key(part)] <= now:
                try:
                    await self._remove(part)
                except ApiError as error:  # the others may be removable
                    failures.append(error)
        if failures:
            log.warning("parts of uploads cannot be removed, trying again", extra={"error": failures[0].message})
            return RETRY_SECONDS
        return min((at - now for at in due.values() if at > now), default=None)

    def _loose(self) -> Iterator[Object]:
        """The parts that no index of the same archive makes complete."""
        for part in parts(self.config_maps.objects.values()):
            uid, digest = _key(part)
            stored = stored_upload(self.config_maps.get(index_name(uid), self.namespace), uid)
            if stored is None or stored.digest != digest:
                yield part

    def _due(self, key: tuple[str, str], now: float) -> float:
        """The time at which parts of this upload are removed."""
        uid, _ = key
        if stored_upload(self.config_maps.get(index_name(uid), self.namespace), uid) is not None:
            return now  # another archive was first
        return self._seen.setdefault(key, now) + ABANDONED_SECONDS

    async def _remove(self, part: Object) -> None:
        metadata = part["metadata"]
        with suppress(NotFound):
            await self.client.delete(CONFIG_MAPS, metadata["name"], self.namespace, uid=metadata["uid"])
        self.config_maps.record_deletion(metadata["name"], metadata["uid"], self.namespace)
        log.info("part of an upload removed (nothing completes it)", extra={"object": metadata["name"]})


def _key(part: Object) -> tuple[str, str]:
    return owner_of(part)[1], digest_of(part)
