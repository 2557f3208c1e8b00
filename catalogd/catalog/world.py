"""World, Plan and Done of one Catalog: what was seen, what to do, what was done. Values only, for catalogd.catalog.decide.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from catalogd.catalog.package_diff import NO_DIFFERENCE, Difference
from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.storage.record import Record as Record
from olmkit.api.catalogs import Catalog
from olmkit.errors import OlmError


@dataclass(frozen=True)
class ServedContent:
    """What HTTP serves for the Catalog, and what there is to say about it."""

    record: Record
    summary: CatalogSummary


@dataclass(frozen=True)
class InputReference:
    """An object of the system namespace that a source needs: a Secret or a ConfigMap."""

    kind: str
    name: str


@dataclass(frozen=True)
class DesiredSource:
    """What the spec asks for.

    `source` identifies it, `access` what it is reached with (a Secret's version): a job is known by both. `words` name it in
    sentences. `interval` is the time between two looks, None for never;
    `versions` are those of the ConfigMaps it is made of: another look is due when they differ.
    """

    identity: str
    description: str
    credential_versions: str = ""
    poll_interval: timedelta | None = None
    config_map_versions: str = ""

    @property
    def job_identity(self) -> str:
        """The identity of the job that reads it."""
        return " ".join(part for part in (self.identity, self.credential_versions, self.config_map_versions) if part)


@dataclass(frozen=True)
class LoadRunning:
    """A job reads what `wish` (Wish.job) means now; `waits` until it is its turn. `failed`: why the attempt before it failed."""

    job_identity: str
    is_queued: bool = False
    previous_error: OlmError | None = None


@dataclass(frozen=True)
class LoadFinished:
    """A job has read what was wished: content `digest` is on disk. `digest` is "" when it is still what is served."""

    job_identity: str
    resolved_ref: str
    digest: str
    resolved: Mapping[str, Any] = field(default_factory=dict)
    validator: str = ""


@dataclass(frozen=True)
class LoadFailed:
    """A job could not read what was wished; `age` is how long ago that was."""

    job_identity: str
    error: OlmError
    age: timedelta


LoadState: TypeAlias = LoadRunning | LoadFinished | LoadFailed


@dataclass(frozen=True)
class World:
    """Everything the decision may look at.

    `catalog` and `raw` are None when the object is gone; `looked` is when this process last asked the source with success;
    `packages` is what separates the Package objects on the cluster from what is served, `bundles` the same for
    BundleMetadata; `needed` holds the resourceVersion of each Secret and ConfigMap that the spec names, None for one that is
    not there; all of them live in `namespace`; `pull_secret` is the resourceVersion of the cluster-wide Secret, "" when there
    is none; `asked` is the value of the annotation that asks for a look, "" without one,
    `begun` the one that the last look was begun for, until its end is told; `lacking`: what is served was written without
    something that is to be offered now; `read_at`: Wish.versions when what is served was read or confirmed; `lost`: what is
    wrong with content that was served and is not any more; `foreign`: what is served under the name is another object's, one of
    the same name that was deleted, and no part of this World.
    """

    name: str
    raw: Mapping[str, Any] | None
    catalog: Catalog | None
    job: LoadState | None
    served: ServedContent | None
    package_diff: Difference
    last_checked: datetime | None
    content_url: str
    now: datetime
    namespace: str
    bundle_diff: Difference = NO_DIFFERENCE
    input_versions: Mapping[InputReference, str | None] = field(default_factory=dict)
    pull_secret_version: str = ""
    refresh_requested: str = ""
    refresh_started: str = ""
    lacks_bundle_metadata: bool = False
    corruption: str = ""
    loaded_config_map_versions: str = ""
    serves_deleted_catalog: bool = False

    @property
    def uid(self) -> str:
        """The Catalog's, "" when it is gone."""
        return self.catalog.metadata.uid if self.catalog else ""

    def is_confirmed_by(self, wish: DesiredSource) -> bool:
        """Whether the source that is wished for has shown, for this very Catalog and with these Secrets, that it has what is
        served."""
        record = self.served.record if self.served else None
        return record is not None and (record.ref, record.uid, record.access) == (
            wish.identity,
            self.uid,
            wish.credential_versions,
        )

    @property
    def refresh_pending(self) -> bool:
        """Whether a person asked for a look that has not been begun."""
        handled = self.catalog.status.last_handled_refresh if self.catalog else None
        return self.refresh_requested not in ("", self.refresh_started, handled)


@dataclass(frozen=True)
class StopServing:
    """Serve nothing, stop reading, remove what is on disk."""


@dataclass(frozen=True)
class Load:
    """Have a job read what the wish means now."""

    desired: DesiredSource


@dataclass(frozen=True)
class Serve:
    """Serve what a job has read."""

    record: Record


@dataclass(frozen=True)
class ConfirmUnchanged:
    """A job found what is served already: nothing but the time of the look is new. `after`: when to look again."""

    after: timedelta | None


@dataclass(frozen=True)
class SetLabel:
    """Give the object the label that selectors find it by."""


@dataclass(frozen=True)
class SyncPackages:
    """Write and delete these Package and BundleMetadata objects."""

    packages: Difference
    bundles: Difference = NO_DIFFERENCE


@dataclass(frozen=True)
class Wait:
    """All is as it should be, or a job is at work."""

    after: timedelta | None


Plan: TypeAlias = StopServing | Load | Serve | ConfirmUnchanged | SetLabel | SyncPackages | Wait


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out, and when to look again."""

    plan: Plan
    after: timedelta | None = None
