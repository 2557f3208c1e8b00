"""The revisions of a BundleDeployment in its status: when one begins, and what becomes of it.

    a pass                                                     the revision of the target
    before the first write of an upgrade (BeginRevision)       begins; the one before is superseded if it had not succeeded
    the first object of a first installation is applied        begins
    its last object is applied                                 is installed
    all its objects are healthy for the first time             succeeded, and stays so
    a step is rejected, or it is not healthy in time           failed, until it succeeds
    a rollback (RollBack)                                      rolling back; the target is an earlier revision from then on
    the earlier revision is there again                        rolled back, and stays so

Never decides what the target is. The deadlines of objects that are applied are those of health/progress.py. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, count
from typing import Any, TypeGuard

from olmkit.api.bundledeployment_status import (
    MAX_OLDER_INSTALL_BYTES,
    MAX_REVISION_REASON_BYTES,
    MAX_REVISIONS,
    Revision,
    RevisionOutcome,
)
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import DesiredCondition, format_timestamp
from olmkit.errors import Blocked
from olmkit.gocompat.text import one_line, truncate
from olmkit.stored_times import has_passed, is_ahead, stored_time, time_left
from rukpak.bundledeployment.bundle_info import described
from rukpak.bundledeployment.health.health_result import PROGRESS_DEADLINE
from rukpak.bundledeployment.plan import Activate, BeginRevision, Done, RollBack
from rukpak.bundledeployment.ready_message import Outcome, is_under_way
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.revisions.target import asked_digest, install_text, last_good
from rukpak.bundledeployment.world import ApplyRejected, World

OPEN = (RevisionOutcome.IN_PROGRESS, RevisionOutcome.FAILED)
"""Outcomes that may still become another one."""
_MAX_NUMBER = 2**63 - 1
"""The highest number that the API server stores in an integer field."""
DEFAULT_DEADLINE_TEXT = f"{PROGRESS_DEADLINE // timedelta(minutes=1)}m"


@dataclass(frozen=True)
class History:
    """The two fields of the status."""

    revisions: tuple[Revision, ...]
    """The newest first."""
    installed: int | None

    def fields(self) -> Mapping[str, Any]:
        """The fields as arguments of the status."""
        return {"history": list(self.revisions) or None, "revision": self.installed}


def begins(world: World) -> bool:
    """Report whether the revision of the target begins with the next write, and another one is installed."""
    return world.active_bundle is not None and world.target.revision is None


def next_history(world: World, outcome: Outcome, conditions: Sequence[DesiredCondition]) -> History:
    """The history after a pass that reports these conditions."""
    status = world.deployment.status
    revisions, current = tuple(status.history or ()), world.target.revision
    if world.deployment.metadata.deleting:
        return History(revisions, status.revision)
    healthy = next((condition for condition in conditions if condition.type == ConditionType.HEALTHY), None)
    if isinstance(outcome, Done) and isinstance(outcome.plan, RollBack):
        return History(tuple(_rolling_back(world, one) for one in revisions), status.revision)
    if _is_brought_back(world, outcome, conditions):
        revisions = tuple(map(_rolled_back, revisions))
    is_installed = _is_installed(world, outcome)
    if current is None and (is_installed or _has_begun(world, outcome)):
        current = _new(world, revisions)
        revisions = (current, *(_superseded(world, one) for one in revisions))
    if current is None:
        return History(revisions, status.revision)
    changed = _changed(world, current, outcome, healthy, is_installed=is_installed)
    revisions = _kept([changed if one.revision == current.revision else one for one in revisions])
    revisions = tuple(_with_properties(world, one, is_needed=changed.outcome in OPEN) for one in revisions)
    return History(revisions, current.revision if is_installed else status.revision)


def time_to_deadline(revisions: Sequence[Revision], deadline: timedelta | None, now: datetime) -> timedelta | None:
    """The time until the newest revision fails because it takes too long; None: it does not, or by its objects' own deadlines."""
    newest = next(iter(revisions), None)
    if newest is None or newest.outcome != RevisionOutcome.IN_PROGRESS or (newest.installed_at and deadline is None):
        return None
    since = stored_time(newest.installed_at or newest.started_at)
    return time_left(since, deadline or PROGRESS_DEADLINE, now) or None


def _is_installed(world: World, outcome: Outcome) -> bool:
    """Report whether all objects of the target are applied."""
    if isinstance(outcome, Done) and isinstance(outcome.plan, Activate):
        return True
    is_begun = isinstance(outcome, Done) and isinstance(outcome.plan, BeginRevision)
    return world.is_target_active and not is_begun and not is_under_way(world, world.active_bundle)


def _has_begun(world: World, outcome: Outcome) -> bool:
    """Report whether an object of the target was, or was to be, written."""
    if isinstance(outcome, Done):
        return isinstance(outcome.plan, BeginRevision) or (bool(outcome.applied) and world.active_bundle is None)
    return world.active_bundle is None and (bool(world.owned) or _is_refused(outcome))


def _is_refused(outcome: Outcome) -> TypeGuard[ApplyRejected]:
    """Report whether an object was refused. Permissions that an account lacks before anything is applied are no failure."""
    return isinstance(outcome, ApplyRejected) and not outcome.missing


def _new(world: World, revisions: Sequence[Revision]) -> Revision:
    """The first state of the next revision."""
    bundle = world.bundles.get(world.target_bundle)
    known = {**described(bundle), "properties": None} if bundle is not None else {}
    return Revision(
        **known,
        bundle=world.target_bundle,
        spec=world.deployment.spec.template.spec,
        revision=_next_number(revisions),
        install=install_text(world.raw),
        operator_condition=_operator_condition(world),
        outcome=RevisionOutcome.IN_PROGRESS,
        started_at=format_timestamp(world.now),
    )


def _operator_condition(world: World) -> str | None:
    """The OperatorCondition of the content of the target; None if it has none."""
    key = world.content.operator_condition if isinstance(world.content, RenderedBundle) else None
    return f"{key.namespace}/{key.name}" if key is not None else None


def _next_number(revisions: Sequence[Revision]) -> int:
    """One more than the highest number; the lowest unused one where the API server would refuse that."""
    used = {one.revision for one in revisions}
    following = max(used, default=0) + 1
    return following if following <= _MAX_NUMBER else next(number for number in count(1) if number not in used)


def _superseded(world: World, revision: Revision) -> Revision:
    """A revision before the one that begins."""
    if revision.outcome == RevisionOutcome.ROLLING_BACK:
        return revision.model_copy(update={"outcome": RevisionOutcome.FAILED})
    if revision.outcome != RevisionOutcome.IN_PROGRESS:
        return revision
    update = {"outcome": RevisionOutcome.SUPERSEDED, "finished_at": format_timestamp(world.now)}
    return revision.model_copy(update=update)


def _rolling_back(world: World, revision: Revision) -> Revision:
    """A revision when the rollback of that of the target begins."""
    if revision != world.target.revision:
        return revision
    return revision.model_copy(
        update={
            "outcome": RevisionOutcome.ROLLING_BACK,
            "asked": asked_digest(world.raw),
            "finished_at": format_timestamp(world.now),
        }
    )


def _is_brought_back(world: World, outcome: Outcome, conditions: Sequence[DesiredCondition]) -> bool:
    """Report whether the target of a rollback is there again, healthy or not."""
    reason = next((condition.reason for condition in conditions if condition.type == ConditionType.READY), "")
    return world.target.is_rolled_back and isinstance(outcome, Done) and reason == Reason.ROLLED_BACK


def _rolled_back(revision: Revision) -> Revision:
    """A revision when the one before it was brought back."""
    is_back = revision.outcome == RevisionOutcome.ROLLING_BACK
    return revision.model_copy(update={"outcome": RevisionOutcome.ROLLED_BACK}) if is_back else revision


def _with_properties(world: World, revision: Revision, *, is_needed: bool) -> Revision:
    """A revision with its properties, if a rollback may need them: its Bundle cannot be made again as it was without them."""
    properties = None
    if is_needed and world.fallback is not None and world.fallback.revision == revision.revision:
        record = world.record(revision.bundle)
        properties = record.properties if record is not None else revision.properties
    return revision.model_copy(update={"properties": properties})


def _changed(
    world: World, revision: Revision, outcome: Outcome, healthy: DesiredCondition | None, *, is_installed: bool
) -> Revision:
    """The revision of the target after the pass."""
    now = format_timestamp(world.now)
    changes: dict[str, Any] = {}
    if is_installed and revision.installed_at is None:
        changes["installed_at"] = now
    if revision.outcome not in OPEN:
        return revision.model_copy(update=changes)
    # Its deadline begins anew if it began at a time that a wrong clock gave: nobody knows how long it has taken.
    for name in ("started_at", "installed_at"):
        stored = getattr(revision, name)
        if stored is not None and is_ahead(stored_time(stored), world.now):
            changes[name] = now
    revision = revision.model_copy(update=changes)
    failure = _failure(world, revision, outcome, healthy, is_installed=is_installed)
    if is_installed and healthy is not None and healthy.status == "True":
        changes |= {"outcome": RevisionOutcome.SUCCEEDED, "reason": None, "finished_at": now}
    elif revision.outcome == RevisionOutcome.IN_PROGRESS and failure:
        reason = truncate(one_line(failure), MAX_REVISION_REASON_BYTES)
        changes |= {"outcome": RevisionOutcome.FAILED, "reason": reason, "finished_at": now}
    return revision.model_copy(update=changes)


def _failure(
    world: World, revision: Revision, outcome: Outcome, healthy: DesiredCondition | None, *, is_installed: bool
) -> str:
    """Explain why it has failed; empty if it has not."""
    if isinstance(outcome, Blocked) or _is_refused(outcome):
        return outcome.message
    deadline = world.progress_deadline
    if healthy is not None and is_installed and deadline is None:
        return healthy.message if healthy.reason == Reason.UNHEALTHY else ""
    since = stored_time(revision.installed_at or format_timestamp(world.now) if is_installed else revision.started_at)
    if not has_passed(since, deadline or PROGRESS_DEADLINE, world.now):
        return ""
    if is_installed:
        return f"not healthy {_within(world)}: {healthy.message}" if healthy is not None else ""
    return f"not installed {_within(world)}: {outcome}" if isinstance(outcome, Exception) else ""


def lateness(world: World, revisions: Sequence[Revision], outcome: Outcome) -> str:
    """Explain that the revision of the target, one of these, is not installed in time; empty if it is, or may still be."""
    number = world.target.revision.revision if world.target.revision is not None else None
    current = next((one for one in revisions if one.revision == number), None)
    if current is None or current.installed_at is not None or current.outcome != RevisionOutcome.FAILED:
        return ""
    deadline = world.progress_deadline or PROGRESS_DEADLINE
    if not isinstance(outcome, Exception) or not has_passed(stored_time(current.started_at), deadline, world.now):
        return ""
    return f"not installed {_within(world)}: {outcome}"


def _within(world: World) -> str:
    return f"within {world.deployment.spec.progress_deadline or DEFAULT_DEADLINE_TEXT}"


def _kept(revisions: Sequence[Revision]) -> tuple[Revision, ...]:
    """The newest ones that the status has room for, with the last good one among them."""
    sizes = accumulate(len(one.install.encode()) for one in revisions[1:MAX_REVISIONS])
    older = [one for one, size in zip(revisions[1:], sizes, strict=False) if size <= MAX_OLDER_INSTALL_BYTES]
    newest, good = (revisions[0], *older), last_good(revisions)
    return newest if good is None or good in newest else (*newest[: MAX_REVISIONS - 1], good)
