"""Reports of each Deployment that was taken from another OLM whether its pods are those that it started."""

from __future__ import annotations

from collections.abc import Iterable

from olmctl.migration.controller_set import DEPLOYMENTS
from olmctl.migration.listing import Found
from olmctl.migration.records import DEPLOYMENT, Marks, template_digest
from olmctl.migration.values import full_name, name_of, namespace_of
from olmctl.questions.session import Session
from olmctl.terminal_output import say


async def report_pods(session: Session, marks: Marks, objects: Iterable[Found]) -> None:
    """Say it of each Deployment among the objects."""
    for each in objects:
        if each.kind.group_kind == DEPLOYMENT:
            name = full_name(each.obj)
            live = await session.client.get(DEPLOYMENTS, name_of(each.obj), namespace_of(each.obj))
            record = marks.record_of(live)
            if record is not None and record.template == template_digest(live):
                say(f"Deployment {name}: its pods have not been restarted")
            elif record is not None:
                say(f"warning: Deployment {name}: its pod template has changed", err=True)
