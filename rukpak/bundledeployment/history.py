"""The revisions of a BundleDeployment in its status: when one begins, and what becomes of it.

    a pass                                                     the revision of the target
    before the first write of an upgrade (BeginRevision)       begins; the one before is superseded if it had not succeeded
    the first object of a first installation is applied        begins
    its last object is applied                                 is installed
    all its objects are healthy for the first time             succeeded, and stays so
    a step is rejected, or it is not healthy in time           failed, until it succeeds

Called by rukpak.bundledeployment.report, and by decide (`begins`). Never decides what the target is. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from olmkit.api.bundledeployments import (
    MAX_REVISION_REASON_BYTES,
    MAX_REVISIONS,
    Reason,
    Revision,
    RevisionOutcome,
)
from olmkit.api.conditions import DesiredCondition, format_timestamp, truncate
from olmkit.errors import Blocked
from olmkit.gocompat.text import one_line
from rukpak.bundledeployment.bundle_info import described
from rukpak.bundledeployment.health_result import PROGRESS_DEADLINE
from rukpak.bundledeployment.plan import Activate, BeginRevision, Done
from rukpak.bundledeployment.ready_message import Outcome, is_under_way
from rukpak.bundledeployment.target import install_text, last_good
from rukpak.bundledeployment.world import ApplyRejected, World

OPEN = (RevisionOutcome.IN_PROGRESS, RevisionOutcome.FAILED)
"""Outcomes that may still become another one."""


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
    """Whether the revision of the target begins with the next write, and another one is installed."""
    return world.active_bundle is not None and world.target.revision is None


def next_history(world: World, outcome: Outcome, healthy: DesiredCondition | None) -> History:
    """The history after a pass; `healthy` is the condition Healthy that it reports."""
    status = world.deployment.status
    revisions, current = tuple(status.history or ()), world.target.revision
    is_installed = _is_installed(world, outcome)
    if current is None and (is_installed or _has_begun(world, outcome)):
        current = _new(world, revisions)
        revisions = (current, *(_superseded(world, one) for one in revisions))
    if current is None:
        return History(revisions, status.revision)
    changed = _changed(world, current, outcome, healthy, is_installed=is_installed)
    revisions = tuple(changed if one.revision == current.revision else one for one in revisions)
    return History(_kept(revisions), current.revision if is_installed else status.revision)


def _is_installed(world: World, outcome: Outcome) -> bool:
    """Whether all objects of the target are applied."""
    if isinstance(outcome, Done) and isinstance(outcome.plan, Activate):
        return True
    is_begun = isinstance(outcome, Done) and isinstance(outcome.plan, BeginRevision)
    return world.is_target_active and not is_begun and not is_under_way(world, world.active_bundle)


def _has_begun(world: World, outcome: Outcome) -> bool:
    """Whether an object of the target was, or was to be, written."""
    if isinstance(outcome, Done):
        return isinstance(outcome.plan, BeginRevision) or (bool(outcome.applied) and world.active_bundle is None)
    return world.active_bundle is None and (bool(world.owned) or isinstance(outcome, ApplyRejected))


def _new(world: World, revisions: Sequence[Revision]) -> Revision:
    """The first state of the next revision."""
    bundle = world.bundles.get(world.target_bundle)
    known = {**described(bundle), "properties": None} if bundle is not None else {}
    return Revision(
        **known,
        bundle=world.target_bundle,
        spec=world.deployment.spec.template.spec,
        revision=max((one.revision for one in revisions), default=0) + 1,
        install=install_text(world.raw),
        outcome=RevisionOutcome.IN_PROGRESS,
        started_at=format_timestamp(world.now),
    )


def _superseded(world: World, revision: Revision) -> Revision:
    """A revision before the one that begins."""
    if revision.outcome != RevisionOutcome.IN_PROGRESS:
        return revision
    update = {"outcome": RevisionOutcome.SUPERSEDED, "finished_at": format_timestamp(world.now)}
    return revision.model_copy(update=update)


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
    """Why it has failed; empty: it has not."""
    if isinstance(outcome, Blocked | ApplyRejected):
        return outcome.message
    if is_installed:
        return healthy.message if healthy is not None and healthy.reason == Reason.UNHEALTHY else ""
    is_late = world.now - datetime.fromisoformat(revision.started_at) >= PROGRESS_DEADLINE
    return f"not installed in time: {outcome}" if is_late and isinstance(outcome, Exception) else ""


def _kept(revisions: Sequence[Revision]) -> tuple[Revision, ...]:
    """The newest ones, with the last good one among them."""
    newest, good = tuple(revisions[:MAX_REVISIONS]), last_good(revisions)
    return newest if good is None or good in newest else (*newest[:-1], good)
