"""Decides whether the CustomResourceDefinitions of a bundle may replace those on the cluster, before anything of the bundle is
applied.

The rules of olmkit.crd_safety decide which custom resources are checked against the new schemas, in another process, and what
they showed decides about the upgrade. A repair of what others changed is no upgrade, and is not checked. Pure.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from olmkit.api.bundledeployment_status import PermittingField
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.conditions import find_condition
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.api.failures import FailureReason
from olmkit.crd_safety.evidence import Form
from olmkit.crd_safety.forms import wanted_forms
from olmkit.crd_safety.problem import NOT_PERMITTED, Problem, ignored_rules, is_enforced
from olmkit.crd_safety.verdict import Verdict, judge, noticed
from olmkit.errors import ApiError, OlmError, Waiting
from olmkit.gocompat.text import list_names
from olmkit.stored_times import has_passed
from rukpak.bundledeployment.delays import UNREACHABLE_RETRY_DELAY
from rukpak.bundledeployment.drift import is_up_to_date
from rukpak.bundledeployment.plan import CheckExistingObjects
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import CRD, ApplyRejected, ExistingObjects, FailedStep, Refused, World

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
    """Report whether another BundleDeployment released it, or the spec permits to take it over. A label alone is no owner: if the
    definition has one, the apply finds it out."""
    return (bool(crd.released_by) and not crd.owner_uid) or world.adopts


def _is_upgrade(world: World) -> bool:
    """Report whether another bundle is installed; also when the template was reverted during an upgrade."""
    ready = find_condition(world.deployment.status.conditions, ConditionType.READY)
    return world.active_bundle != world.target_bundle or (ready is not None and ready.reason == Reason.UPGRADING)


def blocker(world: World) -> OlmError | None:
    """Explain why the CustomResourceDefinitions cannot be replaced; None if they can, or if there are none to be replaced."""
    unread = {name: error for name, error in world.crd_problems.items() if isinstance(error, ApiError)}
    if unread:
        texts = list_names(f"{name}: {error.message}" for name, error in unread.items())
        text = f"CustomResourceDefinitions cannot be read now: {texts}"
        return FailedStep(FailureReason.APPLY_FAILED, Reason.RETRYING, text, UNREACHABLE_RETRY_DELAY, unread)
    settings, problems = world.deployment.spec.crd_upgrade_safety, _problems(world)
    forms = wanted_forms(problems, settings)
    if not forms:
        refused = judge(problems, {}, settings)
        text, subject = refused.refusal, refused.subject
        failure = FailureReason.CRD_UPGRADE_UNSAFE
        return Refused(failure, Reason.BLOCKED, text, subject, _permitted_by(refused)) if text else None
    definitions = {form.definition for form in forms}
    names = list_names(definitions)
    state = _current_check(world, forms)
    if state is None or state.is_running:
        text = f"checking the custom resources on the cluster against the new schemas of {names}"
        return Waiting(Reason.RETRYING, text, RUNNING_DELAY, definitions)
    verdict = judge(problems, state.evidence, settings)
    if not state.error and verdict.refusal:
        return ApplyRejected(
            Reason.BLOCKED,
            verdict.refusal,
            CHECK_AGAIN_AFTER,
            verdict.subject,
            permitted_by=_permitted_by(verdict),
            failure=FailureReason.CRD_UPGRADE_UNSAFE,
        )
    text = verdict.failure
    if state.error:
        text = f"the custom resources of {names} cannot be checked against the new schemas: {state.error}"
    if not text:
        return None
    return FailedStep(FailureReason.APPLY_FAILED, Reason.RETRYING, text, CHECK_AGAIN_AFTER, definitions)


def _permitted_by(verdict: Verdict) -> frozenset[PermittingField]:
    """The field that names the rules to ignore; none if the API server has one of them too."""
    broken = {each.rule for found in verdict.refused.values() for each in found}
    return frozenset() if broken & NOT_PERMITTED else frozenset({"crdUpgradeSafety.ignoredRules"})


def next_check(world: World) -> CheckExistingObjects | None:
    """The check of custom resources that is to be started; None when there is none to do, or it runs or has ended."""
    forms = wanted_forms(_problems(world), world.deployment.spec.crd_upgrade_safety)
    if not forms or _current_check(world, forms) is not None:
        return None
    return CheckExistingObjects(_identity(world, forms), tuple(forms))


def remarks(verdict: Verdict) -> str:
    """Sentences about what only clients may notice of the upgrade, and about what the last check of custom resources left out;
    empty: nothing."""
    return "; ".join(filter(None, (noticed(verdict.noticeable), *verdict.notes)))


def permission(world: World) -> Verdict:
    """The verdict if nothing prevents the upgrade, as far as the last check of custom resources knows; else, and before it is
    known, one that says nothing."""
    settings, problems = world.deployment.spec.crd_upgrade_safety, _problems(world)
    forms = wanted_forms(problems, settings)
    state = _current_check(world, forms) if forms else None
    if forms and (state is None or state.is_running):
        return Verdict()
    verdict = judge(problems, state.evidence if state is not None else {}, settings)
    return Verdict() if verdict.refusal else verdict


def _problems(world: World) -> dict[str, tuple[Problem, ...]]:
    known = world.crd_problems.items()
    return {name: problems for name, problems in known if not isinstance(problems, ApiError) and problems}


def _current_check(world: World, forms: list[Form]) -> ExistingObjects | None:
    """The check of these forms, unless it failed or refused some time ago."""
    state = world.existing_objects
    if state is None or state.identity != _identity(world, forms):
        return None
    is_repeated = not state.is_running and has_passed(state.at, CHECK_AGAIN_AFTER, world.now)
    verdict = judge(_problems(world), state.evidence, world.deployment.spec.crd_upgrade_safety)
    return None if is_repeated and (state.error or verdict.failed or verdict.refusal) else state


def _identity(world: World, forms: list[Form]) -> str:
    """Digest of what is checked: the bundle, the forms, and what is asked of them."""
    content = world.content.content if isinstance(world.content, RenderedBundle) else ""
    asked = sorted(ignored_rules(world.deployment.spec.crd_upgrade_safety))
    return hashlib.sha256(repr((content, forms, asked, _problems(world))).encode()).hexdigest()[:16]
