"""The task of a load job as the controller sees it: the request, the result and its limits, and the publication of the content.

Separate from the function (catalogd.ingest.load_job), because the controller never imports the code that parses catalogs. The
result of the job is not trusted: what is stored is checked again before its staging directory is published. Starts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from catalogd.storage.record import Record
from olmkit.jobs.job import Job, Limits, Task
from olmkit.jobs.staging import Staging
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadContent
from olmkit.sources.resolved_source import check_job_result, content_name
from olmkit.sources.signatures.policy import SignaturePolicy, check_signed
from olmkit.sources.source import HttpSource, ImageSource, Source, server_of
from olmkit.store.store import Store, raise_unless_corrupt

YAML_WORKER_COUNT = 2
YAML_WORKER_MEMORY_BYTES = 256 * 1024 * 1024
"""The memory limit of each worker. Documents are small (catalog_files.MAX_WORKER_DOCUMENT_BYTES), and the data in flight is
bounded."""


@dataclass(frozen=True)
class RejectedContent:
    """Content that was rejected: why, and its reference by digest."""

    reason: str
    message: str
    ref: str


@dataclass(frozen=True)
class LoadRequest:
    """The content to load, and the way to reach its source. `store` is the directory of the store.

    `validator` came with the content that is served.
    """

    source: Source
    access: Access
    store: Path
    served_digest: str = ""
    """The content that is served for this Catalog; "" for none."""
    confirmed_digest: str = ""
    """The same if this source has proved that it has it, with these credentials and for this Catalog; otherwise ""."""
    validator: str = ""
    rejected: RejectedContent | None = None


@dataclass(frozen=True)
class LoadResult:
    """The content that the source resolves to."""

    ref: str
    """The reference of the content by digest, for people."""
    digest: str
    """ "" if unchanged."""
    resolved: dict[str, Any]
    """The value of status.resolvedSource; empty if unchanged."""
    validator: str
    """The validator to send in the next request; "" for none."""
    unchanged: bool
    """The server of the source reports that nothing changed since it gave the validator of the request."""
    staged: bool = False
    """The content is in the staging directory of the job; otherwise it is in the store already."""
    signed_by: dict[str, str] = field(default_factory=dict)
    """The value of status.signedBy, if this job has verified signatures."""


LOAD = Job("catalogd.ingest.load_job:load", LoadRequest, LoadResult, errors=(BadContent,), parses=True)
LOAD_LIMITS = Limits(helper_memory_bytes=YAML_WORKER_COUNT * YAML_WORKER_MEMORY_BYTES)
"""Limits of a load job, its YAML workers included."""


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


def publish_job_output(
    store: Store, source: Source, policy: SignaturePolicy | None, directory: Path, result: LoadResult
) -> None:
    """Publish the staging directory of a load job under the digest that its result names. Blocks; see olmkit.jobs.staging.

    The digest has to belong to `source`, which was requested; an archive that has not changed has none. Stored content that is
    intact and complete stays, whatever the result says: no job replaces content that others read.
    """
    digest = result.digest
    check_signed(policy, digest, result.signed_by)
    is_same_archive = result.unchanged and not result.staged and isinstance(source, HttpSource)
    if not is_same_archive:
        check_job_result(source, result.resolved, digest)
        if result.ref != content_name(result.resolved):
            raise ValueError(f"the job resolved {content_name(result.resolved)} and reported {result.ref}")
    if result.staged and not (is_stored(store, digest) and store.verify(digest)):
        # Stored content that is corrupt or incomplete is served until now.
        store.publish_staged(directory, digest)


@dataclass(frozen=True)
class LoadTaskFactory:
    """Makes the tasks of load jobs. `store` is the directory of the store, `access` is how sources are reached."""

    store: Path
    access: Access

    def task(
        self,
        source: Source,
        credentials: Credentials,
        known: Record | None,
        bad: BadContent | None,
        *,
        answered: bool = False,
    ) -> Task[LoadRequest, LoadResult]:
        """The task that loads `source`. `known` is what is served, `bad` is why the last content was rejected.

        `answered`: this source has proved that it has `known`, with these credentials and for this Catalog.
        """
        request = LoadRequest(
            source,
            self.access.with_credentials(credentials),
            self.store,
            served_digest=known.digest if known else "",
            confirmed_digest=known.digest if known and answered else "",
            validator=known.validator if known else "",
            rejected=RejectedContent(bad.reason, bad.message, bad.ref) if bad else None,
        )
        can_probe = known is not None and isinstance(source, ImageSource)
        store = Store(self.store, create=False)
        staging = Staging(store.stage, partial(publish_job_output, store, source, self.access.policy))
        return Task(LOAD, request, probe=can_probe, source=server_of(source), staging=staging)
