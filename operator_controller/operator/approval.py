"""Whether what was chosen for an Operator may be installed now: spec.approval and spec.paused.

Called by evaluate.py. A Hold changes nothing that is installed or being installed: the BundleDeployment stays as it is. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.api.bundledeployments import VERSION_ANNOTATION
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION, AvailableBundle, Operator, Reason
from olmkit.gocompat.text import one_line
from operator_controller.operator.bundle_deployment import requests_bundle
from operator_controller.operator.world import World
from operator_controller.resolve.answer import SelectedBundle

PAUSED = "the Operator is paused (spec.paused)"


@dataclass(frozen=True)
class Hold:
    """Why nothing is changed, in a few words, and the bundle that waits; None if none does."""

    reason: Reason
    note: str
    available: AvailableBundle | None = None

    @property
    def ready_reason(self) -> Reason:
        """The reason of Ready while the installed bundle is healthy."""
        return Reason.PAUSED if self.reason is Reason.PAUSED else Reason.UPGRADE_AVAILABLE


def approved_version(operator: Operator) -> str | None:
    """The version that may be installed if every change has to be approved: "" if none is; None if no approval is needed."""
    if operator.spec.approval != "Manual":
        return None
    return operator.metadata.annotations.get(APPROVED_VERSION_ANNOTATION, "").strip()


def find_hold(world: World, bundle: SelectedBundle | None, explanation: str) -> Hold | None:
    """The Hold on the bundle; None if it may be installed. `explanation` says why it was chosen.

    A bundle that the BundleDeployment requests already was approved before.
    """
    existing = world.owned_bundle_deployment
    is_new = bundle is not None and (existing is None or not requests_bundle(existing, bundle))
    waiting = bundle if is_new else None
    if world.operator.spec.paused:
        available = _available(waiting, Reason.PAUSED, f"{PAUSED}; {explanation}") if waiting is not None else None
        return Hold(Reason.PAUSED, PAUSED, available)
    approved = approved_version(world.operator)
    if waiting is None or approved is None or approved == waiting.version:
        return None
    note = (
        f'{waiting.version} waits for approval: set the annotation {APPROVED_VERSION_ANNOTATION} to "{waiting.version}"'
    )
    if approved and approved != requested_version(world):
        note += f' (it is "{approved[:64]}")'
    return Hold(Reason.APPROVAL_REQUIRED, note, _available(waiting, Reason.APPROVAL_REQUIRED, f"{note}; {explanation}"))


def requested_version(world: World) -> str:
    """The version that the BundleDeployment requests; empty if there is none."""
    existing = world.owned_bundle_deployment
    return existing.annotations.get(VERSION_ANNOTATION, "") if existing is not None else ""


def _available(bundle: SelectedBundle, reason: Reason, message: str) -> AvailableBundle:
    return AvailableBundle(
        version=bundle.version,
        bundle=bundle.name,
        image=bundle.image,
        catalog=bundle.catalog,
        channel=bundle.channel,
        reason=reason.value,
        message=one_line(message),
    )
