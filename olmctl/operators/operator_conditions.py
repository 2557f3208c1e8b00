"""Overrides the OperatorCondition that holds an upgrade, as an administrator does."""

from __future__ import annotations

from olmctl.operators.retrying_client import JSON_PATCH
from olmctl.questions.operator_state import text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api.meta import Kind, Object
from olmkit.api.operator_condition_names import GROUP, GROUP_KIND, PLURAL, UPGRADEABLE
from olmkit.errors import Conflict, Invalid

MAX_PATCHES = 30
"""The attempts to write the override while others write the OperatorCondition."""


async def override_hold(session: Session, deployment: Object | None, command: str) -> bool:
    """Permit the upgrades of the installed bundle of a BundleDeployment, print that, and keep the other overrides. Reports if one
    was held. `command` is recorded as the reason. Raises ApiError."""
    held_by = text_at(deployment, "status", "upgradeHold", "operatorCondition")
    kind = (await session.client.discover()).kinds.get(GROUP_KIND) if held_by else None
    if kind is None:
        return False
    namespace, _, name = held_by.partition("/")
    override = {"type": UPGRADEABLE, "status": "True", "reason": "Forced", "message": command}
    for _ in range(MAX_PATCHES - 1):
        try:
            await _write(session, kind, name, namespace, override)
            break
        except (Conflict, Invalid):  # others have written meanwhile: a failed test of a JSON patch is Invalid
            continue
    else:
        await _write(session, kind, name, namespace, override)
    say(f"{PLURAL}.{GROUP}/{clean(held_by)} overridden: {UPGRADEABLE}")
    return True


async def _write(session: Session, kind: Kind, name: str, namespace: str, override: Object) -> None:
    """Raises Invalid if the overrides have changed since they were read. The operator may write its conditions."""
    found = await session.client.get(kind, name, namespace)
    spec = found.get("spec") or {}
    before = spec.get("overrides")
    others = [each for each in before or () if each.get("type") != UPGRADEABLE]
    change = [
        {"op": "test", "path": "/metadata/uid", "value": found["metadata"]["uid"]},
        {"op": "test", "path": "/spec/overrides", "value": before},
        {"op": "add", "path": "/spec/overrides", "value": [*others, override]},
    ]
    if not spec:
        change[1:] = [{"op": "add", "path": "/spec", "value": {"overrides": [override]}}]
    await session.client.patch(kind, name, change, namespace, content_type=JSON_PATCH)
