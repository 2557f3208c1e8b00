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
class Served:
    """What HTTP serves for the Catalog, and what there is to say about it."""

    record: Record
    summary: CatalogSummary


@dataclass(frozen=True)
class Needed:
    """An object of the system namespace that a source needs: a Secret or a ConfigMap."""

    kind: str
    name: str


@dataclass(frozen=True)
class Wish:
    """What the spec asks for.

    `source` identifies it, `access` what it is reached with (a Secret's version): a job is known by both. `words` name it in
    sentences. `interval` is the time between two looks, None for never;
    `versions` are those of the ConfigMaps it is made of: another look is due when they differ.
    """

    source: str
    words: str
    access: str = ""
    interval: timedelta | None = None
    versions: str = ""

    @property
    def job(self) -> str:
        """The identity of the job that reads it."""
        return " ".join(part for part in (self.source, self.access, self.versions) if part)


@dataclass(frozen=True)
class Reading:
    """A job reads what `wish` (Wish.job) means now; `waits` until it is its turn. `failed`: why the attempt before it failed."""

    wish: str
    waits: bool = False
    failed: OlmError | None = None


@dataclass(frozen=True)
class Read:
    """A job has read what was wished: content `digest` is on disk. `digest` is "" when it is still what is served."""

    wish: str
    resolved_ref: str
    digest: str
    resolved: Mapping[str, Any] = field(default_factory=dict)
    validator: str = ""


@dataclass(frozen=True)
class Refused:
    """A job could not read what was wished; `age` is how long ago that was."""

    wish: str
    error: OlmError
    age: timedelta


Job: TypeAlias = Reading | Read | Refused


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
    job: Job | None
    served: Served | None
    packages: Difference
    looked: datetime | None
    content_url: str
    now: datetime
    namespace: str
    bundles: Difference = NO_DIFFERENCE
    needed: Mapping[Needed, str | None] = field(default_factory=dict)
    pull_secret: str = ""
    asked: str = ""
    begun: str = ""
    lacking: bool = False
    lost: str = ""
    read_at: str = ""
    foreign: bool = False

    @property
    def uid(self) -> str:
        """The Catalog's, "" when it is gone."""
        return self.catalog.metadata.uid if self.catalog else ""

    def answered(self, wish: Wish) -> bool:
        """Whether the source that is wished for has shown, for this very Catalog and with these Secrets, that it has what is
        served."""
        record = self.served.record if self.served else None
        return record is not None and (record.ref, record.uid, record.access) == (wish.source, self.uid, wish.access)

    @property
    def refresh(self) -> bool:
        """Whether a person asked for a look that has not been begun."""
        handled = self.catalog.status.last_handled_refresh if self.catalog else None
        return self.asked not in ("", self.begun, handled)


@dataclass(frozen=True)
class Withdraw:
    """Serve nothing, stop reading, remove what is on disk."""


@dataclass(frozen=True)
class Load:
    """Have a job read what the wish means now."""

    wish: Wish


@dataclass(frozen=True)
class Serve:
    """Serve what a job has read."""

    record: Record


@dataclass(frozen=True)
class Confirm:
    """A job found what is served already: nothing but the time of the look is new. `after`: when to look again."""

    after: timedelta | None


@dataclass(frozen=True)
class Label:
    """Give the object the label that selectors find it by."""


@dataclass(frozen=True)
class SyncPackages:
    """Write and delete these Package and BundleMetadata objects."""

    packages: Difference
    bundles: Difference = NO_DIFFERENCE


@dataclass(frozen=True)
class Keep:
    """All is as it should be, or a job is at work."""

    after: timedelta | None


Plan: TypeAlias = Withdraw | Load | Serve | Confirm | Label | SyncPackages | Keep


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out, and when to look again."""

    plan: Plan
    after: timedelta | None = None
