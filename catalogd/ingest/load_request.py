"""The request for a load job (catalogd.ingest.load_job): its arguments, limits and staging folder.

Used by catalogd.catalog.reconciler and catalogd.setup. Separate from the job, because the controller never imports the code
that parses catalogs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from catalogd.catalog.world import Record
from catalogd.ingest.staged_content import publish_job_output
from catalogd.ingest.yaml_worker_limits import YAML_WORKER_MEMORY_BYTES, YAML_WORKERS
from olmkit.jobs import Limits, Staging, Task
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadContent
from olmkit.sources.source import ImageSource, Source, to_json
from olmkit.store.store import Store

LOAD_JOB_MODULE = "catalogd.ingest.load_job"
LOAD_LIMITS = Limits(helper_memory_bytes=YAML_WORKERS * YAML_WORKER_MEMORY_BYTES)
"""Limits of a load job, its YAML workers included."""


@dataclass(frozen=True)
class LoadTaskFactory:
    """Makes the tasks of load jobs. `store` is the folder of the store, `access` is how sources are reached.

    `bundle_metadata`: content also includes the specs of BundleMetadata objects.
    """

    store: Path
    access: Access
    bundle_metadata: bool = False

    def task(
        self,
        source: Source,
        credentials: Credentials,
        known: Record | None,
        bad: BadContent | None,
        *,
        answered: bool = False,
    ) -> Task:
        """The task that loads `source`. `known` is what is served, `bad` is why the last content was rejected.

        `answered`: this source has proved that it has `known`, with these credentials and for this Catalog.
        """
        arguments = {
            "source": to_json(source),
            "access": self.access.with_credentials(credentials).to_json(),
            "store": str(self.store),
            "known": known.digest if known else "",
            "answered": known.digest if known and answered else "",
            "validator": known.validator if known else "",
            "bad": [bad.reason, bad.message, bad.ref] if bad else None,
            "bundleMetadata": self.bundle_metadata,
        }
        can_probe = known is not None and isinstance(source, ImageSource)
        store = Store(self.store, create=False)
        image = source.ref if isinstance(source, ImageSource) else ""
        staging = Staging(store.stage, partial(publish_job_output, store, self.bundle_metadata, image))
        look = f"{LOAD_JOB_MODULE}:probe" if can_probe else ""
        return Task(f"{LOAD_JOB_MODULE}:load", arguments, look=look, parses=True, staging=staging)
