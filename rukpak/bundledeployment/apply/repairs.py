"""Finds what others changed or deleted, as the Events and the status of a BundleDeployment report it.

A CustomResourceDefinition or a Namespace that was deleted is created again, but not what was deleted with it: that is a loss, and
stays in the status until spec changes. Pure.
"""

from __future__ import annotations

from olmkit.api.bundledeployment_status import MAX_LOSSES, Loss
from olmkit.api.conditions import PendingEvent
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.health.progress import failed_before
from rukpak.bundledeployment.plan import DeleteBundles, Done, ObjectChange, Verb
from rukpak.bundledeployment.ready_message import Outcome, known_losses
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import CRD, NAMESPACE, World
from rukpak.format.objects import ObjectKey

MAX_SENTENCES_SHOWN = 3
DRIFT_REPAIRED = "DriftRepaired"
"""Reason of the Event about objects that others changed or deleted and that were repaired."""
DATA_LOST = "DataLost"
"""Reason of the Event about a CustomResourceDefinition or a Namespace that others deleted, with what it held."""


def repairs(world: World, outcome: Outcome) -> tuple[PendingEvent, ...]:
    """Drift that was repaired in this pass: one Warning, unless it was reported before, as long as it could not be repaired; and
    one about what was lost."""
    failed = failed_before(world)
    lost = new_losses(world, outcome)
    names = {(loss.kind, loss.name) for loss in lost}
    sentences = [
        f"{change.verb} {change.key}: {change.why}"
        for change in _changes(outcome)
        if change.verb in (Verb.REVERTED, Verb.RECREATED)
        and change.is_first
        and change.key not in failed
        and (change.key.kind, change.key.name) not in names
    ]
    deleted = outcome.plan.bundles if isinstance(outcome, Done) and isinstance(outcome.plan, DeleteBundles) else ()
    sentences += [
        f"Bundle {bundle.name}: its spec was changed, so it is deleted and created again"
        for bundle in deleted
        if bundle in world.changed_bundles
    ]
    by_reason = {DATA_LOST: [loss.sentence for loss in lost], DRIFT_REPAIRED: sentences}
    return tuple(
        PendingEvent("Warning", reason, list_names(texts, "; ", MAX_SENTENCES_SHOWN), "Repair")
        for reason, texts in by_reason.items()
        if texts
    )


def losses(world: World, outcome: Outcome) -> list[Loss] | None:
    """The losses since spec changed, the newest first; None if there are none."""
    new = new_losses(world, outcome)
    names = {(loss.kind, loss.name) for loss in new}
    kept = [loss for loss in known_losses(world) if (loss.kind, loss.name) not in names]
    return [*new, *kept][:MAX_LOSSES] or None


def new_losses(world: World, outcome: Outcome) -> tuple[Loss, ...]:
    """The losses of this pass: objects that it created again, that were installed and held what is deleted with them."""
    content = world.content if world.is_target_active else world.active_content
    installed = content.keys if isinstance(content, RenderedBundle) else frozenset()
    created = sorted(
        change.key
        for change in _changes(outcome)
        if change.verb in (Verb.CREATED, Verb.RECREATED)
        and world.active_bundle is not None
        and (change.key in installed or change.verb is Verb.RECREATED)
        and _was_absent(world, change.key)
    )
    return tuple(Loss(kind=key.kind, name=key.name, custom_resources=_counted(world, key)) for key in created)


def _changes(outcome: Outcome) -> tuple[ObjectChange, ...]:
    return outcome.changes if isinstance(outcome, Done) else ()


def _was_absent(world: World, key: ObjectKey) -> bool:
    """Report whether it is of a kind that holds other objects, and did not exist; one that was taken over lost nothing."""
    known = {CRD: world.crds, NAMESPACE: world.namespaces}.get(key[:2])
    return known is not None and key.name not in known


def _counted(world: World, key: ObjectKey) -> int | None:
    """The number of custom resources when they were counted; None: they were not, or there were none then."""
    counts = world.deployment.status.custom_resources or ()
    found = (each.count for each in counts if key[:2] == CRD and f"{each.plural}.{each.group}" == key.name)
    return next(found, None) or None
