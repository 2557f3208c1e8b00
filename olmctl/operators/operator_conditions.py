"""Overrides the OperatorCondition that holds the upgrade of an Operator, as an administrator does."""

from __future__ import annotations

from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.operator_state import part, text_at
from olmctl.questions.session import Session
from olmkit.api.meta import Object
from olmkit.api.operator_condition_names import GROUP_KIND, UPGRADEABLE

_OVERRIDE = {"type": UPGRADEABLE, "status": "True", "reason": "Forced", "message": "olm upgrade --force"}


async def override_hold(session: Session, operator: Object) -> str:
    """Permit the upgrades of the installed bundle, and keep the other overrides. Returns the OperatorCondition; "" if none holds
    them. Raises ApiError."""
    deployment = await bundle_deployment_of(session, operator)
    held_by = text_at(deployment, "status", "upgradeHold", "operatorCondition")
    kind = (await session.client.discover()).kinds.get(GROUP_KIND) if held_by else None
    if kind is None:
        return ""
    namespace, _, name = held_by.partition("/")
    found = await session.client.get(kind, name, namespace)
    others = [each for each in part(found, "spec", "overrides") or () if each.get("type") != UPGRADEABLE]
    metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
    await session.client.patch(
        kind, name, {"metadata": metadata, "spec": {"overrides": [*others, _OVERRIDE]}}, namespace
    )
    return held_by
