"""Writes an upload that is stored in ConfigMaps to a file, part by part. Never decides what is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from olmkit.errors import ApiError, Waiting
from olmkit.runtime.client import Client
from olmkit.sources.errors import SourceReason
from olmkit.sources.source import UPLOAD_FILE
from rukpak.bundle.uploads.stored_upload import CONFIG_MAPS, Upload, data_of

READ_SECONDS = 120.0
"""The time for reading all parts of one upload."""
RETRY_DELAY = timedelta(seconds=5)


@dataclass(frozen=True)
class UploadReader:
    """Reads from the suite's `namespace`."""

    client: Client
    namespace: str

    def into(
        self, stage: Callable[[], AbstractContextManager[Path]], upload: Upload
    ) -> Callable[[], AbstractContextManager[Path]]:
        """The same as `stage`, which makes a directory for a job, with the archive in it. It is called in a thread while this
        event loop runs. Raises Waiting."""
        loop = asyncio.get_running_loop()

        @contextmanager
        def staged() -> Iterator[Path]:
            with stage() as directory:
                asyncio.run_coroutine_threadsafe(self._write(upload, directory / UPLOAD_FILE), loop).result()
                yield directory

        return staged

    async def _write(self, upload: Upload, path: Path) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                with path.open("xb") as file:
                    for name in upload.part_names:
                        part = await self.client.get(CONFIG_MAPS, name, self.namespace)
                        await asyncio.to_thread(file.write, data_of(part))
        except (ApiError, TimeoutError, ValueError) as error:
            why = error.message if isinstance(error, ApiError) else str(error) or "the API server takes too long"
            text = f"the upload cannot be read: {why}"
            raise Waiting(SourceReason.SOURCE_UNAVAILABLE, text, RETRY_DELAY) from error
