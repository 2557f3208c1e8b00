"""The jobs of test_image_in_jobs.py and test_open.py: pull an image into a store, open a source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement
from olmkit.sources.access import Access
from olmkit.sources.content_limits import BUNDLE_LIMITS, CATALOG_LIMITS
from olmkit.sources.errors import BadContent
from olmkit.sources.oci import image
from olmkit.sources.open import Fetched, open_source, unpack
from olmkit.sources.source import Source
from olmkit.store.store import Store


@dataclass(frozen=True)
class PullRequest:
    """An image, and the directory of a store."""

    ref: str
    root: Path
    access: Access


@dataclass(frozen=True)
class PullResult:
    """The image by digest, and its number of files."""

    ref: str
    digest: str
    files: int


@dataclass(frozen=True)
class OpenRequest:
    """A source, and the directory that it is unpacked into."""

    source: Source
    access: Access
    into: Path


@dataclass(frozen=True)
class OpenResult:
    """The name of the content in messages, and the paths of its files."""

    ref: str
    files: list[str]


@dataclass(frozen=True)
class UnpackRequest:
    """The facts of a Fetched."""

    facts: dict[str, Any]


@dataclass(frozen=True)
class UnpackResult:
    """The paths of the files."""

    files: list[str]


PULL = Job(f"{__name__}:pull", PullRequest, PullResult, errors=(BadContent,))
OPEN = Job(f"{__name__}:open_and_unpack", OpenRequest, OpenResult, errors=(BadContent,), parses=True)
UNPACK = Job(f"{__name__}:unpack_apart", UnpackRequest, UnpackResult, errors=(BadContent,))


async def pull(request: PullRequest, context: JobContext) -> PullResult:
    """Publish the files of an image in a store."""
    registries = request.access.registries()
    resolved = await image.resolve(request.ref, registries)
    with Store(request.root).publish(resolved.digest) as staging:
        pulled = await image.pull(
            resolved.ref_by_digest, staging, registries, limits=BUNDLE_LIMITS, progress=context.progress
        )
    return PullResult(pulled.ref_by_digest, pulled.digest, pulled.files)


async def open_and_unpack(request: OpenRequest, context: JobContext) -> OpenResult:
    """Open a source and unpack it in a parser process."""
    async with open_source(request.source, request.access, scratch=request.into) as opened:
        fetched = await opened.fetch(request.into, progress=context.progress)
        unpacked = await context.parse(UNPACK, UnpackRequest(dict(fetched.facts)), fetched.files, request.into)
        return OpenResult(opened.ref, unpacked.files)


def unpack_apart(request: UnpackRequest, context: JobContext) -> UnpackResult:
    """Unpack, in the parser process."""
    root = unpack(Fetched(request.facts, tuple(context.files)), context.directory, CATALOG_LIMITS, context.progress)
    return UnpackResult([str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()])


implement(PULL, pull)
implement(OPEN, open_and_unpack)
implement(UNPACK, unpack_apart)
