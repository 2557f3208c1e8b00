"""Why the wanted bundle cannot be installed, and what about an upgrade cannot be undone, as far as the World shows it.

Called by rukpak.install.decide, which acts on it, and by report, which says it. Pure.
"""

from __future__ import annotations

from datetime import timedelta

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Blocked, OlmError, Waiting
from rukpak.install.world import Absent, Rendered, Unpacking, World, names

WATCHED = timedelta(minutes=10)
"""What lifts this is watched; the time is a net."""
HIDDEN = timedelta(seconds=20)
SOON = timedelta(seconds=30)


def obstacle_of(world: World) -> OlmError | None:
    """Why the wanted bundle cannot be installed, as far as can be known without asking the API server."""
    return _unpack_obstacle(world) or _content_obstacle(world)


def _unpack_obstacle(world: World) -> OlmError | None:
    bundle = world.bundles.get(world.wanted)
    failed = f"Failed to unpack the {world.wanted} Bundle: {bundle.message if bundle else ''}"
    if bundle is None or bundle.going or bundle.unpacking is Unpacking.PENDING:
        return Waiting(Reason.UNPACK_PENDING, f"Waiting for the {world.wanted} Bundle to be unpacked", WATCHED)
    if bundle.unpacking is Unpacking.RETRYING:
        return Waiting(Reason.UNPACK_FAILED, failed, WATCHED)
    if bundle.unpacking is Unpacking.FAILED:
        return Blocked(Reason.UNPACK_FAILED, failed)
    return None


def _content_obstacle(world: World) -> OlmError | None:
    match world.content:
        case Absent():
            return Waiting(Reason.UNPACK_PENDING, f"the content of the {world.wanted} Bundle is unavailable", SOON)
        case Waiting() as error:
            return Waiting(Reason.BUNDLE_LOAD_FAILED, error.message, error.after)
        case OlmError() as error:
            return Blocked(Reason.BUNDLE_LOAD_FAILED, error.message)
        case content if content.faults:
            return Blocked(Reason.BUNDLE_LOAD_FAILED, "\n".join(content.faults))
        case content if content.missing:
            text = f"needs kinds that this cluster does not have: {names(content.missing, '; ')}"
            return Waiting(Reason.WAITING_FOR_KIND, text, HIDDEN if content.unanswered else WATCHED)
    return None


def irreversible(world: World) -> str:
    """What an upgrade moves for good: the version that custom resources are stored in. Empty when nothing, or moved already."""
    if world.active in (None, world.wanted) or not isinstance(world.content, Rendered):
        return ""
    live = {item.key.name: (world.crds.get(item.key.name), item.storage) for item in world.content.items()}
    moved = [
        f"{name} from {crd.storage} to {storage}"
        for name, (crd, storage) in live.items()
        if storage and crd is not None and crd.owner == world.uid and crd.storage not in ("", storage)
    ]
    return f"this cannot be reversed: it moves the storage version of {names(moved)}" if moved else ""
