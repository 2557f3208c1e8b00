"""Checks whether the content of a source is in the store already, and publishes the staging directory of a load job.

Used by the job (catalogd.ingest.load_job), and again by the controller (catalogd.ingest.load_tasks) when the job ends: the
result of the job is not trusted. Never imports the code that parses catalogs.
"""

from __future__ import annotations

from pathlib import Path

from catalogd.ingest.load_request import LoadResult
from olmkit.sources.oci.reference import check_job_result
from olmkit.store.store import Store, raise_unless_corrupt


def is_stored(store: Store, digest: str) -> bool:
    """Report whether the content is in the store, in the current format.

    Raises Waiting(CacheUnreadable) when the disk cannot be read now, so that content that may be stored is not fetched again.
    """
    try:
        directory = store.path(digest)
        return directory is not None
    except OSError as error:
        raise_unless_corrupt(error)
        return False
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


def publish_job_output(store: Store, image: str, directory: Path, result: LoadResult) -> None:
    """Publish the staging directory of a load job under the digest that its result names. Blocks; see olmkit.jobs.staging.

    `image` is the reference that was requested, and the digest has to belong to it; "" for other kinds of sources. Stored
    content that is intact and complete stays, whatever the result says: no job replaces content that others read.
    """
    digest = result.digest
    if image:
        check_job_result(image, result.ref, digest)
    if result.staged and not (is_stored(store, digest) and store.verify(digest)):
        # Stored content that is corrupt or incomplete is served until now.
        store.publish_staged(directory, digest)
