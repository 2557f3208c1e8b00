"""The revisions of what Operators have installed, as their BundleDeployments record them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from olmctl.operators.installed_objects import bundle_deployment_of
from olmctl.operators.operator_state import part
from olmctl.operators.output import Column, age, print_table
from olmctl.operators.session import Session
from olmkit.api.meta import Object

_COLUMNS = (
    Column("OPERATOR"),
    Column("REVISION"),
    Column("VERSION"),
    Column("OUTCOME"),
    Column("AGE"),
    Column("REASON", empty=""),
)


async def with_revisions(session: Session, operators: Iterable[Object]) -> list[Object]:
    """Of each Operator: its name, the number of the revision that is installed, and the history of its BundleDeployment."""
    found = []
    for each in operators:
        deployment = await bundle_deployment_of(session, each)
        status = {"revision": part(deployment, "status", "revision"), "history": part(deployment, "status", "history")}
        found.append({"name": each["metadata"]["name"], **{key: value for key, value in status.items() if value}})
    return found


def print_revisions(operators: Sequence[Object]) -> None:
    """Print the values of with_revisions() as a table, the newest revision of each Operator first. Nothing if there is none."""
    if rows := [row for each in operators for row in _rows(each)]:
        print()
        print_table(_COLUMNS, rows)


def _rows(operator: Object) -> Iterator[tuple[object, ...]]:
    for each in operator.get("history") or ():
        number = each["revision"]
        shown = f"{number} (installed)" if number == operator.get("revision") else number
        ages = age(each["startedAt"])
        yield operator["name"], shown, each.get("version"), each["outcome"], ages, each.get("reason")
