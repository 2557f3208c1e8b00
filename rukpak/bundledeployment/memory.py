"""What a process remembers of a BundleDeployment in addition to what the cluster shows.

Read by rukpak.bundledeployment.reconciler, written by it and act. It may be lost at any time: it only saves writes and requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from olmkit.api.meta import Object
from rukpak.bundledeployment.apply_errors import MAX_RETRY_DELAY
from rukpak.bundledeployment.world import ApplyRejected, ForeignObjects, LastApplied, World
from rukpak.format.objects import ObjectKey


@dataclass(frozen=True)
class Rejection:
    """What the API server rejected last, and how long it is not retried."""

    cause: tuple[object, ...]
    """Generation, digest of the content and message: a retry of the same has the same cause."""
    at: datetime
    after: timedelta

    @classmethod
    def next(cls, last: Rejection | None, world: World, error: ApplyRejected) -> Rejection:
        """The rejection to remember. A retry with the same cause doubles the delay; a pass before that time does not."""
        cause = (world.deployment.metadata.generation, getattr(world.content, "content", ""), error.message)
        if last is None or last.cause != cause:
            return cls(cause, world.now, error.after)
        if world.now < last.at + last.after:
            return last
        return cls(cause, world.now, max(error.after, min(last.after * 2, MAX_RETRY_DELAY)))


@dataclass
class Memory:
    """Of the BundleDeployment of that uid."""

    uid: str
    last_applied: dict[ObjectKey, LastApplied] = field(default_factory=dict)
    failed_deletions: dict[str, int] = field(default_factory=dict)
    """While it is being deleted: uid -> how often the API server refused to delete the object."""
    foreign_objects: dict[str, ForeignObjects] = field(default_factory=dict)
    """While it is being deleted: by uid of the Namespaces whose objects have been listed."""
    has_no_custom_resources: bool = False
    """While it is being deleted: its CRDs had none at the last list."""
    brief_wait_since: datetime | None = None
    rejection: Rejection | None = None
    latest: Object | None = None
    """The BundleDeployment after a write of this pass."""
    is_finalized: bool = False
    """The finalizer was removed in this pass."""
