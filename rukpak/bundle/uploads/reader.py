"""Writes an upload that is stored in ConfigMaps to a file, part by part. Never decides what is read."""

from __future__ import annotations

import asyncio
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

    async def write(self, upload: Upload, directory: Path) -> None:
        """Write the archive into the directory of a job. Raises Waiting."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                with (directory / UPLOAD_FILE).open("xb") as file:
                    for name in upload.part_names:
                        part = await self.client.get(CONFIG_MAPS, name, self.namespace)
                        await asyncio.to_thread(file.write, data_of(part))
        except (ApiError, TimeoutError, ValueError) as error:
            why = error.message if isinstance(error, ApiError) else str(error) or "the API server takes too long"
            text = f"the upload cannot be read: {why}"
            raise Waiting(SourceReason.SOURCE_UNAVAILABLE, text, RETRY_DELAY) from error
