"""The evaluation of a World, which `decide` acts on and `report` reports.

Values only. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from olmkit.errors import OlmError
from olmkit.gocompat.text import list_names


class StorageMove(NamedTuple):
    """A CustomResourceDefinition, and the storage versions that it has and will have."""

    definition: str
    before: str
    after: str


@dataclass(frozen=True)
class Evaluation:
    """The facts that `decide` acts on and `report` reports."""

    blocker: OlmError | None = None
    """The reason why the desired Bundle cannot be installed, as far as it is known without a request to the API server."""
    remarks: str = ""
    """Remarks on the effects of new schemas that only clients may notice, and on custom resources that a check against these
    schemas left out; empty if there are none."""
    permitted_loss: str = ""
    """The custom resources that lose data by the upgrade to the desired Bundle, as the settings permit; empty if none are
    known."""
    storage_moves: tuple[StorageMove, ...] = ()
    """The storage versions that the upgrade to the desired Bundle changes irreversibly."""
    interruption: str = ""
    """The requests for custom resources that fail during the upgrade to the desired Bundle, as far as they are known; empty if
    there are none."""
    rollback_obstacle: str = ""
    """The reason why the target cannot be rolled back if it fails; empty if it can, or if no rollback is requested."""
    foreign_objects: str = ""
    """A warning, while the BundleDeployment is being deleted, about objects in its Namespaces that are not part of the bundle;
    empty if there are none."""
    deletion_hold: str = ""
    """A sentence about the hold, while the BundleDeployment is being deleted and its annotation holds the deletion; empty if it
    is not held."""

    @property
    def irreversible(self) -> str:
        """A sentence about the irreversible changes of the upgrade to the desired Bundle; empty if there are none."""
        moved = list_names(f"{name} from {before} to {after}" for name, before, after in self.storage_moves)
        return f"this cannot be reversed: it moves the storage version of {moved}" if moved else ""
