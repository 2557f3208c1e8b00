"""`olm list`: the Operators of the cluster, and the ClusterExtensions and BundleDeployments without one."""

from __future__ import annotations

from collections.abc import Sequence

from olmctl.commands import warn
from olmctl.object_text import object_list, without_managed_fields
from olmctl.operators.installation_output import print_installations, report_left_installations
from olmctl.operators.output import Column, age, print_object, print_table
from olmctl.operators.session import on_cluster
from olmctl.questions.extensions import WaitingExtension, without_operator
from olmctl.questions.left_installations import unowned_installations
from olmctl.questions.operators import OperatorRow, all_operators
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api import operators
from olmkit.errors import Forbidden

RESOURCE = f"operator.{operators.KIND.group}"
"""The name of Operators for kubectl, as in `-o name`."""
_COLUMNS = (
    Column("NAME"),
    Column("PACKAGE"),
    Column("VERSION"),
    Column("WANTED"),
    Column("AVAILABLE"),
    Column("CHANNEL"),
    Column("CATALOG"),
    Column("STATUS", is_status=True),
    Column("AGE"),
    Column("OWNER", is_wide=True),
    Column("MESSAGE", is_wide=True),
)
_EXTENSION_COLUMNS = (
    Column("CLUSTEREXTENSION"),
    Column("PACKAGE"),
    Column("STATUS", is_status=True),
    Column("AGE"),
    Column("MESSAGE", is_wide=True),
)


@on_cluster
async def list_operators(session: Session, output: str | None, no_headers: bool) -> int:
    """List the Operators: what is installed, what is wanted, and what waits."""
    is_table = output in (None, "wide")
    try:
        found = await all_operators(session, with_others=is_table)
    except Forbidden:
        if is_table:  # who may not list Operators may have installations without one
            unowned = await unowned_installations(session)
            print_installations(unowned, is_wide=output == "wide", headers=not no_headers, is_first=True)
        raise
    if output in ("json", "yaml"):
        print_object(object_list(map(without_managed_fields, found.operators)), output)
    elif output == "name":
        for each in found.operators:
            say(f"{RESOURCE}/{each['metadata']['name']}")
    elif not found.operators:
        say("No Operators found. `olm search` lists what can be installed.", err=True)
    else:
        rows = (_row(OperatorRow.of(each, found.problems.get(each["metadata"]["name"]))) for each in found.operators)
        print_table(_COLUMNS, rows, is_wide=output == "wide", headers=not no_headers)
    if is_table:
        waiting = without_operator(found.extensions, found.operators)
        is_first = not (found.operators or waiting)
        _print_waiting(waiting, is_wide=output == "wide", headers=not no_headers, is_first=not found.operators)
        print_installations(found.unowned, is_wide=output == "wide", headers=not no_headers, is_first=is_first)
        report_left_installations(each for each in found.unowned if each.is_left and not each.is_run)
    for warning in found.warnings:
        warn(warning)
    return 0


def _row(each: OperatorRow) -> tuple[object, ...]:
    available = f"{each.available} (refused)" if each.is_available_refused else each.available
    found = (each.name, each.package, each.version, each.wanted, available, each.channel, each.catalog)
    return (*found, each.state, age(each.created), each.owner, each.message)


def _print_waiting(found: Sequence[WaitingExtension], *, is_wide: bool, headers: bool, is_first: bool) -> None:
    """Print a table of ClusterExtensions, after an empty line unless it is the first; nothing if there are none."""
    if found and not is_first:
        say()
    if found:
        rows = [
            (each.name, each.package, each.state, age(each.extension["metadata"]["creationTimestamp"]), each.message)
            for each in found
        ]
        print_table(_EXTENSION_COLUMNS, rows, is_wide=is_wide, headers=headers)
