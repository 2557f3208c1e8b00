"""The function of the job UNPACK: from an image reference to a bundle for the store. Runs in child processes of olmkit.jobs.

rukpak.bundle.unpack_request, which the controller imports, declares the job. Problems of the content itself are a result, with
the digest of the content. Temporary failures raise Waiting.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olmkit.api.provisioner_classes import PLAIN as PLAIN_PROVISIONER
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement
from olmkit.sources.errors import BadContent, SourceReason
from olmkit.sources.oci.image import FetchedImage, fetch, resolve, verify_access
from olmkit.sources.oci.image import unpack as unpack_image
from olmkit.sources.reachability import verify_reachable
from olmkit.sources.source import ImageSource
from olmkit.sources.tree import BUNDLE_LIMITS
from olmkit.store.store import Store, fill_staging
from rukpak.bundle.storage import BUNDLE_FILE, FILES, PLAIN, REGISTRY, TYPE_FILE, is_intact, stored_type
from rukpak.bundle.unpack_request import UNPACK, UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.format import BadBundle, Bundle, read_plain, read_registry, to_json
from rukpak.format.bundle import FORMAT_VERSION, MAX_BUNDLE_BYTES, MAX_BUNDLE_VALUES
from rukpak.render.refusals import check_files

MAX_FILES_BYTES = 64 * 1024**2
"""The limit of manifests and metadata in one bundle."""
UNPACK_FAILED_REASON = "UnpackFailed"
NOT_REGISTRY = (
    "is not a registry+v1 bundle (it has no /metadata): for a plain+v0 bundle set "
    f"spec.template.spec.provisionerClassName to {PLAIN_PROVISIONER}"
)

_DIRECTORIES: Mapping[str, tuple[str, ...]] = {REGISTRY: ("manifests", "metadata"), PLAIN: ("manifests",)}
_READERS: Mapping[str, Callable[[Mapping[str, bytes]], Bundle]] = {REGISTRY: read_registry, PLAIN: read_plain}


@dataclass(frozen=True)
class ReadRequest:
    """The fetched image: `image` are the facts of olmkit.sources.oci.image.FetchedImage."""

    image: dict[str, Any]
    content_type: str


@dataclass(frozen=True)
class ReadResult:
    """The result for a bundle that could be read."""


READ_BUNDLE = Job(f"{__name__}:read_bundle", ReadRequest, ReadResult, errors=(BadContent, BadBundle))
"""The job that unpacks and reads the fetched image, in the process of the parser."""


async def unpack(request: UnpackRequest, context: JobContext) -> UnpackResult:
    """Pull the image and read it as `content_type` into the directory of the job, unless the store has its content. Content that
    was read as another type is kept unless `replace`. Even if the store has the content, the registry has to return the manifest,
    so that access to the image is verified each time.

    Content that can never be used is a result with a `problem`. Raises Waiting for temporary failures, and Blocked for a
    reference or a configuration that cannot be used.
    """
    store, content_type = Store(request.store, create=False), request.content_type
    registries = request.access.registries()
    context.progress("looking up the image")
    resolved = await resolve(request.ref, registries)
    ref = resolved.ref_by_digest
    found = UnpackResult(ref, resolved.digest)
    known = stored_type(store, resolved.digest)
    if (known and known != content_type and not request.replace) or is_intact(store, resolved.digest, content_type):
        await verify_access(ref, registries)
        return found
    try:
        with fill_staging(context.directory, resolved.digest) as directory:
            only = _DIRECTORIES[content_type]
            fetched = await fetch(
                ref, directory, registries, only=only, limits=BUNDLE_LIMITS, progress=context.progress
            )
            with fetched.blob as blob:
                await context.parse(READ_BUNDLE, ReadRequest(fetched.facts(), content_type), [blob], directory)
    except BadContent as error:
        return replace(found, ref=error.ref or ref, problem=error.message)
    except BadBundle as error:
        return replace(found, problem=error.message)
    return replace(found, staged=True)


async def probe(request: UnpackRequest) -> UnpackResult | None:
    """Return None when the registry has answered. Raises Waiting if it does not answer, BadReference and Blocked."""
    await verify_reachable(ImageSource(request.ref), request.access)
    return None


def read_bundle(request: ReadRequest, context: JobContext) -> ReadResult:
    """Unpack the fetched image into the directory, and read it. Runs in the parser process. Raises BadContent, BadBundle,
    Waiting."""
    unpacked = context.directory / FILES
    unpacked.mkdir()
    image = FetchedImage.from_facts(request.image, context.files[0])
    try:
        unpack_image(image, unpacked, BUNDLE_LIMITS, context.progress)
    except BadContent as error:
        if error.reason == SourceReason.MISSING_CONTENT and _is_plain(request.content_type, unpacked):
            raise BadContent(error.reason, f"image {image.ref} {NOT_REGISTRY}", error.ref) from error
        raise
    context.progress("reading the manifests")
    bundle = _READERS[request.content_type](dict(_contents(unpacked)))
    check_files(bundle)
    (context.directory / BUNDLE_FILE).write_bytes(check_size(to_json(bundle)))
    (context.directory / TYPE_FILE).write_text(f"{request.content_type} {FORMAT_VERSION}")
    return ReadResult()


def _is_plain(content_type: str, unpacked: Path) -> bool:
    """Report whether an image that was requested as registry+v1 has the files of a plain+v0 bundle."""
    return content_type == REGISTRY and (unpacked / "manifests").is_dir() and not (unpacked / "metadata").exists()


def check_size(data: bytes) -> bytes:
    """Return `data` unchanged. Raises BadBundle if it is too large for the controllers, which load it as a whole."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BadBundle(
            UNPACK_FAILED_REASON,
            f"the bundle has {len(data):,} bytes of JSON; at most {MAX_BUNDLE_BYTES:,} are allowed",
        )
    # An estimate: separators in strings count too. Ordinary bundles are far below the limit.
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > MAX_BUNDLE_VALUES:
        raise BadBundle(
            UNPACK_FAILED_REASON, f"the bundle has about {values:,} values; at most {MAX_BUNDLE_VALUES:,} are allowed"
        )
    return data


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """The pairs (path in the image, bytes) of all files. Raises BadBundle if all files together are larger than
    MAX_FILES_BYTES."""
    total = 0
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            total += path.stat().st_size
            if total > MAX_FILES_BYTES:
                megabytes = MAX_FILES_BYTES // 1024**2
                raise BadBundle(
                    UNPACK_FAILED_REASON, f"the bundle holds more than {megabytes} MiB of manifests and metadata"
                )
            yield path.relative_to(root).as_posix(), path.read_bytes()


implement(UNPACK, unpack, probe=probe)
implement(READ_BUNDLE, read_bundle)
