"""Reconciles ClusterExtensions: observes one, runs the five steps, and writes its status.

Reads informers. Writes only the status; act carries out Plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from olmkit.api.clusterextensions import ClusterExtension, ClusterExtensionStatus, ConditionType, Reason, operator_name
from olmkit.api.conditions import Cause, StatusReport, find_condition
from olmkit.runtime.foreign_leaders import ForeignLeaders
from olmkit.runtime.informer import Change
from olmkit.runtime.orphaning import OrphaningObjects
from olmkit.runtime.reconciler import Reconciler
from olmkit.runtime.status_publisher import Publisher
from operator_controller.clusterextension.act import ExtensionActions
from operator_controller.clusterextension.decide import decide
from operator_controller.clusterextension.events import Informers
from operator_controller.clusterextension.report import report
from operator_controller.clusterextension.world import Done, Evaluation, ObservedOperator, Plan, World


class ReportedFailures:
    """Remembers the cause of the failure that each ClusterExtension reports, by uid. A new leader starts again.

    observe reads it, and publish records it at the end of a pass.
    """

    def __init__(self) -> None:
        self._causes: dict[str, Cause] = {}

    def cause(self, uid: str) -> Cause | None:
        """The cause; None if none is known."""
        return self._causes.get(uid)

    def record(self, world: World, status_report: StatusReport[ClusterExtensionStatus]) -> None:
        """Remember the cause of a report. That of the report before remains while work is in progress."""
        uid, cause = world.extension.metadata.uid, status_report.causes.get(ConditionType.PROGRESSING)
        progressing = find_condition(status_report.status.conditions, ConditionType.PROGRESSING)
        if cause is not None:
            self._causes[uid] = cause
        elif progressing is not None and progressing.reason == Reason.SUCCEEDED:
            self._causes.pop(uid, None)

    def forget_deleted(self, change: Change) -> None:
        """Forget a ClusterExtension that was deleted."""
        if change.new is None and change.old is not None:
            self._causes.pop(change.old["metadata"]["uid"], None)

    def clear(self) -> None:
        """Forget everything."""
        self._causes.clear()


@dataclass(frozen=True)
class ExtensionReconciler:
    """Observes and publishes; `actions` carries out Plans."""

    actions: ExtensionActions
    publisher: Publisher
    informers: Informers
    leaders: ForeignLeaders
    orphaning: OrphaningObjects = field(default_factory=OrphaningObjects)
    reported: ReportedFailures = field(default_factory=ReportedFailures)

    def steps(self) -> Reconciler[World, Plan, Evaluation, Done, StatusReport[ClusterExtensionStatus] | None]:
        """The pass over one ClusterExtension."""
        return Reconciler(self.observe, decide, self.actions.act, report, self.publish)

    def start_leading(self) -> None:
        """Forget facts that another leader may have changed."""
        self.publisher.reset()
        self.reported.clear()

    async def observe(self, key: str) -> World | None:
        """The World of a ClusterExtension; None if it does not exist."""
        raw = self.informers.extensions.get(key)
        if raw is None:
            return None
        extension, operator = ClusterExtension.load(raw), self.informers.operators.get(operator_name(key))
        return World(
            now=datetime.now(UTC),
            raw=raw,
            extension=extension,
            operator=ObservedOperator.load(operator) if operator is not None else None,
            unpacking=self.informers.unpacking() if operator is None else (),
            untranslated=self.informers.untranslated() if operator is None else (),
            leader=await self.leaders.state(),
            was_orphaning=extension.metadata.uid in self.orphaning,
            reported=self.reported.cause(extension.metadata.uid),
        )

    async def publish(self, world: World, status_report: StatusReport[ClusterExtensionStatus] | None) -> None:
        """Write the report, if there is one, and remember its cause. Raises NotFound when the ClusterExtension is deleted."""
        if status_report is not None:
            await self.publisher(world.raw, status_report)
            self.reported.record(world, status_report)
