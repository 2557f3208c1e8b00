"""Why the wanted bundle cannot be installed, what about an upgrade cannot be undone, and what objects that go wait for.

Called by rukpak.bundledeployment.decide and removal, which act on it, and by report, which says it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Blocked, OlmError, Waiting
from rukpak.bundledeployment.world import NAMESPACE, MissingContent, RenderedBundle, UnpackState, World
from rukpak.format.objects import ObjectKey
from rukpak.format.text import list_names

WATCHED_RETRY_DELAY = timedelta(minutes=10)
"""What lifts this is watched; the time is a net."""
UNREACHABLE_RETRY_DELAY = timedelta(seconds=20)
CONTENT_RETRY_DELAY = timedelta(seconds=30)
MIN_POLL_DELAY = timedelta(seconds=2)
"""What is not watched is read again after that time, and then ever less often."""


def blocker_of(world: World) -> OlmError | None:
    """Why the wanted bundle cannot be installed, as far as can be known without asking the API server."""
    return _unpack_obstacle(world) or _content_obstacle(world)


def _unpack_obstacle(world: World) -> OlmError | None:
    bundle = world.bundles.get(world.desired_bundle)
    failed = f"Failed to unpack the {world.desired_bundle} Bundle: {bundle.message if bundle else ''}"
    if bundle is None or bundle.is_deleting or bundle.unpack_state is UnpackState.PENDING:
        return Waiting(
            Reason.UNPACK_PENDING, f"Waiting for the {world.desired_bundle} Bundle to be unpacked", WATCHED_RETRY_DELAY
        )
    if bundle.unpack_state is UnpackState.RETRYING:
        return Waiting(Reason.UNPACK_FAILED, failed, WATCHED_RETRY_DELAY)
    if bundle.unpack_state is UnpackState.FAILED:
        return Blocked(Reason.UNPACK_FAILED, failed)
    return None


def _content_obstacle(world: World) -> OlmError | None:
    match world.content:
        case MissingContent():
            return Waiting(
                Reason.UNPACK_PENDING,
                f"the content of the {world.desired_bundle} Bundle is unavailable",
                CONTENT_RETRY_DELAY,
            )
        case Waiting() as error:
            return Waiting(Reason.BUNDLE_LOAD_FAILED, error.message, error.after)
        case OlmError() as error:
            return Blocked(Reason.BUNDLE_LOAD_FAILED, error.message)
        case content if content.faults:
            return Blocked(Reason.BUNDLE_LOAD_FAILED, "\n".join(content.faults))
        case content if content.missing_kinds:
            text = f"needs kinds that this cluster does not have: {list_names(content.missing_kinds, '; ')}"
            return Waiting(
                Reason.WAITING_FOR_KIND,
                text,
                UNREACHABLE_RETRY_DELAY if content.unreachable_groups else WATCHED_RETRY_DELAY,
            )
    return None


def irreversible(world: World) -> str:
    """What an upgrade moves for good: the version that custom resources are stored in. Empty when nothing, or moved already."""
    if world.active_bundle in (None, world.desired_bundle) or not isinstance(world.content, RenderedBundle):
        return ""
    live = {item.key.name: (world.crds.get(item.key.name), item.storage) for item in world.content.objects()}
    moved = [
        f"{name} from {crd.storage} to {storage}"
        for name, (crd, storage) in live.items()
        if storage and crd is not None and crd.owner_uid == world.uid and crd.storage not in ("", storage)
    ]
    return f"this cannot be reversed: it moves the storage version of {list_names(moved)}" if moved else ""


def describe_deleting(world: World, key: ObjectKey) -> str:
    """An object that is being deleted, with the finalizers that it waits for; of a Namespace with the objects in it."""
    if key[:2] == NAMESPACE:
        facts = world.namespaces.get(key.name)
        text = with_finalizers(key, facts.finalizers if facts else ())
        held = [with_finalizers(*entry) for entry in world.namespace_finalizers.get(key.name, {}).items()]
        return f"{text}, which waits for {list_names(held)}" if held else text
    member = world.labeled.get(key)
    return with_finalizers(key, member.finalizers if member else ())


def with_finalizers(key: ObjectKey, finalizers: Iterable[str]) -> str:
    """The object, and whom it waits for when it is being deleted."""
    listed = ", ".join(finalizers)
    return f"{key} (finalizers: {listed})" if listed else str(key)


def poll_delay(now: datetime, since: Iterable[datetime | None]) -> timedelta:
    """A tenth of the time that it has taken already."""
    ages = [now - moment for moment in since if moment is not None]
    return max(MIN_POLL_DELAY, min(ages, default=MIN_POLL_DELAY) / 10)
