"""Changes of an Operator: the manifest, what is in its way, and why there may be nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from olmctl.questions.crd_check import check_not_refused
from olmctl.questions.errors import NothingFound, Refused
from olmctl.questions.exclusions import check_not_excluded, excluded_entry, undo_hint
from olmctl.questions.left_installations import operator_named
from olmctl.questions.offered_versions import check_upgrade, check_version, pinned_version
from olmctl.questions.operator_state import (
    available_version,
    condition,
    installed,
    is_approved,
    is_observed,
    lost_catalog,
    refusal,
    text_at,
)
from olmctl.questions.own_fields import merged, own_spec
from olmctl.questions.owners import change_refusal, owner_of
from olmctl.questions.packages import check_channels, package_objects
from olmctl.questions.requested_fields import followed_channels
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.clusterextensions import owned_fields
from olmkit.api.meta import Object
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION, ConditionType, Reason
from operator_controller.resolve.answers.answer import KeptOutBy

_NO_UPGRADES = frozenset({Reason.CATALOG_DELETED, Reason.CATALOG_UNAVAILABLE, Reason.NOT_OFFERED})
"""Reasons of Ready for an Operator whose Catalog leads to no upgrade."""


async def check_changes(
    session: Session, found: Object, changes: Mapping[str, Any], settings: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Raises NothingFound or Refused if it is certain that nothing would come of the version or the channel. `settings` are
    changes of spec.install: with others, other rules may count."""
    check_not_excluded(found, changes.get("version") or "")
    if "crdUpgradeSafety" not in settings:
        check_not_refused(found, changes.get("version") or "")
    entries = await package_objects(session, text_at(found, "spec", "packageName"))
    if not entries and (lost := lost_catalog(found)):
        raise NothingFound(clean(lost))
    check_channels(entries, followed_channels(changes))
    await check_version(session, entries, changes.get("version"), found)
    await check_upgrade(session, entries, {**found, "spec": {**found["spec"], **changes}})


def check_not_owned(found: Object, changes: Mapping[str, Any]) -> None:
    """Raises Refused if one of the changes of the spec is of a field that the ClusterExtension of the Operator sets."""
    if owned_fields(changes) and (refusal := change_refusal(found)):
        raise Refused(refusal)


async def version_refusal(session: Session, name: str, version: str) -> str:
    """Say why `olm upgrade` would refuse this version for the Operator; "" if it would not. Raises ApiError."""
    found = await operator_named(session, name)
    try:
        check_not_excluded(found, version)
        check_not_refused(found, version)
        entries = await package_objects(session, text_at(found, "spec", "packageName"))
        await check_upgrade(session, entries, {**found, "spec": {**found["spec"], "version": version}})
    except Refused as error:
        return error.message
    return ""


def changed(found: Object, changes: Mapping[str, Any], settings: Mapping[str, Any] = MappingProxyType({})) -> Object:
    """The manifest to apply so that exactly these fields of the spec change, and these of spec.install: with the fields that
    `olm` manages already."""
    kept = own_spec(found)
    spec = {key: value for key, value in {**kept, **changes}.items() if value != ""}
    if settings:
        spec["install"] = merged(spec.get("install") or {}, settings)
    metadata = {"name": found["metadata"]["name"], "uid": found["metadata"]["uid"]}
    return {"apiVersion": operators.KIND.api_version, "kind": "Operator", "metadata": metadata, "spec": spec}


def approval_patch(found: Object, version: str) -> Object:
    """The patch that approves a version, unless the Operator has changed since it was read."""
    metadata = {
        "resourceVersion": found["metadata"]["resourceVersion"],
        "annotations": {APPROVED_VERSION_ANNOTATION: version},
    }
    return {"metadata": metadata}


def version_patch(found: Object, version: str, reviewed: str, more: Mapping[str, Any] = MappingProxyType({})) -> Object:
    """The patch that asks for one version, with `more` fields of the spec. It approves the version where each one has to be
    approved and this one was reviewed."""
    patch: Object = {"spec": {"version": version, **more}}
    if version == reviewed and text_at(found, "spec", "approval") == "Manual":
        patch["metadata"] = {"annotations": {APPROVED_VERSION_ANNOTATION: version}}
    return patch


def newer_version(found: Object) -> str:
    """The version that is available and not installed; "" if there is none."""
    pending = available_version(found)
    return "" if pending == text_at(found, "status", "installed", "version") else pending


def has_no_upgrades(found: Object) -> bool:
    """Report whether the Catalog of the Operator leads to no upgrade."""
    ready = condition(found, ConditionType.READY)
    return is_observed(found) and text_at(ready, "reason") in _NO_UPGRADES


def nothing_to_do(found: Object) -> str:
    """Explain why nothing is to be done for what the Operator requests, and what would change that."""
    version, runs = text_at(found, "spec", "version"), installed(found) or "nothing"
    refused = refusal(found)
    if refused and pinned_version(version):
        return f"it is pinned to {version} and is {refused} ({_other_version(found)})"
    if refused:
        name = text_at(found, "metadata", "name")
        return f"it follows {_followed(version)}, has {runs} and is {refused} (olm why {name})"
    if is_approved(found):
        return f"version {available_version(found)} is approved already"
    if pending := newer_version(found):
        if excluded := excluded_entry(found, pending):
            return f"spec.excludedVersions has {excluded}; {undo_hint(found, excluded)}"
        if text_at(found, "status", "available", "reason") == KeptOutBy.VERSION:
            pin = f"is pinned to {version}" if pinned_version(version) else f"follows versions {version}"
            return f"it {pin}, which keeps out {pending}; {_other_version(found)}"
        return f"{pending} is available and not installed: {text_at(found, 'status', 'available', 'message')}"
    if has_no_upgrades(found):
        message = text_at(condition(found, ConditionType.READY), "message")
        return f"it has {runs}, and no upgrade can be found: {message}"
    if pinned_version(version):
        return f"it is pinned to {version}; {_other_version(found)}"
    return f"it follows {_followed(version)} automatically, and has {runs}"


def _other_version(found: Object) -> str:
    """The way to another version, as a clause."""
    if owner := owner_of(found):
        return f"choose another version in {owner} ({owner.command('edit')})"
    return "choose another version with --version, or '' to follow the channel"


def _followed(version: str) -> str:
    return f"versions {version}" if version else "its channel"
