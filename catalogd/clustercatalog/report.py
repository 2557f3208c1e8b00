"""The status of one ClusterCatalog: World, Evaluation and outcome -> Status.

Everything is taken from fields of the Catalog's status, from conditions and their reasons; a message is copied, and never read.
While the Catalog is not as this ClusterCatalog wants it, or its status is not about that, the status stays as it is, so that no
client sees a success too early. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from catalogd.clustercatalog.decide import SOURCE_ERROR
from catalogd.clustercatalog.world import (
    Done,
    Evaluation,
    ObservedCatalog,
    Prepare,
    ReleaseCatalog,
    SetFinalizers,
    StandAside,
    World,
)
from olmkit.api import catalogs
from olmkit.api.catalogs import CatalogFailure
from olmkit.api.clustercatalogs import (
    ClusterCatalogStatus,
    ClusterCatalogUrls,
    ConditionType,
    Reason,
    ResolvedCatalogSource,
    ResolvedImageSource,
)
from olmkit.api.conditions import (
    ConditionValue,
    DesiredCondition,
    PendingEvent,
    StatusReport,
    Transition,
    find_condition,
    is_condition_true,
    merge_v1_conditions,
)
from olmkit.api.meta import Condition
from olmkit.errors import Blocked, Conflict

RELEASED = "Released"
"""Reason of the Event about a Catalog that stays when its ClusterCatalog is deleted."""
STORAGE_ERROR = "error storing fbc: "
UNPACKED = "Successfully unpacked and stored content from resolved source"
SERVING = "Serving desired content from resolved source"
UNAVAILABLE = "Catalog availability mode is set to Unavailable"

Desired = DesiredCondition | Condition | None
"""A condition to be; None: absent."""


def report(
    world: World, evaluation: Evaluation | None, outcome: Done | Exception
) -> StatusReport[ClusterCatalogStatus] | None:
    """The status that is true after the pass; None if it stays as it is."""
    if isinstance(outcome, Done) and isinstance(outcome.plan, StandAside | Prepare | SetFinalizers):
        return None  # it is left to upstream, or the object has changed in this pass
    if isinstance(outcome, Conflict):
        return None
    if isinstance(outcome, Done) and isinstance(outcome.plan, ReleaseCatalog):
        text = f'Catalog "{world.name}" stays, and belongs to no ClusterCatalog'
        return StatusReport(world.cluster_catalog.status, events=(PendingEvent("Normal", RELEASED, text, "Release"),))
    progressing = _failed(outcome) if isinstance(outcome, Exception) else None
    if world.cluster_catalog.metadata.deleting:
        return _deleting(world, progressing)
    if progressing is not None:
        return _report(world, progressing, world.owned, has_failed=True)
    if evaluation is None or not evaluation.is_current or world.owned is None:
        return None if world.cluster_catalog.status.conditions else _report(world, None, None)
    catalog = world.owned
    if world.is_unavailable:
        if is_condition_true(catalog.model.status.conditions, catalogs.ConditionType.SERVING):
            return None  # until nothing is served any more
        return _report(world, _progressing("True", Reason.SUCCEEDED, UNAVAILABLE), None)
    return _report(world, _of_source(world, catalog), catalog)


def _deleting(world: World, progressing: Desired) -> StatusReport[ClusterCatalogStatus] | None:
    if progressing is not None:
        return _report(world, progressing, world.owned, has_failed=True)
    if world.existing is not None or world.is_served:
        return None
    return _report(world, _known(world, ConditionType.PROGRESSING), None)


def _report(
    world: World, progressing: Desired, served_by: ObservedCatalog | None, *, has_failed: bool = False
) -> StatusReport[ClusterCatalogStatus]:
    """The report with the condition Progressing, and with what the Catalog serves. If the pass has failed, that is not what this
    generation says: Serving keeps its generation while it has the same reason."""
    cluster_catalog = world.cluster_catalog
    content = _content(world, served_by)
    serving, known = _serving(world, bool(content)), _known(world, ConditionType.SERVING)
    is_same = has_failed and known is not None and known.reason == serving.reason
    desired = [each for each in (progressing, known if is_same else serving) if each is not None]
    conditions, transitions = merge_v1_conditions(
        cluster_catalog.status.conditions, desired, cluster_catalog.metadata.generation, world.now
    )
    status = ClusterCatalogStatus(conditions=conditions).model_copy(update=content)
    return StatusReport(status, transitions, _events(transitions))


# --- the conditions


def _progressing(status: ConditionValue, reason: Reason, message: str) -> DesiredCondition:
    return DesiredCondition(ConditionType.PROGRESSING, status, reason, message)


def _failed(error: Exception) -> DesiredCondition:
    """Progressing after an error of the pass."""
    if isinstance(error, Blocked):
        return _progressing("False", Reason.BLOCKED, error.message)
    message = getattr(error, "message", None)
    known = message if isinstance(message, str) else f"unexpected {type(error).__name__}; see the log of catalogd"
    return _progressing("True", Reason.RETRYING, known)


def _of_source(world: World, catalog: ObservedCatalog) -> Desired:
    """Progressing from the conditions of the Catalog. Upstream has none for the first attempt."""
    conditions, kinds = catalog.model.status.conditions, catalogs.ConditionType
    if is_condition_true(conditions, kinds.UNPACKED):
        return _progressing("True", Reason.SUCCEEDED, UNPACKED)
    prefix = STORAGE_ERROR if catalog.model.status.failure_reason == CatalogFailure.STORAGE_FAILED else SOURCE_ERROR
    unpacked, stalled, reconciling = (
        find_condition(conditions, name) for name in (kinds.UNPACKED, kinds.STALLED, kinds.RECONCILING)
    )
    failed = unpacked if unpacked is not None and unpacked.reason == catalogs.Reason.UNPACK_FAILED else None
    if stalled is not None:
        return _progressing("False", Reason.BLOCKED, _prefixed(prefix, (failed or stalled).message))
    if reconciling is not None and reconciling.reason == catalogs.Reason.RETRYING:
        return _progressing("True", Reason.RETRYING, _prefixed(prefix, (failed or reconciling).message))
    if failed is not None:
        return _progressing("True", Reason.RETRYING, _prefixed(prefix, failed.message))
    is_served = is_condition_true(conditions, kinds.SERVING)
    return _known(world, ConditionType.PROGRESSING) if is_served else None


def _prefixed(prefix: str, text: str) -> str:
    """The text with the prefix, which errors that name the step that failed have already."""
    return text if text.startswith(prefix) else f"{prefix}{text}"


def _serving(world: World, is_served: bool) -> DesiredCondition:
    if is_served:
        return DesiredCondition(ConditionType.SERVING, "True", Reason.AVAILABLE, SERVING)
    if world.is_unavailable and not world.cluster_catalog.metadata.deleting:
        return DesiredCondition(ConditionType.SERVING, "False", Reason.USER_SPECIFIED_UNAVAILABLE, UNAVAILABLE)
    return DesiredCondition(ConditionType.SERVING, "False", Reason.UNAVAILABLE, "")


def _known(world: World, name: ConditionType) -> Condition | None:
    """The condition as it is."""
    return find_condition(world.cluster_catalog.status.conditions, name)


# --- what is served


def _content(world: World, catalog: ObservedCatalog | None) -> dict[str, object]:
    """The fields about the content that the Catalog serves; empty if it serves none."""
    status = catalog.model.status if catalog is not None else None
    if status is None or not is_condition_true(status.conditions, catalogs.ConditionType.SERVING):
        return {}
    image = status.resolved_source.image if status.resolved_source is not None else None
    resolved = ResolvedCatalogSource(type="Image", image=ResolvedImageSource(ref=image.ref)) if image else None
    return {
        "resolved_source": resolved,
        "urls": ClusterCatalogUrls(base=f"{world.base_url}/catalogs/{world.name}"),
        "last_unpacked": status.last_unpacked,
    }


# --- Events


def _events(transitions: Sequence[Transition]) -> tuple[PendingEvent, ...]:
    """A Warning for a failure, and an Event for content that is served again or for the first time."""
    failures = (Reason.RETRYING, Reason.BLOCKED)
    return tuple(
        PendingEvent("Warning" if each.reason in failures else "Normal", each.reason, each.message, each.type)
        for each in transitions
        if each.reason in failures or (each.type == ConditionType.SERVING and each.status == "True")
    )
