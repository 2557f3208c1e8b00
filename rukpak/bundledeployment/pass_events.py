"""The Events of a pass that are not transitions of a condition: about repairs, kept objects, deleted objects of others, and
changed schemas.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.conditions import PendingEvent
from olmkit.api.deployed_objects import ObjectReference
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.apply.repairs import repairs
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.plan import Announce, BeginRevision, Done
from rukpak.bundledeployment.ready_message import Outcome
from rukpak.bundledeployment.world import World

NAMESPACE_NOT_EMPTY = "NamespaceNotEmpty"
"""Reason of the Event about objects of others that are deleted with a Namespace."""
DEFINITION_CHANGED = "DefinitionChanged"
"""Reason of the Event about changes of CustomResourceDefinitions that clients may notice."""
FIELDS_DROPPED = "FieldsDropped"
"""Reason of the Event about custom resources that lose data by an upgrade, as the settings permit."""
LEFT_BEHIND = "LeftBehind"
"""Reason of the Event about objects that an abandoned deletion leaves, because the account may not remove them."""
RELEASED = "Released"
"""Reason of the Event about objects that left the bundle and are kept."""


def released_warning(world: World, released: Iterable[ObjectReference]) -> tuple[PendingEvent, ...]:
    """One Warning about the objects that status.released will name and does not name yet."""
    new = [one for one in released if one not in (world.deployment.status.released or ())]
    if not new or world.active_bundle is None:  # without it they are what an earlier BundleDeployment has left
        return ()
    names = list_names(f"{one.kind} {one.name}" for one in new)
    text = f"no longer in the bundle and kept, because they are in use; nothing manages them any more: {names}"
    return (PendingEvent("Warning", RELEASED, text, "Prune"),)


def pass_events(world: World, evaluation: Evaluation, outcome: Outcome) -> tuple[PendingEvent, ...]:
    """The Events, in the order in which they are reported."""
    return (
        *repairs(world, outcome),
        *_foreign_objects_warning(evaluation, outcome),
        *_left_warning(world, outcome),
        *_definition_warnings(evaluation, outcome),
    )


def _foreign_objects_warning(evaluation: Evaluation, outcome: Outcome) -> tuple[PendingEvent, ...]:
    """One Warning before a Namespace is deleted with objects of others."""
    is_announced = isinstance(outcome, Done) and isinstance(outcome.plan, Announce)
    sentence = evaluation.foreign_objects if is_announced else ""
    return (PendingEvent("Warning", NAMESPACE_NOT_EMPTY, sentence, "Remove"),) if sentence else ()


def _left_warning(world: World, outcome: Outcome) -> tuple[PendingEvent, ...]:
    """One Warning about what an abandoned deletion leaves behind."""
    if not isinstance(outcome, Done) or not outcome.left:
        return ()
    text = (
        f"the deletion continues without what {world.account} may not remove: {list_names(outcome.left)}; "
        "nothing manages what stays of it"
    )
    return (PendingEvent("Warning", LEFT_BEHIND, text, "Remove"),)


def _definition_warnings(evaluation: Evaluation, outcome: Outcome) -> tuple[PendingEvent, ...]:
    """Two Warnings when an upgrade begins: one about data that custom resources lose by new schemas, and one about effects of the
    new schemas that clients may notice."""
    if not isinstance(outcome, Done) or not isinstance(outcome.plan, BeginRevision):
        return ()
    sentences = {FIELDS_DROPPED: evaluation.permitted_loss, DEFINITION_CHANGED: evaluation.remarks}
    return tuple(PendingEvent("Warning", reason, text, "Upgrade") for reason, text in sentences.items() if text)
