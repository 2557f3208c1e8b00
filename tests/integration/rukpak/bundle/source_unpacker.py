"""Runs unpack jobs of rukpak with servers on loopback, and reads what they publish."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from olmkit.jobs.job import Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.staging import Staging
from olmkit.sources.access import Access
from olmkit.sources.source import UPLOAD_FILE, Source, server_of
from olmkit.store.store import Store
from rukpak.bundle.storage import load, publish_job_output
from rukpak.bundle.unpack_request import UNPACK, UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.format import PlainBundle
from tests.integration.job_results import next_result

REGISTRY, PLAIN = "registry+v1", "plain+v0"


def config_map(name: str) -> bytes:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}".encode()


class SourceUnpacker:
    """The unpack jobs of rukpak, and their store. Without `access` they may connect to loopback."""

    def __init__(self, root: Path, access: Access | None = None) -> None:
        self.directory = root / "store"
        self.store = Store(self.directory)
        self.access = access or Access(allowed_cidrs=("127.0.0.0/8",))
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        sandbox = Sandbox(reads=(self.directory, *self.access.config_files()))
        self.jobs = Jobs[UnpackResult](self.ends.put_nowait, preload=[UNPACK.module], sandbox=sandbox)

    async def unpack(self, source: Source, content_type: str = PLAIN, upload: bytes = b"") -> UnpackResult:
        """The result of one job, with the bytes of an upload in its directory if there are any. Raises its error."""

        @contextmanager
        def stage() -> Iterator[Path]:
            with self.store.stage() as directory:
                if upload:
                    (directory / UPLOAD_FILE).write_bytes(upload)
                yield directory

        self.jobs.forget("one")
        request = UnpackRequest(source, content_type, self.directory, self.access)
        finish = partial(publish_job_output, self.store, request, "")
        staging = Staging(stage, finish)
        self.jobs.ensure("one", "1", Task(UNPACK, request, source=server_of(source), staging=staging))
        return await next_result(self.jobs, self.ends)

    def names(self, result: UnpackResult) -> list[str]:
        """The names of the objects of a plain bundle in the store."""
        bundle = load(self.store, result.digest)
        assert isinstance(bundle, PlainBundle)
        return [each["metadata"]["name"] for each in bundle.objects]

    def files(self, result: UnpackResult) -> list[str]:
        """The paths of all stored files."""
        home = self.store.path(result.digest)
        assert home is not None
        return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
