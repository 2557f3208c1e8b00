"""The dependencies of an Operator: finds the missing ones, explains what waits for them, and decides when one is deleted again.

The dependencies of a bundle come from the answer of resolution. The Operators that need an installed package come from the
requirements that running bundles recorded, never from a failed answer. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from olmkit.api import operators
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION, CustomResourceCount
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.meta import apply_precondition
from olmkit.api.operator_status import MAX_DEPENDENCIES, RequiredPackage
from olmkit.api.operators import INSTALLED_FOR_LABEL, Operator, Reason
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.text import truncate
from olmkit.stored_times import has_passed
from operator_controller.operator.delays import RESOLUTION_GRACE_PERIOD, RESYNC_DELAY
from operator_controller.operator.world import (
    HOLD_PREFIX,
    CreateDependency,
    DeleteDependency,
    HoldDeletion,
    Neighbour,
    Plan,
    RemoveDependencyLabel,
    RequestCount,
    WithdrawCount,
    World,
)
from operator_controller.resolve.answers.answer import Answer, AnswerKind, Dependency, requiring_packages
from operator_controller.resolve.formatting import first_names

COUNT_VALIDITY = timedelta(minutes=2)
"""The time after its request for which a count of custom resources permits a deletion. It is longer than the time between two
counts, because a dependency is deleted only with a valid count, and all members of a cycle need one. rukpak counts once more when
the deletion is requested (in its webhook of Operators)."""


# --- what is required


def missing_dependency(world: World, answer: Answer) -> CreateDependency | None:
    """The Plan to create an Operator for a package that the selected bundle requires and that has no Operator."""
    creatable = {one.package for one in answer.to_install}
    missing = sorted(
        one.package for one in answer.dependencies if one.package in creatable and one.package not in world.neighbours
    )
    return CreateDependency(_dependency_manifest(missing[0], world.operator)) if missing else None


def _dependency_manifest(package: str, requiring: Operator) -> dict[str, Any]:
    """The Operator for a package, with the ServiceAccount of the Operator that requires it."""
    account = requiring.spec.install.account() if requiring.spec.install is not None else None
    install = {"install": {"serviceAccount": account._asdict()}} if account is not None else {}
    return {
        "apiVersion": operators.KIND.api_version,
        "kind": operators.KIND.kind,
        "metadata": {"name": package, "labels": {INSTALLED_FOR_LABEL: ""}, **apply_precondition(None)},
        "spec": {"packageName": package, **install},
    }


def dependency_blocker(world: World, answer: Answer) -> OlmError | None:
    """Explain what the bundle waits for: the packages that it requires are installed first, except packages of its own cycle.

    The error is Blocked if one of these packages waits for a person; a change of its Operator ends this.
    """
    together = {member.package for member in answer.members if member.is_changed}.difference(answer.after)
    waiting = {
        one.package: (one, world.neighbours.get(one.package))
        for one in answer.dependencies
        if one.package not in together and not _is_settled(one, world.neighbours.get(one.package))
    }
    if not waiting:
        return None
    message = f"waiting for dependencies: {first_names(_pending(*each) for each in waiting.values())}"
    if any(
        neighbour is not None and neighbour.is_stalled and not neighbour.is_deleting
        for _, neighbour in waiting.values()
    ):
        return Blocked(Reason.WAITING_FOR_DEPENDENCIES, message, waiting)
    return Waiting(Reason.WAITING_FOR_DEPENDENCIES, message, RESYNC_DELAY, waiting)


def _is_installed(dependency: Dependency, neighbour: Neighbour | None) -> bool:
    """Report whether the bundle runs. It does until the end of its deletion."""
    return neighbour is not None and neighbour.bundle == dependency.bundle


def _is_settled(dependency: Dependency, neighbour: Neighbour | None) -> bool:
    """Report whether the package is installed, and is neither deleted nor is another bundle to replace its bundle."""
    is_kept = neighbour is not None and neighbour.requested in ("", dependency.bundle) and not neighbour.is_deleting
    return is_kept and _is_installed(dependency, neighbour)


def _pending(dependency: Dependency, neighbour: Neighbour | None) -> str:
    name = f"{dependency.package} {dependency.version}"
    if neighbour is None:
        return f"{name} (its Operator is being created)"
    if neighbour.is_deleting:
        return f"{name} (its Operator is being deleted)"
    return f"{name} ({neighbour.short_message})" if neighbour.message else name


def required_packages(world: World, answer: Answer) -> list[RequiredPackage]:
    """The entries of status.dependencies, by package."""
    found: dict[str, RequiredPackage] = {}
    for one in answer.dependencies:
        neighbour = world.neighbours.get(one.package)
        found.setdefault(
            one.package,
            RequiredPackage(
                package=one.package,
                version=one.version,
                bundle=one.bundle,
                operator=neighbour.operator if neighbour else None,
                installed=_is_installed(one, neighbour),
                requirement=truncate(one.sentence, 1024),
            ),
        )
    return [entry for _, entry in sorted(found.items())][:MAX_DEPENDENCIES]


# --- what requires this Operator


@dataclass(frozen=True)
class DeletionEvaluation:
    """The reason why the installed bundle of an Operator that is being deleted stays."""

    hold: str = ""
    """The reason why the bundle stays for now; "" if it can be deleted."""
    is_outstanding: bool = False
    """True if the reason is not known yet but will be known within seconds."""


def evaluate_deletion(world: World) -> DeletionEvaluation:
    """The evaluation of an Operator that is being deleted."""
    if world.owned_bundle_deployment is None:
        return DeletionEvaluation()
    return DeletionEvaluation(deletion_hold(world), is_answer_outstanding(world))


def deletion_hold(world: World) -> str:
    """Explain why the installed bundle of an Operator that is being deleted stays for now; "" if it can be deleted."""
    resolution = world.resolution
    if resolution is None:
        return ""
    if resolution.answer is None:
        return "it is not known yet whether others require it"
    answer = resolution.answer
    staying = [one.operator for one in _dependants(world, answer) if not one.is_deleting]
    if staying:
        return f"{first_names(f'Operator {name}' for name in staying)} requires it: delete what requires it first"
    before = [world.neighbours[one].operator for one in answer.required_by_deleting if one in world.neighbours]
    names = first_names(f"Operator {name}" for name in sorted(before))
    return f"{names} requires it and is deleted first" if before else ""


def is_answer_outstanding(world: World) -> bool:
    """Report whether the packages that require the installed bundle are not known yet but will be known within seconds."""
    resolution = world.resolution
    if resolution is None or resolution.answer is not None or resolution.error is not None:
        return False
    return resolution.since is None or not has_passed(resolution.since, RESOLUTION_GRACE_PERIOD, world.now)


def hold_plan(world: World, *, is_held: bool = True) -> HoldDeletion | None:
    """The Plan to correct the annotation that holds a deletion of the BundleDeployment; None if the annotation is correct, or if
    the correct value is not known. The BundleDeployment may be deleted before its Operator: by the garbage collector in a
    foreground deletion, or by a person. `is_held`: True if an Operator that is being deleted has a deletion_hold(). A hold of a
    person stays."""
    deployment = world.bundle_deployment
    if deployment is None:
        return None
    metadata = deployment.model.metadata
    existing = metadata.annotations.get(DELETION_HOLD_ANNOTATION, "")
    if existing and not existing.startswith(HOLD_PREFIX):
        return None
    is_owned = world.owned_bundle_deployment is not None
    reason = _desired_hold(world, is_held=is_held) if is_owned else _hold_of_predecessor(world, existing)
    if reason is None or reason == existing:
        return None
    return HoldDeletion(metadata.name, metadata.uid, reason)


def _desired_hold(world: World, *, is_held: bool) -> str | None:
    """The desired value of the annotation, "" for none; None if it is not known, or may still change.

    Running bundles record the requirements for the bundle that is being deleted, so no catalog has to be read. Nothing requires a
    bundle that was never installed, and there is no resolution for it.
    """
    is_deleting, resolution = world.operator.metadata.deleting, world.resolution
    if resolution is None:
        return "" if is_deleting else None
    answer = resolution.answer
    if answer is None or answer.kind is AnswerKind.UNDECIDED or (resolution.needs_recheck and not is_deleting):
        return None
    return _hold_reason(world, answer) if is_held else ""


def _hold_of_predecessor(world: World, existing: str) -> str | None:
    """The value of the annotation of a BundleDeployment that an earlier Operator of this name left, and that the garbage
    collector deletes. No other controller ends this hold when no installed bundle requires the BundleDeployment."""
    deployment = world.bundle_deployment
    answer = world.resolution.certain_answer if world.resolution is not None else None
    if answer is None or deployment is None:
        return None
    return existing if not deployment.model.metadata.deleting or _dependants(world, answer) else ""


def _hold_reason(world: World, answer: Answer) -> str:
    """Name in a few words the packages that require the installed bundle, or will require it; "" if there are none."""
    packages = _requiring(world, answer).union(answer.required_by_deleting)
    names = {world.neighbours[one].operator for one in packages if one in world.neighbours}
    names.discard(world.operator.metadata.name)
    return hold_text(f"Operator {name}" for name in names)


def hold_text(holders: Iterable[str]) -> str:
    """The value of the annotation that names these objects; "" for no objects."""
    names = first_names(sorted(holders))
    return f"{HOLD_PREFIX}{names}" if names else ""


def _requiring(world: World, answer: Answer) -> set[str]:
    """The packages that require the bundle of this Operator. If the Operator is being deleted, only the packages whose
    requirements no other bundle satisfies."""
    if world.operator.metadata.deleting:
        return set(answer.needed_by)
    return requiring_packages(answer, world.operator.spec.package_name)


def _dependants(world: World, answer: Answer) -> list[Neighbour]:
    """The names of the Operators whose installed bundle requires the installed bundle of this Operator.

    A bundle that is about to be installed counts from the creation of its BundleDeployment.
    """
    requiring = _requiring(world, answer)
    found = [
        neighbour
        for package, neighbour in world.neighbours.items()
        if neighbour.operator != world.operator.metadata.name
        and package in requiring
        and neighbour.has_bundle_deployment
    ]
    return sorted(found, key=lambda one: one.operator)


def dependency_plan(world: World) -> Plan | None:
    """The Plan for an Operator that was created as a dependency; None if it is treated like any other Operator."""
    if INSTALLED_FOR_LABEL not in world.operator.metadata.labels:
        return None
    if not world.is_dependency:
        return RemoveDependencyLabel((world.operator.metadata.name,))
    deployment = world.owned_bundle_deployment
    name = deployment.model.metadata.name if deployment is not None else ""
    uid = deployment.model.metadata.uid if deployment is not None else ""
    if not is_unneeded(world):
        is_counted = deployment is not None and COUNT_ANNOTATION in deployment.model.metadata.annotations
        return WithdrawCount(name, uid) if is_counted and _is_needed(world) else None
    metadata = world.operator.metadata
    if deployment is not None:
        requested = deployment.model.metadata.annotations.get(COUNT_ANNOTATION, "")
        if not requested:
            return RequestCount(name, uid)
        if not is_unused(world) or not _can_remove_cycle(world):
            return None
        if not _is_recent(requested, world.now):
            return RequestCount(name, uid)
    return DeleteDependency(metadata.name, metadata.uid, metadata.resource_version)


def _can_remove_cycle(world: World) -> bool:
    """Report whether the other members of the Operator's cycle can be removed too. A member that is in use keeps all of them."""
    answer = world.resolution.answer if world.resolution is not None else None
    others = (world.neighbours.get(package) for package in answer.removed_with) if answer is not None else ()
    return all(other is None or other.is_deleting or other.is_unused for other in others)


def is_unneeded(world: World) -> bool:
    """Report whether it is certain that nothing requires the package: no running bundle records a requirement for it, and no
    bundle that is to be installed has one. It is not certain if an answer is missing or may still change."""
    resolution = world.resolution
    if resolution is None or resolution.certain_answer is None or not resolution.is_component_settled:
        return False
    return not _is_needed(world)


def _is_needed(world: World) -> bool:
    """Report whether a bundle is known to require the package, other than the bundles that are deleted together with it."""
    answer = world.resolution.answer if world.resolution is not None else None
    if answer is None:
        return False
    requiring = requiring_packages(answer, world.operator.spec.package_name)
    return bool(answer.required_by_deleting or requiring.difference(answer.removed_with))


def is_unused(world: World) -> bool:
    """Report whether the Operator was created as a dependency, and a count of the custom resources of its kinds found none."""
    deployment = world.owned_bundle_deployment
    if deployment is None or not world.is_dependency:
        return world.is_dependency
    requested = deployment.model.metadata.annotations.get(COUNT_ANNOTATION, "")
    return bool(requested) and deployment.model.status.last_handled_count == requested and not in_use(world)


def is_removal_undecided(world: World) -> bool:
    """Report whether nothing requires a dependency, but it is not known yet whether custom resources keep it. No upgrade begins
    then, because the bundle may be deleted soon."""
    deployment = world.owned_bundle_deployment
    if deployment is None or not world.is_dependency or not is_unneeded(world):
        return False
    requested = deployment.model.metadata.annotations.get(COUNT_ANNOTATION)
    is_counted = deployment.model.status.last_handled_count == requested
    return not is_counted or (not in_use(world) and _can_remove_cycle(world))


def in_use(world: World) -> str:
    """The custom resources that keep a dependency although nothing requires it, for a message; "" if there are none."""
    deployment = world.owned_bundle_deployment
    if deployment is None or deployment.model.status.last_handled_count is None:
        return ""
    counts = deployment.model.status.custom_resources or []
    return first_names(text for one in counts if (text := _count_text(one)))


def _count_text(entry: CustomResourceCount) -> str:
    resource = f"{entry.plural or entry.kind}.{entry.group}"
    if entry.count is None:
        return f"an unknown number of {resource}"
    if entry.count == 0:
        return ""
    return f"{entry.count}{' or more' if entry.truncated else ''} {resource}"


def count_request(now: datetime, unique: str) -> str:
    """The value of the annotation that requests a count: the time, and a text that was never used."""
    return f"{now.isoformat(timespec='seconds')}/{unique}"


def _is_recent(request: str, now: datetime) -> bool:
    """Report whether a count was requested so recently that it is still valid."""
    try:
        age = now - datetime.fromisoformat(request.partition("/")[0])
    except (ValueError, TypeError):
        return False
    return timedelta(0) <= age <= COUNT_VALIDITY
