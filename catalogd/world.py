"""World, Plan and Done of one Catalog: what was seen, what to do, what was done. Values only, for catalogd.decide. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from catalogd.listing import Difference
from olmkit.api.catalogs import Catalog
from olmkit.errors import OlmError


@dataclass(frozen=True)
class Record:
    """Content that a Catalog has on disk: the reference it was asked for by, the image by digest, and since when."""

    ref: str
    image: str
    digest: str
    unpacked: str


@dataclass(frozen=True)
class Served:
    """What HTTP serves for the Catalog, and what there is to say about it."""

    record: Record
    package_names: tuple[str, ...]
    bundle_count: int
    blob_count: int
    problem_count: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """A job reads what `ref` means now; `waits` until it is its turn. `failed`: why the attempt before it came to nothing."""

    ref: str
    waits: bool = False
    failed: OlmError | None = None


@dataclass(frozen=True)
class Read:
    """A job has read `ref`: content `digest` is on disk."""

    ref: str
    image: str
    digest: str


@dataclass(frozen=True)
class Refused:
    """A job could not read `ref`; `age` is how long ago that was."""

    ref: str
    error: OlmError
    age: timedelta


Job: TypeAlias = Reading | Read | Refused


@dataclass(frozen=True)
class World:
    """Everything the decision may look at.

    `catalog` and `raw` are None when the object is gone; `looked` is when this process last asked the source with success;
    `packages` is what separates the Package objects on the cluster from what is served.
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


@dataclass(frozen=True)
class Withdraw:
    """Serve nothing, stop reading, remove what is on disk."""


@dataclass(frozen=True)
class Load:
    """Have a job read what `ref` means now."""

    ref: str


@dataclass(frozen=True)
class Serve:
    """Serve what a job has read."""

    record: Record


@dataclass(frozen=True)
class Confirm:
    """A job found what is served already: nothing but the time of the look is new."""


@dataclass(frozen=True)
class SyncPackages:
    """Write and delete these Package objects."""

    batch: Difference


@dataclass(frozen=True)
class Keep:
    """All is as it should be, or a job is at work."""

    after: timedelta | None


Plan: TypeAlias = Withdraw | Load | Serve | Confirm | SyncPackages | Keep


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out, and when to look again."""

    plan: Plan
    after: timedelta | None = None
