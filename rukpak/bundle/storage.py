"""Unpacked bundles in the store. The digest of their content has the directory `files` (a Helm chart, or manifests/ and metadata/
of the source), `bundle.json` (the parsed form) and `type` (the content type, and the format version of bundle.json).

All functions block.
"""

from __future__ import annotations

from pathlib import Path

from olmkit.sources.resolved_source import check_job_result
from olmkit.sources.signatures.policy import check_signed
from olmkit.store.store import Store, raise_unless_corrupt
from rukpak.bundle.unpack_request import UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.charts.chart import Chart
from rukpak.charts.chart import from_json as chart_from_json
from rukpak.format import Bundle, from_json
from rukpak.format.bundle import FORMAT_VERSION

FILES, BUNDLE_FILE, TYPE_FILE = "files", "bundle.json", "type"
REGISTRY, PLAIN, HELM = "registry+v1", "plain+v0", "helm"


def is_intact(store: Store, digest: str, content_type: str) -> bool:
    """Report whether the store has the content of this digest, read as this type, with every byte intact. Blocks.

    Raises Waiting(CacheUnreadable) if the store cannot be read at the moment, as the functions below do. The content may be
    intact in this case, and is not fetched again.
    """
    return intact_type(store, digest) == content_type


def stored_type(store: Store, digest: str) -> str:
    """The type that the content of this digest was read as; "" if the store lacks it or has another format version."""
    try:
        directory = store.path(digest)
        content_type, _, number = (directory / TYPE_FILE).read_text().partition(" ") if directory else ("", "", "")
    except ValueError:  # no text, or no digest
        return ""
    except OSError as error:
        raise_unless_corrupt(error)
        return ""
    return content_type if number == str(FORMAT_VERSION) else ""


def intact_type(store: Store, digest: str) -> str:
    """The same as stored_type, and "" if a byte of the content is damaged. Blocks."""
    content_type = stored_type(store, digest)
    return content_type if content_type and store.verify(digest) else ""


def load_chart(store: Store, digest: str) -> Chart | None:
    """The facts about the chart of this digest; None if it is missing, damaged or no chart. Blocks."""
    try:
        directory = store.path(digest) if stored_type(store, digest) == HELM else None
        return chart_from_json((directory / BUNDLE_FILE).read_bytes()) if directory else None
    except (ValueError, KeyError, TypeError):
        return None
    except OSError as error:
        raise_unless_corrupt(error)
        return None


def load(store: Store, digest: str) -> Bundle | None:
    """The bundle of this digest. None if it is missing, damaged or of another format version; the next pass over its Bundle
    unpacks it again. Blocks.
    """
    try:
        directory = store.path(digest) if intact_type(store, digest) else None
        return from_json((directory / BUNDLE_FILE).read_bytes()) if directory else None
    except (ValueError, KeyError, TypeError):
        return None
    except OSError as error:
        raise_unless_corrupt(error)
        return None


def publish_job_output(
    store: Store, request: UnpackRequest, replaceable: str, directory: Path, result: UnpackResult
) -> None:
    """Publish the `directory` of a job under the digest that its result names. The result has to be content of the source that
    was requested, and verified as requested. The controller does this in a thread: see olmkit.jobs.staging.

    Intact content is kept, whatever the result is, unless it was read as another type and its digest is `replaceable`.
    """
    digest = result.digest
    check_job_result(request.source, result.resolved, digest)
    check_signed(request.access.policy, digest, result.signed_by)
    if result.staged:
        stored = intact_type(store, digest)
        if not stored or (digest == replaceable and stored != request.content_type):
            store.publish_staged(directory, digest)
