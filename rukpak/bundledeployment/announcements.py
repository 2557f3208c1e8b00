"""Finds the irreversible changes that Ready announces before they are made, and checks whether the status has announced them.

decide lets the status be written before any of these changes is made. Pure.
"""

from __future__ import annotations

import hashlib

from olmkit.api.deployed_objects import Announcement
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.plan import Done
from rukpak.bundledeployment.ready_message import Outcome
from rukpak.bundledeployment.world import World

DIGEST_LENGTH = 16


def is_announced(world: World, evaluation: Evaluation) -> bool:
    """Report whether the status has announced everything that the evaluation has to announce. True also if there is nothing to
    announce."""
    wanted = _announcement(evaluation)
    return wanted is None or world.deployment.status.announced == wanted


def reported(world: World, evaluation: Evaluation, outcome: Outcome) -> Announcement | None:
    """The announcement that the status has after the pass. A pass that failed has announced nothing new, because its message
    begins with the error and may be truncated."""
    wanted = _announcement(evaluation)
    return wanted if isinstance(outcome, Done) or wanted == world.deployment.status.announced else None


def _announcement(evaluation: Evaluation) -> Announcement | None:
    """The changes to announce; None if there are none. If a deletion is held, the announcement has the reason of the hold instead
    of the objects to delete."""
    is_foreign = bool(evaluation.foreign_objects) and not evaluation.deletion_hold
    if not is_foreign and not evaluation.storage_moves:
        return None
    moves = repr([tuple(move) for move in evaluation.storage_moves]) if evaluation.storage_moves else ""
    digest = hashlib.sha256(moves.encode()).hexdigest()[:DIGEST_LENGTH] if moves else None
    return Announcement(storage_versions=digest, foreign_objects=is_foreign or None)
