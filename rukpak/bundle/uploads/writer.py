"""Stores an archive that has been received as ConfigMaps: its parts, and then the index that makes it complete.

It may be interrupted at any point, and be done again by any replica: parts that are there already are compared, and kept if they
are the same. Two that store the same archive help each other; of two archives for one Bundle, the first index wins.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import IO

from olmkit.api import bundles
from olmkit.api.meta import Object
from olmkit.errors import Conflict, NotFound
from olmkit.runtime.client import Client
from rukpak.bundle.uploads.stored_upload import CONFIG_MAPS, PART_BYTES, Upload, is_same, stored_upload

MAX_ATTEMPTS = 5
"""Attempts to create one ConfigMap, while others delete it."""


class Outcome(Enum):
    """The end of an attempt to store an upload."""

    STORED = "stored"
    UNCHANGED = "unchanged"
    """The same archive was stored before."""
    BUNDLE_GONE = "bundle gone"
    OTHER_CONTENT = "other content"
    """Another archive was stored first."""


class _Change(Enum):
    NONE = 0
    CREATED = 1
    REPLACED = 2


@dataclass(frozen=True)
class UploadWriter:
    """Writes into the suite's `namespace`."""

    client: Client
    namespace: str

    async def store(self, upload: Upload, archive: IO[bytes]) -> Outcome:
        """Store the bytes of the file, from its start, if the Bundle still exists. Raises ApiError: what is stored then is not
        complete, and is completed by the next attempt."""
        if not await self._exists(upload):
            return Outcome.BUNDLE_GONE
        changes = {_Change.NONE}
        archive.seek(0)
        for name in upload.part_names:
            data = await asyncio.to_thread(archive.read, PART_BYTES)
            changes.add(await self._put(upload.part(name, self.namespace, data)))
        if not await self._exists(upload):
            return Outcome.BUNDLE_GONE  # the garbage collector of Kubernetes deletes its parts
        return await self._complete(upload, changes)

    async def _complete(self, upload: Upload, changes: set[_Change]) -> Outcome:
        index = upload.index(self.namespace)
        for _ in range(MAX_ATTEMPTS):
            try:
                await self.client.create(CONFIG_MAPS, index)
                return Outcome.STORED
            except Conflict:
                found = await self._read(index)
            if found is None:
                continue
            stored = stored_upload(found, upload.bundle_uid)
            if stored is not None and stored.digest != upload.digest:
                return Outcome.OTHER_CONTENT
            if is_same(found, index) and _Change.REPLACED not in changes:
                return Outcome.UNCHANGED if changes == {_Change.NONE} else Outcome.STORED
            await self._delete(found)  # a new index wakes the Bundle, which may have read damaged parts
            changes = {_Change.NONE}
        raise Conflict(409, "Conflict", "the index of the upload is deleted again and again")

    async def _put(self, body: Object) -> _Change:
        """Create a part unless it is there."""
        change = _Change.CREATED
        for _ in range(MAX_ATTEMPTS):
            try:
                await self.client.create(CONFIG_MAPS, body)
                return change
            except Conflict:
                found = await self._read(body)
            if found is not None:
                if is_same(found, body):
                    return _Change.NONE
                await self._delete(found)
                change = _Change.REPLACED
        raise Conflict(409, "Conflict", "a part of the upload is deleted again and again")

    async def _exists(self, upload: Upload) -> bool:
        try:
            found: Object = (await self.client.get(bundles.KIND, upload.bundle))["metadata"]
        except NotFound:
            return False
        return found["uid"] == upload.bundle_uid and "deletionTimestamp" not in found

    async def _read(self, body: Object) -> Object | None:
        try:
            return await self.client.get(CONFIG_MAPS, body["metadata"]["name"], self.namespace)
        except NotFound:
            return None

    async def _delete(self, found: Object) -> None:
        metadata = found["metadata"]
        with suppress(NotFound):
            await self.client.delete(CONFIG_MAPS, metadata["name"], self.namespace, uid=metadata["uid"])
