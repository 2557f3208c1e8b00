"""`olm upgrade OPERATOR`: ask for another version or channel, or approve the version that waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.operators.approve import approve_version, check_approval, kept_operator, status_of_waiting
from olmctl.operators.field_options import check_fields, requested_safety
from olmctl.operators.follow import wait_for_operator
from olmctl.operators.install import TAKEN_OVER, apply_operator
from olmctl.operators.list import RESOURCE
from olmctl.operators.operator_conditions import override_hold
from olmctl.operators.session import on_cluster
from olmctl.questions.exclusions import check_not_excluded
from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.operator_state import (
    available_version,
    awaits_approval,
    is_approved,
    obstacle,
    part,
    text_at,
)
from olmctl.questions.own_fields import own_fields
from olmctl.questions.requested_fields import channel_fields, followed_channels
from olmctl.questions.session import Session
from olmctl.questions.upgrade import (
    changed,
    check_changes,
    check_not_owned,
    has_no_upgrades,
    newer_version,
    nothing_to_do,
)
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.api.ownership import is_dependency

_FIELDS = {"version": "version", "upgradeConstraintPolicy": "upgrade_constraint_policy"}
"""A field of spec -> the option that sets it."""
_INSTALL_FIELDS = {
    "adoptionPolicy": "adoption_policy",
    "rollback": "rollback",
    "progressDeadline": "progress_deadline",
}
"""A field of spec.install -> the option that sets it."""
_ASKED = (*_FIELDS.values(), "channel", *_INSTALL_FIELDS.values(), "crd_policy", "crd_rules")


@on_cluster
async def upgrade(session: Session, operator: str, force: bool, **options: Any) -> int:
    """Upgrade OPERATOR: set the version, the channel, the policies or the rules that are asked for; without them, approve the
    version that waits. With `force` no OperatorCondition holds it."""
    check_fields({**channel_fields(options["channel"]), "version": options["version"]})
    found = await kept_operator(session, operator)
    operator = found["metadata"]["name"]
    settings = _install_settings(found, options)
    changes = _changes(found, options)
    check_not_owned(found, {**changes, "install": settings})
    check_not_excluded(found, options["version"] or "")
    if any(changes.values()) and not force:
        await check_changes(session, found, changes, settings)
    version = ""
    overridden = force and await override_hold(
        session, await bundle_deployment_of(session, found), "olm upgrade --force"
    )
    if changes or settings:
        await _change(session, found, changes, settings, is_forced=force)
        texts = [_change_text(found, key, value) for key, value in changes.items()]
        shown = ", ".join([*texts, *_settings_texts(found, settings)])
        say(f"{RESOURCE}/{operator} configured: {shown}{f'; {TAKEN_OVER}' if is_dependency(found) else ''}")
    elif awaits_approval(found):
        version = available_version(found)
        if not force:
            await check_approval(session, found, options)
        await approve_version(session, found, version)
        say(f"{RESOURCE}/{operator} approved: version {clean(version)}")
    elif not overridden:
        is_asked = any(options[key] not in (None, ()) for key in _ASKED)
        _report_unchanged(found, is_asked=is_asked, is_awaited=options["wait"])
    before = found if overridden else None
    return await wait_for_operator(session, operator, options["seconds"], version, before) if options["wait"] else 0


def _changes(found: Object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of spec that are asked for and differ; "" removes one. Of `channel` and `channels`, one removes the other."""
    spec, asked = found["spec"], {field: options[key] for field, key in _FIELDS.items() if options[key] is not None}
    if channels := options["channel"]:
        removed = {key: "" for key in ("channel", "channels") if spec.get(key)}
        asked |= removed | channel_fields(channels)
    if followed_channels(asked) == followed_channels(spec):
        asked = {key: value for key, value in asked.items() if key not in ("channel", "channels")}
    return {key: value for key, value in asked.items() if value != (spec.get(key) or "")}


def _install_settings(found: Object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of spec.install that are asked for and differ. Raises UsageError for a rule that does not exist."""
    safety = _safety(found, options["crd_policy"], options["crd_rules"])
    asked = {field: options[key] for field, key in _INSTALL_FIELDS.items() if options[key]}
    known = part(found, "spec", "install") or {}
    settings = {field: value for field, value in asked.items() if value != known.get(field)}
    return {**settings, **({"crdUpgradeSafety": safety} if safety else {})}


def _safety(found: Object, policy: str | None, rules: Sequence[str]) -> dict[str, Any]:
    """The same of spec.install.crdUpgradeSafety."""
    asked = requested_safety(policy, rules)
    known = part(found, "spec", "install", "crdUpgradeSafety") or {}
    return {key: value for key, value in asked.items() if value != known.get(key)}


def _settings_texts(found: Object, settings: Mapping[str, Any], *path: str) -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings_texts(found, value, *path, key)
        else:
            before = part(found, "spec", "install", *path, key)
            text = f" (before: {clean(_shown(before))})" if before else ""
            yield f"{'.'.join((*path, key))} {_shown(value)}{text}"


def _shown(value: str | Sequence[str]) -> str:
    return (value if isinstance(value, str) else ", ".join(value)) or "removed"


async def _change(
    session: Session, found: Object, changes: dict[str, Any], settings: dict[str, Any], *, is_forced: bool
) -> None:
    """Set these fields of the spec, and of spec.install; "" removes one.

    Raises CommandError if others manage them and it is not forced.
    """
    name, own = found["metadata"]["name"], own_fields(found)
    foreign = {key: None for key, value in changes.items() if value == "" and f"f:{key}" not in own}
    if foreign and not is_forced:
        fields = ", ".join(f"spec.{key}" for key in foreign)
        raise CommandError(
            REFUSED, f"{name}: {fields} was not set by olm: remove it where it is managed, or use --force"
        )
    if foreign:
        await session.client.patch(operators.KIND, name, {"spec": foreign})
    await apply_operator(session, changed(found, changes, settings), is_forced=is_forced)


def _change_text(found: Object, field: str, value: str | Sequence[str]) -> str:
    known, runs = part(found, "spec", field), text_at(found, "status", "installed", field)
    before = clean(_shown(known) if known else runs)
    return f"{field} {clean(_shown(value))}" + (f" (before: {before})" if before not in ("", value) else "")


def _report_unchanged(found: Object, *, is_asked: bool, is_awaited: bool) -> None:
    """Say why there is nothing to do. Raises CommandError with that if the Operator does not get what its spec requests, or
    the newer version that is known, unless something else `is_asked` for; with `is_awaited` not if that may still change."""
    name, text = found["metadata"]["name"], f"unchanged: {clean(nothing_to_do(found))}"
    in_the_way = obstacle(found)
    if in_the_way and (in_the_way.needs_a_person or not is_awaited):
        raise CommandError(REFUSED if in_the_way.is_held else FAILED, f"{name} {text}")
    is_current = is_approved(found) or not (newer_version(found) or has_no_upgrades(found))
    if not in_the_way and not is_asked and not is_current:
        raise CommandError(status_of_waiting(found), f"{name} {text}")
    say(f"{RESOURCE}/{name} {text}")
