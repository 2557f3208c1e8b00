"""Uploads are read for many jobs at a time."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from olmkit.jobs.staging import Staging, open_directory
from olmkit.sources.source import UPLOAD_FILE
from rukpak.bundle.uploads.reader import UploadReader
from rukpak.bundle.uploads.stored_upload import PART_BYTES, Upload
from rukpak.bundle.uploads.writer import UploadWriter
from tests.cluster.rukpak.bundle.uploads.conftest import Uploader, digest_of


async def test_more_uploads_are_read_at_a_time_than_there_are_threads(uploads: Uploader, tmp_path: Path) -> None:
    data = os.urandom(PART_BYTES + 1)
    uid = (await uploads.create(digest_of(data)))["metadata"]["uid"]
    client, system = uploads.place.at.client, uploads.place.system
    upload = Upload(uploads.name, uid, digest_of(data), len(data))
    await UploadWriter(client, system).store(upload, io.BytesIO(data))

    @contextlib.contextmanager
    def directory(number: int) -> Iterator[Path]:
        path = tmp_path / str(number)
        path.mkdir()
        yield path

    async def read(number: int) -> bytes:
        fill = partial(UploadReader(client, system).write, upload)
        staging = Staging[None](partial(directory, number), lambda *_: None, fill)
        async with open_directory(staging) as path:
            return (path / UPLOAD_FILE).read_bytes()

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    async with asyncio.timeout(10):
        assert await asyncio.gather(*map(read, range(4))) == [data] * 4
