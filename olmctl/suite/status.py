"""`olm suite status`: the objects of the suite on the cluster, and the versions of its controllers."""

from __future__ import annotations

from collections.abc import Sequence

from olmctl.commands import FAILED, NOT_FOUND, fail, warn
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmctl.suite.differences import compare
from olmctl.suite.installed import is_newer
from olmctl.suite.label_guard import LabelGuard, label_guard
from olmctl.suite.manifests import load_manifests
from olmctl.suite.objects import ObjectState, name_of, states
from olmctl.suite.operator_conditions import with_own_definition
from olmctl.suite.running import with_image_differences, with_leaders
from olmctl.terminal import clean
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
    manifests = load_manifests(system_namespace=session.system_namespace)
    manifests = await with_own_definition(session.client, manifests)
    found = await states(session.client, manifests.all)
    found = await with_leaders(session.client, session.system_namespace, with_image_differences(found))
    versions = sorted({each.version for each in found if each.version})
    unknown = ""
    if versions == [manifests.version]:
        compared = await compare(session.client, found)
        found, unknown = compared.states, compared.unknown
    is_installed = any(each.found for each in found)
    guard = await label_guard(session.client) if is_installed else LabelGuard()
    if output in ("json", "yaml"):
        print_object(_document([*found, *guard.states]), output)
    elif is_installed:
        print_states([*found, *guard.states], is_wide=output == "wide", headers=not no_headers)
    _warn(found, versions, manifests.version, unknown)
    if guard.problem:
        warn(guard.problem)
    return exit_status(found)


def _warn(found: Sequence[ObjectState], versions: Sequence[str], version: str, unknown: str) -> None:
    """Say what differs and may differ, and what could not be compared."""
    if versions and versions != [version]:
        is_old = any(is_newer(each, version) for each in versions)
        advice = "use the command olm of the newest version" if is_old else "`olm suite install` upgrades it"
        warn(f"the cluster has {', '.join(versions)}, this command is of {version}: {advice}")
    if unknown:
        warn(f"not all objects could be compared with those of {version}: {clean(unknown)}")
    for each in found:
        if each.is_good and each.differences:
            warn(f"{name_of(each.expected)} was changed on this cluster: {each.differences}")


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
