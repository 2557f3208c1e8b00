"""`olm upgrade OPERATOR`: ask for another version or channel, or approve the version that waits."""

from __future__ import annotations

from typing import Any

from olmctl.cluster.approve import approve_version
from olmctl.cluster.install import TAKEN_OVER, apply_operator
from olmctl.cluster.list import RESOURCE
from olmctl.cluster.offered_versions import check_upgrade, check_version, pinned_version
from olmctl.cluster.operator_state import (
    available_version,
    awaits_approval,
    condition,
    installed,
    is_observed,
    refusal,
    text_at,
)
from olmctl.cluster.packages import check_channel, package_objects
from olmctl.cluster.required_operators import is_dependency
from olmctl.cluster.session import FIELD_MANAGER, Session, on_cluster
from olmctl.cluster.waiting import wait_for_operator
from olmctl.commands import REFUSED, CommandError
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType, Reason
from operator_controller.resolve.answer import KeptOutBy

_NO_UPGRADES = frozenset({Reason.CATALOG_DELETED, Reason.CATALOG_UNAVAILABLE, Reason.NOT_OFFERED})
"""Reasons of Ready for an Operator whose Catalog leads to no upgrade."""
_OTHER_VERSION = "choose another version with --version, or '' to follow the channel"


@on_cluster
async def upgrade(session: Session, operator: str, force: bool, **options: Any) -> int:
    """Upgrade OPERATOR: set the version or channel that is asked for; without them, approve the version that waits."""
    found = await session.client.get(operators.KIND, operator)
    changes = {key: options[key] for key in ("version", "channel") if options[key] is not None}
    changes = {key: value for key, value in changes.items() if value != text_at(found, "spec", key)}
    if any(changes.values()) and not force:
        entries = await package_objects(session, text_at(found, "spec", "packageName"))
        check_channel(entries, changes.get("channel"))
        await check_version(session, entries, changes.get("version"), found)
        await check_upgrade(session, entries, {**found, "spec": {**found["spec"], **changes}})
    version = ""
    if changes:
        await _change(session, found, changes, is_forced=force)
        shown = ", ".join(_change_text(found, key, value) for key, value in changes.items())
        print(f"{RESOURCE}/{operator} configured: {shown}{f'; {TAKEN_OVER}' if is_dependency(found) else ''}")
    elif awaits_approval(found):
        version = available_version(found)
        await approve_version(session, found, version)
        print(f"{RESOURCE}/{operator} approved: version {clean(version)}")
    else:
        print(f"{RESOURCE}/{operator} unchanged: {clean(_nothing_to_do(found))}")
    return await wait_for_operator(session, operator, options["seconds"], version) if options["wait"] else 0


async def _change(session: Session, found: Object, changes: dict[str, str], *, is_forced: bool) -> None:
    """Set these fields of the spec; "" removes one. Raises CommandError if others manage them and it is not forced."""
    name, own = found["metadata"]["name"], _own_fields(found)
    foreign = {key: None for key, value in changes.items() if value == "" and f"f:{key}" not in own}
    if foreign and not is_forced:
        fields = ", ".join(f"spec.{key}" for key in foreign)
        raise CommandError(
            REFUSED, f"{name}: {fields} was not set by olm: remove it where it is managed, or use --force"
        )
    if foreign:
        await session.client.patch(operators.KIND, name, {"spec": foreign})
    await apply_operator(session, changed(found, changes), is_forced=is_forced)


def _change_text(found: Object, field: str, value: str) -> str:
    before = clean(text_at(found, "spec", field) or text_at(found, "status", "installed", field))
    return f"{field} {clean(value) or 'removed'}" + (f" (before: {before})" if before not in ("", value) else "")


def changed(found: Object, changes: dict[str, str]) -> Object:
    """What to apply so that exactly these fields of the spec change: with the fields that `olm` manages already."""
    own = _own_fields(found)
    kept = {key: value for key, value in found["spec"].items() if f"f:{key}" in own}
    spec = {key: value for key, value in {**kept, **changes}.items() if value != ""}
    metadata = {"name": found["metadata"]["name"], "uid": found["metadata"]["uid"]}
    return {"apiVersion": operators.KIND.api_version, "kind": "Operator", "metadata": metadata, "spec": spec}


def _own_fields(found: Object) -> Object:
    """The fields of the spec that `olm` has applied, as `f:<field>`."""
    for entry in found["metadata"].get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (FIELD_MANAGER, "Apply"):
            fields: Object = entry.get("fieldsV1", {}).get("f:spec", {})
            return fields
    return {}


def _nothing_to_do(found: Object) -> str:
    version, runs = text_at(found, "spec", "version"), installed(found) or "nothing"
    refused = refusal(found)
    if refused and pinned_version(version):
        return f"it is pinned to {version} and is {refused} ({_OTHER_VERSION})"
    if refused:
        return f"it follows {_followed(version)}, has {runs} and is {refused}"
    if (pending := available_version(found)) and pending != text_at(found, "status", "installed", "version"):
        if text_at(found, "status", "available", "reason") == KeptOutBy.VERSION:
            pin = f"is pinned to {version}" if pinned_version(version) else f"follows versions {version}"
            return f"it {pin}, which keeps out {pending}; {_OTHER_VERSION}"
        return f"{pending} is available and not installed: {text_at(found, 'status', 'available', 'message')}"
    ready = condition(found, ConditionType.READY)
    if is_observed(found) and text_at(ready, "reason") in _NO_UPGRADES:
        return f"it has {runs}, and no upgrade can be found: {text_at(ready, 'message')}"
    if pinned_version(version):
        return f"it is pinned to {version}; {_OTHER_VERSION}"
    return f"it follows {_followed(version)} automatically, and has {runs}"


def _followed(version: str) -> str:
    return f"versions {version}" if version else "its channel"
