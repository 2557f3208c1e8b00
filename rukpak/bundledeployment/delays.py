"""The delays of retries, and the texts of messages about objects that are being deleted.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from rukpak.bundledeployment.cluster.namespace_blockers import NamespaceBlockers
from rukpak.bundledeployment.world import NAMESPACE, World
from rukpak.format.objects import ObjectKey

CHANGED_RETRY_DELAY = timedelta(seconds=1)
"""The delay after an object was changed or deleted by others since it was observed."""
NOT_FOUND_RETRY_DELAY = timedelta(seconds=5)
"""The delay while an object cannot be created: its kind or Namespace does not exist, or an earlier object is being deleted."""
CONFLICT_RETRY_DELAY = timedelta(minutes=1)
"""The delay while another one has an object. The object is watched, so an event usually comes first."""
WATCHED_RETRY_DELAY = timedelta(minutes=10)
"""The delay while waiting for watched objects. An event usually comes first."""
UNREACHABLE_RETRY_DELAY = timedelta(seconds=20)
"""The delay while the API server of a kind is unavailable."""
CONTENT_RETRY_DELAY = timedelta(seconds=30)
MAX_RETRY_DELAY = timedelta(seconds=60)
"""The longest delay of the retry of a rejected apply, because not everything that may reject an apply is watched."""
RETRIED = (
    "it is tried again when an admission policy, a webhook configuration or a quota changes, and at least every "
    f"{MAX_RETRY_DELAY // timedelta(seconds=1)} seconds"
)
"""The text of Stalled about an apply that was rejected for another reason than a watched object. The message of a failed revision
does not have it, because a revision that was rolled back is not retried."""
WEBHOOK_RETRY_DELAY = timedelta(seconds=2)
"""The delay until rukpak checks again whether its webhook answers. All BundleDeployments together cause at most one dry run per
second."""
SYNC_POLL_DELAY = timedelta(seconds=2)
"""The delay after a BriefWait. An event usually ends the wait earlier."""
MIN_POLL_DELAY = timedelta(seconds=2)
"""The first delay between two requests for objects that are not watched. It grows with the age of the deletion."""
MAX_POLLED_AGE = WATCHED_RETRY_DELAY * 10


def poll_delay(now: datetime, since: Iterable[datetime | None]) -> timedelta:
    """The delay until objects that are not watched are read again: a tenth of the time since the latest deletion, at most
    WATCHED_RETRY_DELAY."""
    ages = [now - moment for moment in since if moment is not None]
    return max(MIN_POLL_DELAY, min(*ages, MAX_POLLED_AGE) / 10 if ages else MIN_POLL_DELAY)


def describe_deleting(world: World, key: ObjectKey) -> str:
    """The text about an object that is being deleted: the object and its finalizers, for a Namespace also the objects that it
    waits for."""
    if key[:2] == NAMESPACE:
        namespace = world.namespaces.get(key.name)
        text = with_finalizers(key, namespace.finalizers if namespace else ())
        blockers = world.namespace_blockers.get(key.name)
        return with_blockers(text, blockers) if blockers else text
    entry = world.labeled.get(key)
    return with_finalizers(key, entry.finalizers if entry else ())


def with_blockers(text: str, blockers: NamespaceBlockers) -> str:
    """The text about a Namespace that is being deleted, and about the objects that it waits for."""
    sentence = blockers.sentence()
    return f"{text}, which waits for {sentence}" if sentence else text


def with_finalizers(key: ObjectKey, finalizers: Iterable[str]) -> str:
    """The object and its finalizers."""
    listed = ", ".join(finalizers)
    return f"{key} (finalizers: {listed})" if listed else str(key)
