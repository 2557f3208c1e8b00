"""What a World means for its BundleDeployment, evaluated once per pass. Called by decide; the result goes to report. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.errors import OlmError
from rukpak.bundledeployment.blockers import blocker_of, irreversible
from rukpak.bundledeployment.retention import is_created_for
from rukpak.bundledeployment.world import World
from rukpak.format.text import list_names

FOREIGN_OBJECTS_WARNING = "objects that the bundle did not bring are deleted with their Namespace"


@dataclass(frozen=True)
class Evaluation:
    """What `decide` acts on and `report` tells users."""

    blocker: OlmError | None = None
    """Why the desired Bundle cannot be installed."""
    irreversible: str = ""
    """What the upgrade to the desired Bundle changes for good; empty: nothing."""
    foreign_objects: str = ""
    """While it is being deleted: a warning about objects in its Namespaces that the bundle did not bring; empty: none."""


def evaluate(world: World) -> Evaluation:
    """The evaluation of one pass."""
    if world.deployment.metadata.deleting:
        return Evaluation(foreign_objects=_foreign_objects(world))
    return Evaluation(blocker_of(world), irreversible(world))


def _foreign_objects(world: World) -> str:
    uids = [namespace.uid for namespace in world.namespaces.values() if is_created_for(namespace, world.uid)]
    found = [world.foreign_objects[uid] for uid in uids if uid in world.foreign_objects]
    first, count = [name for entry in found for name in entry.first], sum(entry.count for entry in found)
    return f"{FOREIGN_OBJECTS_WARNING}: {list_names(first, count=count)}" if first else ""
