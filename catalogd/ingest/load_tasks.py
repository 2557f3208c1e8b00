"""Makes the tasks of load jobs. Starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from catalogd.catalog.world import Record
from catalogd.ingest.load_request import LOAD, LoadRequest, LoadResult, RejectedContent
from catalogd.ingest.staged_content import publish_job_output
from olmkit.jobs.job import Task
from olmkit.jobs.staging import Staging
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadContent
from olmkit.sources.source import ImageSource, Source, server_of
from olmkit.store.store import Store


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
        image = source.ref if isinstance(source, ImageSource) else ""
        staging = Staging(store.stage, partial(publish_job_output, store, image))
        return Task(LOAD, request, probe=can_probe, source=server_of(source), staging=staging)
