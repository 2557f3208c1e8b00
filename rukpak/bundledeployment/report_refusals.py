"""The fields of the status of a BundleDeployment about refusals: of bundles, pods, permissions and upgrades. `report` calls it.
Pure."""

from __future__ import annotations

from typing import Any

from olmkit.api.bundledeployment_status import PermittingField, RejectedBundle
from olmkit.api.permissions import MissingPermissions
from olmkit.errors import ApiError
from rukpak.bundledeployment.object_references import references
from rukpak.bundledeployment.ready_message import Outcome
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.upgrade_hold import upgrade_hold
from rukpak.bundledeployment.world import ApplyRejected, Refused, World
from rukpak.permissions.missing import missing_rules


def refusals(world: World, outcome: Outcome, shown: Outcome, active: str | None) -> dict[str, Any]:
    """refused, refusedPods, missingPermissions, permittedBy of the outcome that is shown, and upgradeHold, which is not known yet
    for a bundle that has just become active."""
    pods = sorted(key for key, each in world.owned.items() if each.has_refused_pods)
    return {
        "refused": _refused(world),
        "refused_pods": references(pods)[0],
        "missing_permissions": _missing_permissions(world, outcome),
        "permitted_by": _permitted_by(world, shown),
        "upgrade_hold": upgrade_hold(world) if active == world.active_bundle else None,
    }


def _permitted_by(world: World, outcome: Outcome) -> list[PermittingField] | None:
    """permittedBy of a refusal; as reported while a request fails."""
    if isinstance(outcome, ApplyRejected | Refused):
        return sorted(outcome.permitted_by) or None
    return world.deployment.status.permitted_by if isinstance(outcome, ApiError) else None


def _refused(world: World) -> RejectedBundle | None:
    bundle, content = world.bundles.get(world.target_bundle), world.content
    if bundle is None or not bundle.image or not isinstance(content, RenderedBundle) or not content.unsupported:
        return None
    return RejectedBundle(image=bundle.image, message="; ".join(content.unsupported))


def _missing_permissions(world: World, outcome: Outcome) -> MissingPermissions | None:
    """missingPermissions of a check that found some; as reported while a request for it fails."""
    if isinstance(outcome, ApplyRejected) and outcome.missing and world.account is not None:
        rules, truncated = missing_rules(outcome.missing)
        account = "/".join(world.account)
        return MissingPermissions(service_account=account, rules=rules, truncated=truncated or None)
    return world.deployment.status.missing_permissions if isinstance(outcome, ApiError) else None
