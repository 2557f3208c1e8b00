"""The requests of `olm bundle generate` to servers: for the digests of images, and for the blobs of a catalog.

Uses the logins of docker, podman or buildah, and the options that all commands with images have.
"""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from olmctl.authoring.directory import read_directory
from olmctl.catalog.images import NoDirectory, unpacked
from olmctl.project.manifests import BadInput, WrongUsage
from olmctl.project.upgrade_edge import PackageGraph, read_graph
from olmctl.registry_logins import login_hint, reached_registries
from olmkit.errors import Blocked, OlmError
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import read_documents
from olmkit.fbc.errors import BadBlob, BadCatalog, BadDocument
from olmkit.sources import http
from olmkit.sources.access import Access
from olmkit.sources.content_limits import CATALOG_LIMITS
from olmkit.sources.errors import SourceReason
from olmkit.sources.oci import image
from olmkit.sources.source import HttpSource

MAX_DOWNLOAD_BYTES: Final = 1024**3
_REQUESTS: Final = 8
"""Images that are asked for at the same time."""
_CATALOGS: Final = "/catalogs/"
_ALL_BLOBS: Final = "/api/v1/all"
_TEXT_STARTS: Final = (b"{", b"[", b"---", b"schema:", b"#")


def digests_of(images: Sequence[str], access: Access) -> dict[str, str]:
    """The reference with digest for each image. Raises BadInput for those that no registry answers for."""
    if not images:
        return {}
    return asyncio.run(_digests(images, access))


async def _digests(images: Sequence[str], access: Access) -> dict[str, str]:
    limit = asyncio.Semaphore(_REQUESTS)

    async def resolved(reference: str) -> str | OlmError:
        async with limit:
            try:
                registries = await asyncio.to_thread(reached_registries, [reference], access)
                return (await image.resolve(reference, registries)).ref_by_digest
            except OlmError as error:
                return error

    answers = await asyncio.gather(*(resolved(each) for each in images))
    problems = [
        f"{reference}: {_reason(answer)}"
        for reference, answer in zip(images, answers, strict=True)
        if isinstance(answer, OlmError)
    ]
    if problems:
        raise BadInput("\n".join(("these images have no digest that could be asked for:", *problems)))
    return {reference: str(answer) for reference, answer in zip(images, answers, strict=True)}


def _reason(error: OlmError) -> str:
    if error.reason == SourceReason.UNAUTHORIZED:
        return f"{error.message}: {login_hint()}"
    return error.message


def package_graph(source: str, package: str, access: Access) -> PackageGraph:
    """The package in the catalog of a directory, of an image or of a URL. Raises BadInput."""
    try:
        if source.startswith(("https://", "http://")):
            return read_graph(_from_url(source, access), package)
        if Path(source).is_dir():
            return read_graph(read_directory(Path(source)), package)
        with unpacked(source, access.registries_conf, access.ca_directory, access.allowed_cidrs) as found:
            if not found.is_catalog:
                raise BadInput(f"--catalog {source}: is the image of a bundle: give that of a catalog")
            return read_graph(read_directory(found.root), package)
    except NoDirectory as error:
        raise WrongUsage(f"--catalog {source}: {error}") from None
    except (BadBlob, BadCatalog, BadDocument) as error:
        raise BadInput(f"--catalog {source}: {error}") from None
    except OlmError as error:
        raise BadInput(f"--catalog {source}: {error.message}") from None


def _from_url(url: str, access: Access) -> Iterator[Blob]:
    """The blobs of a file or an archive on a web server; of a catalog of catalogd all of them."""
    if _CATALOGS in url and "/" not in url.rstrip("/").rpartition(_CATALOGS)[2]:
        url = url.rstrip("/") + _ALL_BLOBS
    download = asyncio.run(http.download(HttpSource(url), access, None, MAX_DOWNLOAD_BYTES, "", _quiet))
    if download.file is None:
        raise Blocked(SourceReason.SOURCE_UNAVAILABLE, f"{url} has no content")
    with closing(download.file) as file:
        file.seek(0)
        start = file.read(4096).lstrip()
        file.seek(0)
        if start.startswith(_TEXT_STARTS):
            yield from _blobs(file)
            return
        with tempfile.TemporaryDirectory(prefix="olm-generate-") as directory:
            root = http.unpack(url, file, Path(directory), (), CATALOG_LIMITS)
            yield from read_directory(Path(directory) / root)


def _blobs(file: io.BufferedIOBase | object) -> Iterable[Blob]:
    return (parse_blob(document) for document in read_documents(file))  # type: ignore[arg-type]


def _quiet(line: str) -> None:
    """Report no progress."""
