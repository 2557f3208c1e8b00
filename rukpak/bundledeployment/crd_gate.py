"""Whether the CustomResourceDefinitions of a bundle may replace those on the cluster, before anything of the bundle is applied.

Called by evaluate, decide and reconciler. The rules of rukpak.crd_safety decide about the schemas. If a rule is broken and
ignored, the custom resources on the cluster are checked against the new schema, in another process. A repair of what others
changed is no upgrade, and is not checked. Pure.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import find_condition
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.errors import ApiError, Blocked, OlmError, Waiting
from rukpak.bundledeployment.drift import is_up_to_date
from rukpak.bundledeployment.plan import CheckExistingObjects
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.waiting import UNREACHABLE_RETRY_DELAY
from rukpak.bundledeployment.world import CRD, ApplyRejected, ExistingObjects, World
from rukpak.crd_safety.problem import Problem
from rukpak.crd_safety.refusal import counted, is_enforced, objects_refusal, refusal, versions_to_check
from rukpak.format.text import list_names

CHECK_AGAIN_AFTER = timedelta(minutes=2)
"""The time after which custom resources that are not valid are read again: they are not watched."""
RUNNING_DELAY = timedelta(seconds=30)
"""The end of a check enqueues the BundleDeployment earlier."""


def candidates(world: World) -> tuple[RenderedObject, ...]:
    """The CustomResourceDefinitions of the bundle that are to replace one on the cluster, and have to be compared with it."""
    content = world.content
    if not isinstance(content, RenderedBundle) or not content.is_installable or CRD in world.unsynced:
        return ()
    if not is_enforced(world.deployment.spec.crd_upgrade_safety):
        return ()
    return tuple(
        item
        for item in content.objects()
        if item.key[:2] == CRD and _is_replaced(world, item) and not is_up_to_date(world, item)
    )


def _is_replaced(world: World, item: RenderedObject) -> bool:
    crd = world.crds.get(item.key.name)
    if crd is None or crd.is_terminating:
        return False
    if item.key in world.owned:
        return _is_upgrade(world)
    return _is_taken_over(world, crd)


def _is_taken_over(world: World, crd: CustomResourceDefinition) -> bool:
    """Whether another BundleDeployment released it, or the spec permits to take it over. A label alone is no owner: if the
    definition has one, the apply finds it out."""
    return (bool(crd.released_by) and not crd.owner_uid) or world.adopts


def _is_upgrade(world: World) -> bool:
    """Whether another bundle is installed; also when the template was reverted during an upgrade."""
    ready = find_condition(world.deployment.status.conditions, ConditionType.READY)
    return world.active_bundle != world.target_bundle or (ready is not None and ready.reason == Reason.UPGRADING)


def blocker(world: World) -> OlmError | None:
    """Why the CustomResourceDefinitions cannot be replaced; None: they can, or there are none to be replaced."""
    unread = {name: error for name, error in world.crd_problems.items() if isinstance(error, ApiError)}
    if unread:
        texts = list_names(f"{name}: {error.message}" for name, error in unread.items())
        return Waiting(
            Reason.RETRYING, f"CustomResourceDefinitions cannot be read now: {texts}", UNREACHABLE_RETRY_DELAY
        )
    settings, problems = world.deployment.spec.crd_upgrade_safety, _problems(world)
    refused = counted(problems, settings)
    if refused:
        return Blocked(Reason.BLOCKED, refusal(refused))
    versions = versions_to_check(problems, settings)
    if not versions:
        return None
    names = list_names({name for name, _ in versions})
    state = _current_check(world, versions)
    if state is None or state.is_running:
        text = f"checking the custom resources on the cluster against the new schemas of {names}"
        return Waiting(Reason.RETRYING, text, RUNNING_DELAY)
    if state.error:
        text = f"the custom resources of {names} cannot be checked against the new schemas: {state.error}"
        return Waiting(Reason.RETRYING, text, CHECK_AGAIN_AFTER)
    if state.invalid:
        return ApplyRejected(Reason.BLOCKED, objects_refusal(state.invalid, state.invalid_count), CHECK_AGAIN_AFTER)
    return None


def next_check(world: World) -> CheckExistingObjects | None:
    """The check of custom resources that is to be started; None when there is none to do, or it runs or has ended."""
    problems, settings = _problems(world), world.deployment.spec.crd_upgrade_safety
    if counted(problems, settings):
        return None
    versions = versions_to_check(problems, settings)
    if not versions or _current_check(world, versions) is not None:
        return None
    return CheckExistingObjects(_identity(world, versions), tuple(versions))


def unchecked(world: World) -> str:
    """A sentence about what the last check of custom resources left out; empty: nothing."""
    state = world.existing_objects
    return "; ".join(state.notes) if state is not None and not state.is_running else ""


def _problems(world: World) -> dict[str, tuple[Problem, ...]]:
    known = world.crd_problems.items()
    return {name: problems for name, problems in known if not isinstance(problems, ApiError) and problems}


def _current_check(world: World, versions: list[tuple[str, str]]) -> ExistingObjects | None:
    """The check of these versions, unless it failed or refused some time ago."""
    state = world.existing_objects
    if state is None or state.identity != _identity(world, versions):
        return None
    is_due = (state.error or state.invalid) and world.now - state.at >= CHECK_AGAIN_AFTER
    return None if is_due else state


def _identity(world: World, versions: list[tuple[str, str]]) -> str:
    """Digest of what is checked: the bundle, and the versions."""
    content = world.content.content if isinstance(world.content, RenderedBundle) else ""
    return hashlib.sha256(repr((content, versions)).encode()).hexdigest()[:16]
