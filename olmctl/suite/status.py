"""`olm suite status`: the objects of the suite on the cluster, and the versions of its controllers."""

from __future__ import annotations

from collections.abc import Sequence

from olmctl.commands import FAILED, NOT_FOUND, fail, warn
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmctl.questions.suite_status import suite_status
from olmctl.suite.installed import check_system_namespace
from olmctl.suite.objects import ObjectState
from olmctl.terminal_output import ProgressLine
from olmkit.api.meta import Object

_COLUMNS = (
    Column("NAME"),
    Column("NAMESPACE", empty=""),
    Column("KIND"),
    Column("STATUS", is_status=True),
    Column("VERSION", empty=""),
    Column("READY", is_wide=True, empty=""),
    Column("LEADER", is_wide=True, empty=""),
    Column("IMAGE", is_wide=True, empty=""),
    Column("MESSAGE", is_wide=True, empty=""),
)


@on_cluster
async def status(session: Session, output: str | None, no_headers: bool) -> int:
    """Show the objects of the suite, whether they are there, and the versions of the controllers."""
    check_system_namespace(await session.system_namespace())
    line = ProgressLine(is_for_terminal=True)
    try:
        found = await suite_status(session, line.show)
    finally:
        line.end()
    shown = [*found.objects, *found.guard.states]
    if output in ("json", "yaml"):
        print_object(_document(shown), output)
    elif found.is_installed:
        print_states(shown, is_wide=output == "wide", headers=not no_headers)
    for each in found.warnings:
        warn(each)
    return exit_status(found.objects)


def print_states(found: Sequence[ObjectState], *, is_wide: bool = False, headers: bool = True) -> None:
    """Print the table of the objects."""
    print_table(_COLUMNS, map(_row, found), is_wide=is_wide, headers=headers)


def exit_status(found: Sequence[ObjectState]) -> int:
    """0 if all objects are there and available; else prints to standard error which are not."""
    missing = [each for each in found if each.found is None]
    if len(missing) == len(found):
        return fail("olm-suite is not installed: `olm suite install --image IMAGE` installs it", NOT_FOUND)
    for each in found:
        if not each.is_good:
            fail(f"{each.expected['kind']} {each.expected['metadata']['name']}: {each.message or each.status}")
    if missing:
        return NOT_FOUND
    return 0 if all(each.is_good for each in found) else FAILED


def _row(each: ObjectState) -> tuple[object, ...]:
    metadata = each.expected["metadata"]
    place = metadata.get("namespace")
    message = each.message if not each.is_good or not each.differences else f"differs: {each.differences}"
    rest = each.ready, each.leader, each.image, message
    return metadata["name"], place, each.expected["kind"], each.status, each.shown_version, *rest


def _document(found: Sequence[ObjectState]) -> Object:
    """The rows of the table by name, for programs."""
    names = [column.name.lower() for column in _COLUMNS]
    rows = (dict(zip(names, map(str, (value or "" for value in _row(each))), strict=True)) for each in found)
    return {"objects": [{key: value for key, value in row.items() if value} for row in rows]}
