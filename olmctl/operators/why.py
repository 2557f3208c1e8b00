"""`olm why OPERATOR`: why this version is installed, or why nothing is; also of what has no Operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmctl.commands import warn
from olmctl.operators.installation_output import explanation, facts
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.session import on_cluster
from olmctl.questions.controller_state import RUKPAK, out_of_date
from olmctl.questions.extensions import WaitingExtension
from olmctl.questions.left_installations import LeftInstallation
from olmctl.questions.session import Session
from olmctl.questions.why import ConditionRow, Why, condition_rows
from olmctl.questions.why import trace as read_trace
from olmctl.questions.why import why as explain
from olmctl.terminal import clean
from olmctl.terminal_output import say

_COLUMNS = (Column("CONDITION"), Column("STATUS", is_status=True), Column("REASON"), Column("MESSAGE"))


@on_cluster
async def why(session: Session, operator: str, output: str | None, trace: bool) -> int:
    """Explain the state of OPERATOR: which version was chosen and why, or why none was."""
    if trace:
        print_object(await read_trace(session, operator), output or "json")
        return 0
    found = await explain(session, operator, with_requirements=not output)
    if isinstance(found, LeftInstallation):
        for each in await out_of_date(session, [found.deployment], RUKPAK):
            warn(each)
        _explain(found, output)
        return 0
    if isinstance(found, WaitingExtension):
        _explain_waiting(found, output)
        return 0
    for each in found.warnings:
        warn(each)
    if output:
        print_object(found.status, output)
    else:
        _print(_facts(found), found.conditions)
    return 0


def _explain(found: LeftInstallation, output: str | None) -> None:
    """Print the state of a BundleDeployment without an Operator."""
    if output:
        print_object(explanation(found), output)
    else:
        _print(facts(found), condition_rows(found.deployment))


def _explain_waiting(found: WaitingExtension, output: str | None) -> None:
    """Print the state of a ClusterExtension without an Operator."""
    if output:
        print_object(found.extension.get("status") or {}, output)
        return
    known = (
        ("Extension", f"{found.name} (a ClusterExtension without an Operator)"),
        ("Asked for", found.asked),
        ("State", found.state),
    )
    _print(known, condition_rows(found.extension))


def _print(found: Iterable[tuple[str, str]], conditions: Iterable[ConditionRow]) -> None:
    """Print facts and conditions."""
    for name, value in found:
        if value:
            say(f"{name + ':':<12} {clean(value)}")
    say()
    print_table(_COLUMNS, [(each.kind, each.status, each.reason, each.message) for each in conditions])


def _facts(found: Why) -> Iterator[tuple[str, str]]:
    hint = f" (olm approve {found.name})" if found.awaits_approval else ""
    yield "Operator", found.name
    yield "Belongs to", found.owner
    yield "Asked for", found.asked
    yield "State", found.state
    yield "Extension", found.extension
    yield "Failure", found.failure
    yield "Installed", found.installed or "nothing"
    yield "Available", f"{found.available}{hint}" if found.available else ""
    yield "CRD rules", found.crd_check.text if found.crd_check is not None else ""
    yield "Resolution", found.resolution
    yield "Next", found.next_steps
    for each in found.requires:
        yield "Requires", each
    names = ", ".join(found.required_by)
    yield (
        "Required by",
        f"{names or 'nothing'} (it was installed as a dependency)" if found.is_dependency else names,
    )
