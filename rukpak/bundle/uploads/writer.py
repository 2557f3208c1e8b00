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
        is_new = False
        archive.seek(0)
        for name in upload.part_names:
            data = await asyncio.to_thread(archive.read, PART_BYTES)
            is_new |= await self._put(upload, upload.part(name, self.namespace, data))
        if not await self._exists(upload):
            return Outcome.BUNDLE_GONE  # the garbage collector of Kubernetes deletes its parts
        return await self._complete(upload, is_new=is_new)

    async def _complete(self, upload: Upload, *, is_new: bool) -> Outcome:
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
            if is_same(found, index):
                return Outcome.STORED if is_new else Outcome.UNCHANGED
            await self._delete(found)
        raise Conflict(409, "Conflict", "the index of the upload is deleted again and again")

    async def _put(self, upload: Upload, body: Object) -> bool:
        """Create a part unless it is there; reports whether it was created."""
        for _ in range(MAX_ATTEMPTS):
            try:
                await self.client.create(CONFIG_MAPS, body)
                return True
            except Conflict:
                found = await self._read(body)
            if found is not None:
                if is_same(found, body):
                    return False
                await self._withdraw(upload)
                await self._delete(found)
        raise Conflict(409, "Conflict", "a part of the upload is deleted again and again")

    async def _withdraw(self, upload: Upload) -> None:
        """Delete the index before a damaged part: the Bundle that has read the part waits for another index, so that none may
        stay if this attempt ends here."""
        found = await self._read(upload.index(self.namespace))
        stored = stored_upload(found, upload.bundle_uid)
        if found is not None and stored is not None and stored.digest == upload.digest:
            await self._delete(found)

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
