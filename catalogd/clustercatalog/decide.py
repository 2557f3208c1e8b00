"""Decides the next step for one ClusterCatalog: which write brings its Catalog closer to what it wants.

Each Plan is one step; the next pass observes its result, so that the same rules continue after a crash between any two writes.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from catalogd.clustercatalog.catalog_object import catalog_for, difference, has_removals, with_source_of
from catalogd.clustercatalog.world import (
    AdoptCatalog,
    ApplyCatalog,
    DeleteCatalog,
    Evaluation,
    Keep,
    ObservedCatalog,
    Plan,
    Prepare,
    ReleaseCatalog,
    SetFinalizers,
    StandAside,
    World,
)
from olmkit.api import catalogs, clustercatalogs
from olmkit.api.catalogs import NAME_LABEL, REFERENCE_HINT
from olmkit.api.clustercatalogs import ADOPT_ANNOTATION, FINALIZER, Reason
from olmkit.api.meta import apply_precondition, controller_reference, with_owner, without_owner
from olmkit.api.patterns import IMAGE_REFERENCE
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.text import quoted
from olmkit.runtime.reconciler import Decision

MIN_DELAY = timedelta(seconds=1)
DELETION_RECHECK = timedelta(seconds=10)
"""The time between two checks of a Catalog of an earlier ClusterCatalog, which the garbage collector deletes."""
SOURCE_ERROR = "source catalog content: "
"""The prefix of messages about a source that cannot be read."""


def decide(world: World) -> Decision[Plan, Evaluation]:
    """The next step, or the error that prevents it, and the evaluation for the report."""
    if world.leader is not None:
        return Decision(StandAside(max(world.leader.expires_in, MIN_DELAY)), Evaluation())
    if world.cluster_catalog.metadata.deleting:
        return Decision(_decide_deletion(world), Evaluation())
    existing, owned, refused = world.existing, world.owned, _refused_reference(world)
    if refused is not None and (owned is None or not owned.image):
        return Decision(refused, Evaluation())
    if existing is not None and owned is None:
        return Decision(_takeover(world, existing), Evaluation())
    desired = catalog_for(world.cluster_catalog)
    if refused is not None and owned is not None:  # what else spec says is done: nothing may be served any more
        desired = with_source_of(owned, desired)
    patch = difference(owned, desired) if owned is not None else {}
    plan = _prepare(world) or _apply(owned, desired, patch) or _finish(world) or refused or Keep()
    return Decision(plan, Evaluation(refused is None and owned is not None and not patch and _is_observed(owned)))


def _decide_deletion(world: World) -> Plan:
    released, owned = world.released, world.owned
    finalizers = world.cluster_catalog.metadata.finalizers
    if released is not None:
        return ReleaseCatalog(released.identity, without_owner(released.raw, world.cluster_catalog.metadata.uid))
    if FINALIZER not in finalizers:
        return Keep()
    if owned is not None:
        metadata = owned.model.metadata
        return Keep() if metadata.deleting else DeleteCatalog(metadata.uid, metadata.resource_version)
    if world.existing is None and world.is_served:
        return Keep()  # the end of serving enqueues the key
    return _without_finalizer(world)


def _without_finalizer(world: World) -> SetFinalizers:
    return SetFinalizers(tuple(one for one in world.cluster_catalog.metadata.finalizers if one != FINALIZER))


def _refused_reference(world: World) -> Blocked | None:
    """The error about a reference that the API server accepts of a ClusterCatalog, and not of a Catalog."""
    image = world.cluster_catalog.spec.source.image
    if image is not None and re.fullmatch(IMAGE_REFERENCE, image.ref):
        return None
    ref = quoted(image.ref) if image is not None else "spec.source.image"
    return Blocked(Reason.BLOCKED, f"{SOURCE_ERROR}{ref} cannot be read: {REFERENCE_HINT}")


def _takeover(world: World, existing: ObservedCatalog) -> AdoptCatalog | OlmError:
    """The Plan to take over a Catalog that belongs to nobody and names this ClusterCatalog, or the error about another one."""
    metadata, name = existing.model.metadata, world.name
    owner = metadata.controller
    if owner is not None and (owner.kind, owner.name) == (clustercatalogs.KIND.kind, name):
        text = f"Catalog {quoted(name)} belongs to an earlier ClusterCatalog of the name and is being deleted"
        return Waiting(Reason.RETRYING, text, DELETION_RECHECK)
    if owner is None and not metadata.deleting and metadata.annotations.get(ADOPT_ANNOTATION) == name:
        reference = controller_reference(clustercatalogs.KIND, name, world.cluster_catalog.metadata.uid)
        return AdoptCatalog(existing.identity, with_owner(existing.raw, reference))
    kind = f"{catalogs.KIND.plural}.{catalogs.KIND.group}"
    text = (
        f"Catalog {quoted(name)} exists and does not belong to this ClusterCatalog: delete it, or hand it over with "
        f"`kubectl annotate {kind} {name} {ADOPT_ANNOTATION}={name}`"
    )
    return Blocked(Reason.BLOCKED, text, [name])


def _prepare(world: World) -> Prepare | None:
    """The Plan to set the finalizer of a ClusterCatalog that is to be served, and the label that clients select it by."""
    metadata = world.cluster_catalog.metadata
    lacks_label = metadata.labels.get(NAME_LABEL) != world.name
    lacks_finalizer = FINALIZER not in metadata.finalizers and not world.is_unavailable
    if not (lacks_label or lacks_finalizer):
        return None
    finalizers = (*metadata.finalizers, FINALIZER) if lacks_finalizer else tuple(metadata.finalizers)
    return Prepare(finalizers, {NAME_LABEL: world.name})


def _apply(owned: ObservedCatalog | None, desired: Mapping[str, Any], patch: Mapping[str, Any]) -> ApplyCatalog | None:
    if owned is not None and not patch:
        return None
    identity = apply_precondition(owned.model.metadata.uid if owned is not None else None)
    body = {**desired, "metadata": {**desired["metadata"], **identity}}
    return ApplyCatalog(body, patch if has_removals(patch) else {})


def _finish(world: World) -> SetFinalizers | None:
    """The Plan to remove the finalizer of a ClusterCatalog that is Unavailable, once nothing is served."""
    has_finalizer = FINALIZER in world.cluster_catalog.metadata.finalizers
    return _without_finalizer(world) if world.is_unavailable and has_finalizer and not world.is_served else None


def _is_observed(catalog: ObservedCatalog) -> bool:
    return catalog.model.status.observed_generation == catalog.model.metadata.generation
