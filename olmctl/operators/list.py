"""`olm list`: the Operators of the cluster, and the BundleDeployments without one."""

from __future__ import annotations

import click

from olmctl.operators.controller_state import warn_if_not_up_to_date
from olmctl.operators.installation_output import print_installations
from olmctl.operators.left_installations import report_left_installations, unowned_installations
from olmctl.operators.operator_state import available_version, condition, state, text_at
from olmctl.operators.output import (
    Column,
    age,
    object_list,
    print_object,
    print_table,
    without_managed_fields,
)
from olmctl.operators.session import Session, on_cluster
from olmkit.api import operators
from olmkit.api.meta import Object

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
    Column("MESSAGE", is_wide=True),
)


@on_cluster
async def list_operators(session: Session, output: str | None, no_headers: bool) -> int:
    """List the Operators: what is installed, what is wanted, and what waits."""
    found, _ = await session.client.list(operators.KIND)
    found.sort(key=lambda each: str(each["metadata"]["name"]))
    if output in ("json", "yaml"):
        print_object(object_list(map(without_managed_fields, found)), output)
    elif output == "name":
        for each in found:
            print(f"{RESOURCE}/{each['metadata']['name']}")
    elif not found:
        click.echo("No Operators found. `olm search` lists what can be installed.", err=True)
    else:
        print_table(_COLUMNS, map(_row, found), is_wide=output == "wide", headers=not no_headers)
    if output in (None, "wide"):
        without = await unowned_installations(session)
        print_installations(without, is_wide=output == "wide", headers=not no_headers, is_first=not found)
        report_left_installations(each for each in without if each.is_left and not each.is_run)
    await warn_if_not_up_to_date(session, found)
    return 0


def _row(each: Object) -> tuple[object, ...]:
    return (
        each["metadata"]["name"],
        text_at(each, "spec", "packageName"),
        text_at(each, "status", "installed", "version"),
        text_at(each, "status", "wantedVersion"),
        available_version(each),
        text_at(each, "status", "installed", "channel"),
        text_at(each, "status", "installed", "catalog"),
        state(each),
        age(each["metadata"]["creationTimestamp"]),
        text_at(condition(each, "Ready"), "message"),
    )
