"""Decides whether the chosen bundle of an Operator may be installed now: spec.paused, spec.approval, and the OperatorCondition of
the installed bundle may hold it.

A Hold does not change a bundle that is installed or being installed: the BundleDeployment stays as it is. rukpak reads the
OperatorCondition, and holds a changed BundleDeployment too. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from olmkit.api.bundle_annotations import VERSION_ANNOTATION
from olmkit.api.operator_condition_names import OVERRIDE_HINT
from olmkit.api.operator_status import AvailableBundle, ProvidedApi
from olmkit.api.operators import APPROVED_VERSION_ANNOTATION, Operator, Reason
from olmkit.gocompat.text import one_line, truncate
from olmkit.gocompat.version_range import MastermindsRange
from operator_controller.operator.bundle_deployment import requests_bundle
from operator_controller.operator.running_bundle import provided_apis
from operator_controller.operator.world import World
from operator_controller.resolve.answers.answer import AvailableUpgrade, SelectedBundle
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES
from operator_controller.resolve.snapshot.cluster_snapshot import excluded_precedences

MAX_APIS_SHOWN = 3
"""The number of added or removed kinds that the message names."""
_SHOWS = "shows everything that it changes and what would be refused"
PAUSED = "the Operator is paused (spec.paused)"


@dataclass(frozen=True)
class Hold:
    """The reason why nothing is changed, in a few words, and the bundle that waits; None if no bundle waits."""

    reason: Reason
    note: str
    available: AvailableBundle | None = None
    excludes_running: bool = False
    """True if the spec does not permit the running version, so the Operator is not Ready."""

    @property
    def ready_reason(self) -> Reason:
        """The reason of Ready while the installed bundle is healthy."""
        is_upgrade = self.reason is Reason.APPROVAL_REQUIRED and not self.excludes_running
        return Reason.UPGRADE_AVAILABLE if is_upgrade else self.reason


def approved_version(operator: Operator) -> str | None:
    """The approved version if every change has to be approved, "" if no version is approved; None if no approval is needed."""
    if operator.spec.approval != "Manual":
        return None
    return operator.metadata.annotations.get(APPROVED_VERSION_ANNOTATION, "").strip()


def find_hold(world: World, bundle: SelectedBundle | None, explanation: str) -> Hold | None:
    """The Hold on the bundle; None if it may be installed. `explanation` says why the bundle was chosen.

    If the BundleDeployment requests the bundle already, the bundle was approved before.
    """
    existing = world.owned_bundle_deployment
    is_new = bundle is not None and (existing is None or not requests_bundle(existing, bundle))
    waiting = bundle if is_new else None
    excludes_running = waiting is not None and not _is_running_requested(world)
    running = f"; meanwhile {world.running.version_text} runs" if excludes_running and world.running is not None else ""
    if world.operator.spec.paused:
        note = f"{PAUSED}{running}"
        available = (
            _available(waiting, Reason.PAUSED, f"{note}; {_effect(world, waiting)}; {explanation}")
            if waiting is not None
            else None
        )
        return Hold(Reason.PAUSED, note, available, excludes_running)
    approved = approved_version(world.operator)
    if waiting is None:
        return None
    if approved is None or approved == waiting.version:
        return _condition_hold(world, waiting, running, explanation, excludes_running=excludes_running)
    note = (
        f'{waiting.version} waits for approval: set the annotation {APPROVED_VERSION_ANNOTATION} to "{waiting.version}"'
    )
    if approved and approved != requested_version(world):
        note += f' (it is "{approved[:64]}")'
    note += running
    available = _available(waiting, Reason.APPROVAL_REQUIRED, f"{note}; {_effect(world, waiting)}; {explanation}")
    return Hold(Reason.APPROVAL_REQUIRED, note, available, excludes_running)


def _condition_hold(
    world: World, waiting: SelectedBundle, running: str, explanation: str, *, excludes_running: bool
) -> Hold | None:
    """The Hold of the OperatorCondition of the installed bundle; None if it permits the upgrade, or if there is none."""
    existing = world.owned_bundle_deployment
    hold = existing.model.status.upgrade_hold if existing is not None and world.running is not None else None
    if hold is None:
        return None
    reason = Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE
    note = f"{waiting.version} waits: {hold.sentence}; {OVERRIDE_HINT}{running}"
    available = _available(waiting, reason, f"{note}; {_effect(world, waiting)}; {explanation}")
    return Hold(reason, note, available, excludes_running)


def _is_running_requested(world: World) -> bool:
    """Report whether spec.version, which can be read, contains the running version, and spec.excludedVersions does not. True also
    if no bundle runs, or if the running version cannot be read."""
    version = world.running.version if world.running is not None else None
    if excluded_running_version(world):
        return False
    return version is None or MastermindsRange.parse(world.operator.spec.version or "*").matches(
        version, prereleases=True
    )


def excluded_running_version(world: World) -> str:
    """The running version if spec.excludedVersions has it; else ""."""
    running, excluded = world.running, world.operator.spec.excluded_versions
    if running is None or running.version is None or not excluded:
        return ""
    return running.version_text if running.version.precedence in excluded_precedences(excluded) else ""


def requested_version(world: World) -> str:
    """The version that the BundleDeployment requests; empty if there is none."""
    existing = world.owned_bundle_deployment
    return existing.annotations.get(VERSION_ANNOTATION, "") if existing is not None else ""


def _effect(world: World, bundle: SelectedBundle) -> str:
    """Describe the changes that the bundle would make, as far as its catalog shows them, and name the command that shows all
    changes."""
    everything = f"olm diff {world.operator.metadata.name} {_SHOWS}"
    running = world.running.properties if world.running is not None else "[]"
    if not running:
        return everything
    old, new = (set(map(_api_name, provided_apis(text))) for text in (running, bundle.properties))
    changes = [f"{verb} {_listed(names)}" for verb, names in (("adds", new - old), ("removes", old - new)) if names]
    return f"it {' and '.join(changes) or 'adds and removes no API'}; {everything}"


def _api_name(api: ProvidedApi) -> str:
    return f"{api.kind} ({api.group}/{api.version})"


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:MAX_APIS_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


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


def kept_out(world: World, upgrade: AvailableUpgrade) -> AvailableBundle:
    """The upgrade that another reason keeps from being installed. The message names the command that shows its changes."""
    everything = f"; olm diff {world.operator.metadata.name} {upgrade.version} {_SHOWS}"
    return AvailableBundle(
        version=upgrade.version,
        bundle=upgrade.bundle,
        image=upgrade.image,
        catalog=upgrade.catalog,
        channel=upgrade.channel,
        reason=upgrade.kept_out_by.value,
        message=truncate(one_line(upgrade.reason), MAX_EXPLANATION_BYTES - len(everything)) + everything,
    )
