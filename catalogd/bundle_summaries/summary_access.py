"""Makes the tasks of summary jobs: a bundle's image is read as rukpak would read it, with the pull Secret of its Catalog.

As for an installation, `spec.source.image.pullSecret` of the Catalog comes before the Secret for all Catalogs, a login is sent
only to the hosts that the Secret names, and `spec.bundles.verify` decides whose signatures an image needs. The credentials are in
the request of the job and nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from catalogd.bundle_summaries.summaries import AskedBundle, SummaryTask, Tasks
from catalogd.bundle_summaries.summary_store import SummaryStore, staged_summary
from catalogd.bundle_summaries.summary_task import SUMMARIZE, SummaryRequest, SummaryResult
from olmkit.api.catalogs import Catalog
from olmkit.api.content import SourceType
from olmkit.api.signatures import Verification
from olmkit.errors import Waiting
from olmkit.jobs.job import Task
from olmkit.jobs.staging import Staging
from olmkit.runtime.source_inputs import SourceInputs
from olmkit.sources.access import Access
from olmkit.sources.errors import RETRY_DELAY
from olmkit.sources.source import ImageSource, server_of
from olmkit.sources.spec_source import secret_name

GONE = "CatalogGone"


class CatalogTasks(Tasks):
    """The tasks for the Catalogs that `catalog` returns by name, None for none. `access` is how registries are reached."""

    def __init__(
        self, catalog: Callable[[str], Mapping[str, Any] | None], inputs: SourceInputs, access: Access
    ) -> None:
        self._catalog = catalog
        self._inputs = inputs
        self._access = access

    def access_versions(self, catalog: str) -> str:
        """The resourceVersions of the Secret of the Catalog, and of the one for all; and its policy for signatures."""
        found, secrets = _loaded(self._catalog(catalog)), self._inputs.secrets
        name, verify = _secret(found), _verification(found)
        own = secrets.version(name) if name else ""
        policy = hashlib.sha256(verify.model_dump_json().encode()).hexdigest()[:16] if verify is not None else ""
        return f"{name} {own} {secrets.common_version} {policy}".strip()

    async def task(self, asked: AskedBundle, store: SummaryStore) -> SummaryTask:
        """The task that reads the image. Raises OlmError and ApiError."""
        catalog = _loaded(self._catalog(asked.catalog))
        if catalog is None:
            raise Waiting(GONE, "the Catalog is not there any more", RETRY_DELAY)
        credentials = await self._inputs.secrets.credentials(_secret(catalog))
        access = self._access.with_credentials(credentials).with_denied_hosts(await self._inputs.denied_hosts())
        verify = _verification(catalog)
        access = access.with_policy(await self._inputs.policy_of(verify) if verify is not None else None)
        staging = Staging(store.store.stage, partial(store.publish, asked.image))
        request = SummaryRequest(asked.image, access, store.directory)
        return Task(SUMMARIZE, request, source=server_of(ImageSource(asked.image)), staging=staging)

    def stated_task(self, asked: AskedBundle, keep: Callable[[bytes], None], store: SummaryStore) -> SummaryTask:
        """The task that reads what the catalog states; its summary is given to `keep`, in a thread."""

        def finish(directory: Path, _: SummaryResult) -> None:
            keep(staged_summary(directory))

        request = SummaryRequest(asked.image, Access(), store.directory, asked.stated)
        return Task(SUMMARIZE, request, staging=Staging(store.store.stage, finish))


def _loaded(raw: Mapping[str, Any] | None) -> Catalog | None:
    try:
        return Catalog.load(dict(raw)) if raw is not None else None
    except ValidationError:
        return None


def _secret(catalog: Catalog | None) -> str:
    """The Secret that a Catalog hands on to its bundles: only that of an image (docs/decisions/0042)."""
    if catalog is None or catalog.spec.source.type != SourceType.IMAGE:
        return ""
    return secret_name(catalog.spec.source)


def _verification(catalog: Catalog | None) -> Verification | None:
    return catalog.spec.bundles.verify if catalog is not None and catalog.spec.bundles is not None else None
