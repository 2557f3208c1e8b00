"""Unpacked bundles in the store: under the digest of an image, the folder files (manifests/ and metadata/ of the image),
bundle.json (the parsed form) and type (how it was read, and the format version of that form).

Written by rukpak.bundle.unpack_job and published here by the controller; rukpak.bundledeployment reads by `load`. Everything
blocks.
"""

from __future__ import annotations

from pathlib import Path

from olmkit.sources.oci.reference import check_job_result
from olmkit.store.store import Store, raise_unless_corrupt
from rukpak.bundle.unpack import UnpackResult
from rukpak.format import Bundle, from_json
from rukpak.format.bundle import FORMAT_VERSION

FILES, BUNDLE_FILE, TYPE_FILE = "files", "bundle.json", "type"
REGISTRY, PLAIN = "registry+v1", "plain+v0"


def is_intact(store: Store, digest: str, content_type: str) -> bool:
    """Whether the content of that digest is here, read as that type, with every byte as it was published. Blocks.

    Raises Waiting(CacheUnreadable) when that cannot be told now, as do the functions below: such content is not fetched again.
    """
    return intact_type(store, digest) == content_type


def stored_type(store: Store, digest: str) -> str:
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


def intact_type(store: Store, digest: str) -> str:
    """The same; empty also when a byte of it is not as it was published. Blocks."""
    content_type = stored_type(store, digest)
    return content_type if content_type and store.verify(digest) else ""


def load(store: Store, digest: str) -> Bundle | None:
    """The bundle of that digest. Blocks. None when it is not here, not whole or of another format.

    Then it must be unpacked again, which a turn of its Bundle does.
    """
    try:
        folder = store.path(digest) if intact_type(store, digest) else None
        return from_json((folder / BUNDLE_FILE).read_bytes()) if folder else None
    except (ValueError, KeyError, TypeError):
        return None
    except OSError as error:
        raise_unless_corrupt(error)
        return None


def publish_job_output(
    store: Store, content_type: str, replaceable: str, image: str, folder: Path, result: UnpackResult
) -> None:
    """Publish what a job left in `folder` under the digest that it names, which has to be one of `image`, the reference that was
    asked for. Called by the controller, in a thread: see olmkit.jobs.staging.

    Intact content stays, whatever the job says, unless it was read as another type and its digest is `replaceable`.
    """
    digest = result.digest
    check_job_result(image, result.ref, digest)
    if result.staged:
        stored = intact_type(store, digest)
        if not stored or (digest == replaceable and stored != content_type):
            store.publish_staged(folder, digest)
