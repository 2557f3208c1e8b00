"""The declaration of the load job: its request, its result and its limits. The function is in catalogd.ingest.load_job.

Separate from the function, because the controller never imports the code that parses catalogs. Tasks are made by
catalogd.ingest.load_tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olmkit.jobs.job import Job, Limits
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.source import Source

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


LOAD = Job("catalogd.ingest.load_job:load", LoadRequest, LoadResult, errors=(BadContent,), parses=True)
LOAD_LIMITS = Limits(helper_memory_bytes=YAML_WORKER_COUNT * YAML_WORKER_MEMORY_BYTES)
"""Limits of a load job, its YAML workers included."""
