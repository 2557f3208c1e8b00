"""Whether content that a source means is in the store already, and taking over what a job made of it.

Asked by the job (catalogd.ingest.load_job), and again by the controller (catalogd.ingest.load_request) when the job has left
content: what the job says is not believed. Never imports what reads catalogs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from catalogd.ingest.content import Content
from olmkit.sources.oci.reference import check_job_result
from olmkit.store.store import Store, raise_unless_corrupt


def is_stored(store: Store, digest: str, bundle_metadata: bool) -> bool:
    """Whether the content is in the store, in this version's format and with all that is asked for. Raises
    Waiting(CacheUnreadable) when that cannot be told now: nothing is fetched that may be here."""
    try:
        folder = store.path(digest)
        return folder is not None and (not bundle_metadata or Content(folder).has_bundle_metadata)
    except OSError as error:
        raise_unless_corrupt(error)
        return False
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


def publish_job_output(
    store: Store, bundle_metadata: bool, image: str, folder: Path, result: dict[str, Any]
) -> dict[str, Any]:
    """Put what a loading job left in `folder` under the digest that it names. Blocks; see olmkit.jobs.staging.

    `image` is the reference that it was asked for, whose digest that has to be; "" for other kinds of sources.
    Content that is intact and has all that is asked for stays, whatever the job says: no job replaces what others read.
    """
    digest: str = result["digest"]
    if image:
        check_job_result(image, result["ref"], digest)
    if result.pop("staged") and not (is_stored(store, digest, bundle_metadata) and store.verify(digest)):
        # What is damaged, or lacks what is asked for now, is served until this moment.
        store.publish_staged(folder, digest)
    return result
