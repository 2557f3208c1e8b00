"""The evaluation of a World: what `decide` acts on and `report` reports.

Values only. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from olmkit.errors import OlmError
from rukpak.format.text import list_names


class StorageMove(NamedTuple):
    """A CustomResourceDefinition, and the storage versions that it has and will have."""

    definition: str
    before: str
    after: str


@dataclass(frozen=True)
class Evaluation:
    """The facts that `decide` acts on and `report` reports."""

    blocker: OlmError | None = None
    """The reason why the desired Bundle cannot be installed, as far as that is known without a request to the API server."""
    remarks: str = ""
    """Remarks on what only clients may notice of new schemas, and on what a check of custom resources against them left out;
    empty: nothing."""
    permitted_loss: str = ""
    """The custom resources that lose data by the upgrade to the desired Bundle, as the settings permit; empty: none is known."""
    storage_moves: tuple[StorageMove, ...] = ()
    """The storage versions that the upgrade to the desired Bundle moves, for good."""
    interruption: str = ""
    """The requests for custom resources that fail during the upgrade to the desired Bundle, as far as that is known; empty:
    none."""
    rollback_obstacle: str = ""
    """The reason why the target cannot be rolled back, if it fails; empty: it can, or nothing asks for it."""
    foreign_objects: str = ""
    """A warning, while the BundleDeployment is being deleted, about objects in its Namespaces that the bundle did not bring;
    empty: none."""
    deletion_hold: str = ""
    """A sentence, while the BundleDeployment is being deleted and its annotation holds the deletion; empty: it is not held."""

    @property
    def irreversible(self) -> str:
        """A sentence about what the upgrade to the desired Bundle changes for good; empty: nothing."""
        moved = list_names(f"{name} from {before} to {after}" for name, before, after in self.storage_moves)
        return f"this cannot be reversed: it moves the storage version of {moved}" if moved else ""
