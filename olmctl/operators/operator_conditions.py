"""Overrides the OperatorCondition that holds an upgrade, as an administrator does."""

from __future__ import annotations

from olmctl.questions.operator_state import part, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api.meta import Kind, Object, unchanged_precondition
from olmkit.api.operator_condition_names import GROUP, GROUP_KIND, PLURAL, UPGRADEABLE
from olmkit.errors import Conflict

MAX_PATCHES = 30
"""The attempts to write the override while the operator writes its conditions: each of its writes makes one fail."""


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
        except Conflict:  # the operator has written its conditions meanwhile
            continue
    else:
        await _write(session, kind, name, namespace, override)
    say(f"{PLURAL}.{GROUP}/{clean(held_by)} overridden: {UPGRADEABLE}")
    return True


async def _write(session: Session, kind: Kind, name: str, namespace: str, override: Object) -> None:
    """Raises Conflict if the object has changed since it was read."""
    found = await session.client.get(kind, name, namespace)
    others = [each for each in part(found, "spec", "overrides") or () if each.get("type") != UPGRADEABLE]
    change = {"metadata": unchanged_precondition(found), "spec": {"overrides": [*others, override]}}
    await session.client.patch(kind, name, change, namespace)
