"""`olm why OPERATOR`: why this version is installed, or why nothing is; also of a BundleDeployment that has no Operator."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from olmctl.operators import port_forward
from olmctl.operators.controller_state import warn_if_not_up_to_date
from olmctl.operators.installation_output import explanation, facts
from olmctl.operators.left_installations import LeftInstallation, unowned_installation
from olmctl.operators.operator_state import (
    available_version,
    awaits_approval,
    condition,
    conditions,
    dependencies,
    installed,
    part,
    state,
    text_at,
)
from olmctl.operators.output import Column, print_object, print_table
from olmctl.operators.required_operators import RequiredOperators
from olmctl.operators.session import Session, on_cluster
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.api.operators import RequiredPackage
from olmkit.api.ownership import is_dependency
from olmkit.errors import NotFound

_COLUMNS = (Column("CONDITION"), Column("STATUS", is_status=True), Column("REASON"), Column("MESSAGE"))


@on_cluster
async def why(session: Session, operator: str, output: str | None, trace: bool) -> int:
    """Explain the state of OPERATOR: which version was chosen and why, or why none was."""
    if trace:
        target = f"/debug/resolutions/{quote(operator, safe='')}"
        print_object(await port_forward.get(session, port_forward.OPERATOR_CONTROLLER, target), output or "json")
        return 0
    try:
        found = await session.client.get(operators.KIND, operator)
    except NotFound:
        without = await unowned_installation(session, operator)
        if without is None:
            raise
        _explain(without, output)
        return 0
    await warn_if_not_up_to_date(session, [found])
    if output:
        status = found.get("status") or {}
        print_object({key: status[key] for key in ("resolution", "available", "conditions") if key in status}, output)
        return 0
    _print((*_facts(found), *await _requirements(session, found)), found)
    return 0


def _explain(found: LeftInstallation, output: str | None) -> None:
    """Print the state of a BundleDeployment without an Operator."""
    if output:
        print_object(explanation(found), output)
    else:
        _print(facts(found), found.deployment)


def _print(found: Iterable[tuple[str, str]], obj: Object) -> None:
    """Print facts, and the conditions of the object."""
    for name, value in found:
        if value:
            print(f"{name + ':':<12} {clean(value)}")
    print()
    print_table(_COLUMNS, _condition_rows(obj))


def _condition_rows(found: Object) -> list[tuple[str, ...]]:
    """The conditions. A message that several of them have is shown once, and the others name the first one that has it."""
    rows: list[tuple[str, ...]] = []
    first: dict[str, str] = {}
    for each in conditions(found):
        kind, status, reason, message = (text_at(each, key) for key in ("type", "status", "reason", "message"))
        holder = first.setdefault(message, kind)
        rows.append((kind, status, reason, f"as {holder}" if message and holder != kind else message))
    return rows


async def _requirements(session: Session, found: Object) -> list[tuple[str, str]]:
    """Name what its bundle requires, and which Operators require this one."""
    listed, _ = await session.client.list(operators.KIND)
    required = RequiredOperators([*listed, found])
    names = ", ".join(required.requiring(found["metadata"]["name"]))
    return [
        *(("Requires", _required(each, required.operators.get(each.operator or ""))) for each in dependencies(found)),
        ("Required by", f"{names or 'nothing'} (it was installed as a dependency)" if is_dependency(found) else names),
    ]


def _required(each: RequiredPackage, operator: Object | None) -> str:
    """One requirement; of an Operator that is not installed its whole message, which the messages of others shorten."""
    place = f"Operator {each.operator}" if each.operator else "no Operator"
    message = "" if each.installed or operator is None else text_at(condition(operator, "Ready"), "message")
    text = f"{each.package} {each.version} ({place}, {'' if each.installed else 'not '}installed): {each.requirement}"
    return f"{text}; it is not installed: {message}" if message else text


def _facts(found: Object) -> tuple[tuple[str, str], ...]:
    version = available_version(found)
    reason = text_at(found, "status", "available", "message")
    hint = f" (olm approve {found['metadata']['name']})" if awaits_approval(found) else ""
    asked = ", ".join(
        f"{key} {value}" for key in ("packageName", "version", "channel") if (value := text_at(found, "spec", key))
    )
    if excluded := part(found, "spec", "excludedVersions"):
        asked += f", without {', '.join(map(str, excluded))}"
    return (
        ("Operator", str(found["metadata"]["name"])),
        ("Asked for", asked.replace("packageName", "package", 1)),
        ("State", state(found)),
        ("Installed", installed(found) or "nothing"),
        ("Available", f"{version}{': ' if reason else ''}{reason}{hint}" if version else ""),
        ("Resolution", text_at(found, "status", "resolution")),
    )
