"""From an image reference to a bundle in the store: what runs in the child process of olmkit.jobs, and where content lies.

Asked for by rukpak.unpack.reconciler. What is published under an image's digest: files/ (manifests/ and metadata/ of the image),
bundle.json (the parsed form) and type (how it was read, and the format of that form). What is wrong with the content itself comes
back as a result, with the digest it is wrong at; what may pass raises Waiting. rukpak.install reads by `load`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.image import BUNDLE, pull, resolve
from olmkit.store import Store
from rukpak.bundle import BadBundle, Bundle, from_json, read_plain, read_registry, to_json
from rukpak.bundle.content import BUNDLE_LIMIT, FORMAT, VALUES_LIMIT

FUNCTION = "rukpak.unpack.job:unpack"
FILES, BUNDLE_FILE, TYPE_FILE = "files", "bundle.json", "type"
REGISTRY, PLAIN = "registry+v1", "plain+v0"
SIZE_LIMIT = 64 * 1024**2
"""Bytes of manifests and metadata in one bundle."""

REASON = "UnpackFailed"

_FOLDERS: Mapping[str, tuple[str, ...]] = {REGISTRY: ("manifests", "metadata"), PLAIN: ("manifests",)}
_READERS: Mapping[str, Callable[[Mapping[str, bytes]], Bundle]] = {REGISTRY: read_registry, PLAIN: read_plain}


async def unpack(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Pull `ref`, read it as `type` and publish it in the store at `root`; content read as another type is left alone unless
    `replace`.

    Returns {ref: by digest, digest} and, when the content can never be used, problem: a sentence. Raises Waiting for what may
    pass, Blocked for a reference or a configuration that cannot be used.
    """
    store = Store(Path(arguments["root"]))
    content_type: str = arguments["type"]
    registries = Access.from_json(arguments["access"]).registries()
    progress("looking up the image")
    resolved = await resolve(arguments["ref"], registries)
    found = {"ref": resolved.ref_by_digest, "digest": resolved.digest}
    known = type_of(store, resolved.digest)
    if (known and known != content_type and not arguments["replace"]) or is_whole(store, resolved.digest, content_type):
        return found
    store.forget(resolved.digest)
    try:
        with store.publish(resolved.digest) as staging:
            files = staging / FILES
            files.mkdir()
            await pull(
                resolved.ref_by_digest, files, registries, only=_FOLDERS[content_type], limits=BUNDLE, progress=progress
            )
            progress("reading the manifests")
            bundle = _READERS[content_type](dict(_contents(files)))
            (staging / BUNDLE_FILE).write_bytes(bounded(to_json(bundle)))
            (staging / TYPE_FILE).write_text(f"{content_type} {FORMAT}")
    except BadContent as error:
        return {**found, "ref": error.ref or resolved.ref_by_digest, "problem": error.message}
    except BadBundle as error:
        return {**found, "problem": error.message}
    return found


def is_whole(store: Store, digest: str, content_type: str) -> bool:
    """Whether the content of that digest is here, read as that type, with every byte as it was published. Blocks."""
    return whole_type_of(store, digest) == content_type


def type_of(store: Store, digest: str) -> str:
    """How the content of that digest was read; empty when it is not here, or was written by a suite of another format."""
    try:
        folder = store.path(digest)
        content_type, _, number = (folder / TYPE_FILE).read_text().partition(" ") if folder else ("", "", "")
    except (OSError, ValueError):  # no text, or no digest
        return ""
    return content_type if number == str(FORMAT) else ""


def whole_type_of(store: Store, digest: str) -> str:
    """The same; empty also when a byte of it is not as it was published. Blocks."""
    content_type = type_of(store, digest)
    return content_type if content_type and store.verify(digest) else ""


def load(store: Store, digest: str) -> Bundle | None:
    """The bundle of that digest. Blocks. None when it is not here, not whole or of another format.

    Then it must be unpacked again, which a turn of its Bundle does.
    """
    folder = store.path(digest) if whole_type_of(store, digest) else None
    try:
        return from_json((folder / BUNDLE_FILE).read_bytes()) if folder else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def bounded(data: bytes) -> bytes:
    """The JSON form as it is. Raises BadBundle when it is more than the controllers, which read it whole, have memory for."""
    if len(data) > BUNDLE_LIMIT:
        raise BadBundle(REASON, f"the bundle makes {len(data):,} bytes of JSON; {BUNDLE_LIMIT:,} are the most")
    # Those in texts count too: it is an estimate, and ordinary bundles stay far below.
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > VALUES_LIMIT:
        raise BadBundle(REASON, f"the bundle holds about {values:,} values; {VALUES_LIMIT:,} are the most")
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
