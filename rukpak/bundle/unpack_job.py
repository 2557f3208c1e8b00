"""From an image reference to a bundle for the store: what runs in the child process of olmkit.jobs, and where content lies.

Asked for by rukpak.bundle.reconciler. What is published under an image's digest: files/ (manifests/ and metadata/ of the image),
bundle.json (the parsed form) and type (how it was read, and the format of that form). What is wrong with the content itself comes
back as a result, with the digest it is wrong at; what may pass raises Waiting. rukpak.bundledeployment reads by `load`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from olmkit.jobs import Parse
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.oci.image import FetchedImage, fetch, resolve, verify_access
from olmkit.sources.oci.image import unpack as unpack_image
from olmkit.sources.oci.reference import check_job_result
from olmkit.sources.tree import BUNDLE_LIMITS
from olmkit.store.store import Store, fill_staging, raise_unless_corrupt
from rukpak.format import BadBundle, Bundle, from_json, read_plain, read_registry, to_json
from rukpak.format.bundle import FORMAT_VERSION, MAX_BUNDLE_BYTES, MAX_BUNDLE_VALUES

Progress = Callable[[str], None]

FUNCTION = "rukpak.bundle.unpack_job:unpack"
FILES, BUNDLE_FILE, TYPE_FILE = "files", "bundle.json", "type"
REGISTRY, PLAIN = "registry+v1", "plain+v0"
SIZE_LIMIT = 64 * 1024**2
"""Bytes of manifests and metadata in one bundle."""

REASON = "UnpackFailed"

_FOLDERS: Mapping[str, tuple[str, ...]] = {REGISTRY: ("manifests", "metadata"), PLAIN: ("manifests",)}
_READERS: Mapping[str, Callable[[Mapping[str, bytes]], Bundle]] = {REGISTRY: read_registry, PLAIN: read_plain}


async def unpack(arguments: dict[str, Any], progress: Progress, parse: Parse) -> dict[str, Any]:
    """Pull `ref` and read it as `type` into the folder `staging`, unless the store at `root` has it; content read as another type
    is left alone unless `replace`. Of content that is here already the registry has to give the manifest, so that it has given
    what is reported.

    Returns {ref: by digest, digest, staged: whether it is in that folder} and, when the content can never be used, problem: a
    sentence. Raises Waiting for what may pass, Blocked for a reference or a configuration that cannot be used.
    """
    store, staging = Store(Path(arguments["root"]), create=False), Path(arguments["staging"])
    content_type: str = arguments["type"]
    registries = Access.from_json(arguments["access"]).registries()
    progress("looking up the image")
    resolved = await resolve(arguments["ref"], registries)
    found = {"ref": resolved.ref_by_digest, "digest": resolved.digest, "staged": False}
    known = type_of(store, resolved.digest)
    if (known and known != content_type and not arguments["replace"]) or is_whole(store, resolved.digest, content_type):
        await verify_access(resolved.ref_by_digest, registries)
        return found
    try:
        with fill_staging(staging, resolved.digest) as folder:
            only = _FOLDERS[content_type]
            ref = resolved.ref_by_digest
            fetched = await fetch(ref, folder, registries, only=only, limits=BUNDLE_LIMITS, progress=progress)
            with fetched.blob as blob:
                wanted = {"image": fetched.facts(), "folder": str(folder), "type": content_type}
                await parse(f"{__name__}:read", wanted, [blob], folder, progress)
    except BadContent as error:
        return {**found, "ref": error.ref or resolved.ref_by_digest, "problem": error.message}
    except BadBundle as error:
        return {**found, "problem": error.message}
    return {**found, "staged": True}


def take_over(
    store: Store, content_type: str, replaceable: str, asked: str, folder: Path, result: dict[str, Any]
) -> dict[str, Any]:
    """Put what such a job left in `folder` under the digest that it names, which has to be one of the image `asked`. Called by
    the controller, in a thread; see olmkit.jobs.staging.

    Content that is whole stays, whatever the job says, unless it was read as another type and its digest is `replaceable`.
    """
    digest: str = result["digest"]
    check_job_result(asked, result["ref"], digest)
    if result.pop("staged"):
        here = whole_type_of(store, digest)
        if not here or (digest == replaceable and here != content_type):
            store.publish_staged(folder, digest)
    return result


def read(arguments: Mapping[str, Any], files: Sequence[IO[bytes]], progress: Progress) -> dict[str, Any]:
    """Unpack what was fetched into `folder`, and read it as `type`. For the process that parses.

    Raises BadContent, BadBundle, Waiting.
    """
    staging, content_type = Path(arguments["folder"]), arguments["type"]
    unpacked = staging / FILES
    unpacked.mkdir()
    unpack_image(FetchedImage.from_facts(arguments["image"], files[0]), unpacked, BUNDLE_LIMITS, progress)
    progress("reading the manifests")
    bundle = _READERS[content_type](dict(_contents(unpacked)))
    (staging / BUNDLE_FILE).write_bytes(bounded(to_json(bundle)))
    (staging / TYPE_FILE).write_text(f"{content_type} {FORMAT_VERSION}")
    return {}


def is_whole(store: Store, digest: str, content_type: str) -> bool:
    """Whether the content of that digest is here, read as that type, with every byte as it was published. Blocks.

    Raises Waiting(CacheUnreadable) when that cannot be told now, as do the functions below: such content is not fetched again.
    """
    return whole_type_of(store, digest) == content_type


def type_of(store: Store, digest: str) -> str:
    """How the content of that digest was read; empty when it is not here, or was written by a suite of another format."""
    try:
        folder = store.path(digest)
        content_type, _, number = (folder / TYPE_FILE).read_text().partition(" ") if folder else ("", "", "")
    except ValueError:  # no text, or no digest
        return ""
    except OSError as error:
        raise_unless_corrupt(error)
        return ""
    return content_type if number == str(FORMAT_VERSION) else ""


def whole_type_of(store: Store, digest: str) -> str:
    """The same; empty also when a byte of it is not as it was published. Blocks."""
    content_type = type_of(store, digest)
    return content_type if content_type and store.verify(digest) else ""


def load(store: Store, digest: str) -> Bundle | None:
    """The bundle of that digest. Blocks. None when it is not here, not whole or of another format.

    Then it must be unpacked again, which a turn of its Bundle does.
    """
    try:
        folder = store.path(digest) if whole_type_of(store, digest) else None
        return from_json((folder / BUNDLE_FILE).read_bytes()) if folder else None
    except (ValueError, KeyError, TypeError):
        return None
    except OSError as error:
        raise_unless_corrupt(error)
        return None


def bounded(data: bytes) -> bytes:
    """The JSON form as it is. Raises BadBundle when it is more than the controllers, which read it whole, have memory for."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BadBundle(REASON, f"the bundle makes {len(data):,} bytes of JSON; {MAX_BUNDLE_BYTES:,} are the most")
    # Those in texts count too: it is an estimate, and ordinary bundles stay far below.
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > MAX_BUNDLE_VALUES:
        raise BadBundle(REASON, f"the bundle holds about {values:,} values; {MAX_BUNDLE_VALUES:,} are the most")
    return data


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """(path in the image, bytes) of every file. Raises BadBundle when they are too much to be a bundle."""
    total = 0
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            total += path.stat().st_size
            if total > SIZE_LIMIT:
                megabytes = SIZE_LIMIT // 1024**2
                raise BadBundle(REASON, f"the bundle holds more than {megabytes} MiB of manifests and metadata")
            yield path.relative_to(root).as_posix(), path.read_bytes()
