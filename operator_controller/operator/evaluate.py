"""Evaluates an Operator's spec: whether it is resolved, to which bundle, and what prevents its installation.

It does not resolve: the World has the answer of the Resolver. A list of rules: the first that applies wins. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmkit.api.bundledeployments import PACKAGE_ANNOTATION
from olmkit.api.conditions import DesiredCondition
from olmkit.api.operators import ConditionType, Reason, RequiredPackage
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.versions import BadRange
from olmkit.stored_times import has_passed
from operator_controller.operator.approval import Hold, find_hold
from operator_controller.operator.blockers import (
    awaited_content,
    bundle_deployment_blocker,
    rejected_content,
    resolution_blocker,
    unknown_media_type,
)
from operator_controller.operator.bundle_deployment import (
    bundle_deployment_for,
    differs,
    has_image,
    requests_bundle,
    runs_template,
    with_install_settings,
    with_successor,
)
from operator_controller.operator.claims import other_operator_has_package, package_changed
from operator_controller.operator.dependencies import (
    dependency_blocker,
    in_use,
    is_removal_undecided,
    is_unneeded,
    missing_dependency,
    required_packages,
)
from operator_controller.operator.planned_bundle import order_blocker, plan_to_record, set_blocker
from operator_controller.operator.timing import (
    MISSING_BUNDLE_GRACE_PERIOD,
    MISSING_BUNDLE_RETRY_DELAY,
    REPORTED_GRACE_PERIOD,
    RESOLUTION_GRACE_PERIOD,
    RESYNC_DELAY,
)
from operator_controller.operator.world import (
    CreateDependency,
    ObservedBundleDeployment,
    RecordPlan,
    World,
    image_reference,
)
from operator_controller.resolve.answers.answer import (
    Answer,
    AnswerState,
    AvailableUpgrade,
    FollowedCatalog,
    SelectedBundle,
)
from operator_controller.resolve.answers.deprecations import Deprecations
from operator_controller.resolve.package.version_range import EXAMPLES, MastermindsRange

RESOLUTION_NOT_ATTEMPTED = "validation has not been attempted as spec is invalid"
INSTALLATION_NOT_ATTEMPTED_INVALID = "installation has not been attempted as spec is invalid"
RESOLUTION_IN_PROGRESS = "resolution is in progress"
INSTALLATION_NOT_ATTEMPTED_YET = "installation has not been attempted as resolution is in progress"
INSTALLATION_NOT_ATTEMPTED = "installation has not been attempted as resolution failed"
REMOVAL_UNDECIDED = "nothing requires it: waiting for the count of its custom resources"


@dataclass(frozen=True)
class Evaluation:
    """The Resolved condition and its explanation, the bundle to install, and what prevents its installation."""

    resolved: DesiredCondition
    explanation: str
    bundle: SelectedBundle | None = None
    image: str = ""
    """Image of the resolved bundle; empty if none was."""
    blocker: OlmError | None = None
    """Blocked or Waiting: the bundle cannot be installed now."""
    not_attempted: str = INSTALLATION_NOT_ATTEMPTED
    """Message of Installed while nothing runs and nothing is resolved."""
    short_reason: str = ""
    """The rule that selected the bundle, in a few words."""
    ready_reason: Reason = Reason.SUCCEEDED
    """Reason of Ready once the resolved bundle is installed and healthy."""
    successor_note: str = ""
    """Which Catalog takes the place of a deleted one, in one sentence; empty if none does."""
    desired: Mapping[str, Any] | None = None
    """The BundleDeployment that installs the bundle; None without one, or if its media type is unknown."""
    successor_record: Mapping[str, Any] | None = None
    """The BundleDeployment that records the successor of a deleted Catalog and changes nothing else; None if not needed."""
    to_apply: Mapping[str, Any] | None = None
    """`desired` or `successor_record`: the one to apply now; None if the existing BundleDeployment does not differ from it."""
    current_deployment: ObservedBundleDeployment | None = None
    """The existing BundleDeployment, if it is as desired and its status is that of its current spec."""
    runs_template: bool = False
    """Whether the running bundle is that of the existing BundleDeployment's template."""
    runs_image: bool = False
    """Whether the image of the resolved bundle runs, on any registry."""
    deprecations: Deprecations | None = None
    """What is deprecated of what is followed; None if it is not known."""
    available: AvailableUpgrade | None = None
    """An upgrade that is kept out by something else than a Hold."""
    hold: Hold | None = None
    """Why nothing is changed, although the spec is resolved; None if the bundle may be installed."""
    to_record: RecordPlan | None = None
    """The record of the plan of a moving set to write or to remove."""
    to_create: CreateDependency | None = None
    """A package that the bundle requires and that has no Operator."""
    dependencies: Sequence[RequiredPackage] = ()
    """What satisfies the requirements of the bundle."""
    kept_note: str = ""
    """Why a dependency that nothing requires is kept; empty if it is required, or no dependency."""

    @property
    def is_resolved(self) -> bool:
        """True if a bundle was found."""
        return self.resolved.status == "True"


class WaitingUnreported(Waiting):
    """A wait of seconds that is not reported: the status stays as it is."""


def evaluate(world: World) -> Evaluation:
    """The evaluation of the current spec. Not for an Operator that is being deleted.

    It does not resolve: the World contains the answer. Raises ValueError if it is needed and missing.
    """
    evaluation = evaluate_without_answer(world)
    if evaluation is not None:
        return _compare(world, evaluation)
    if world.resolution is None:
        raise ValueError("the World lacks the resolution of its Operator")
    answer = world.resolution.answer
    if answer is None:
        return _compare(world, _unanswered(world, world.resolution))
    evaluation = _with_dependencies(world, answer, _with_hold(world, _evaluate_answer(world, answer)))
    if evaluation.bundle is not None:
        evaluation = replace(evaluation, desired=bundle_deployment_for(world, evaluation.bundle))
    note, deprecations = answer.successor_note, answer.deprecations
    evaluation = replace(evaluation, successor_note=note, deprecations=deprecations, available=answer.available)
    evaluation = _compare(world, evaluation)
    record = _successor_record(world, evaluation, answer.followed_catalog)
    return (
        evaluation if record is None else replace(evaluation, successor_record=record, to_apply=_changed(world, record))
    )


def _with_hold(world: World, evaluation: Evaluation) -> Evaluation:
    """While a Hold is on the bundle, what is installed or requested stays, as if nothing better had been found."""
    hold = find_hold(world, evaluation.bundle, evaluation.explanation)
    if hold is None or not evaluation.is_resolved:
        return replace(evaluation, hold=hold)
    existing = world.owned_bundle_deployment
    kept = image_reference(existing.model.spec.template.spec) if existing is not None else ""
    image = kept or evaluation.image
    return replace(
        evaluation,
        resolved=DesiredCondition(ConditionType.RESOLVED, "True", Reason.SUCCESS, f'resolved to "{image}"'),
        explanation=f"{hold.note}; {evaluation.explanation}",
        bundle=None,
        image=image,
        blocker=bundle_deployment_blocker(world, None),
        short_reason="",
        ready_reason=hold.ready_reason,
        hold=hold,
    )


def _with_dependencies(world: World, answer: Answer, evaluation: Evaluation) -> Evaluation:
    """Let the bundle wait until the packages that it requires are installed. A bundle that the BundleDeployment requests already
    waits for nothing."""
    existing, bundle = world.owned_bundle_deployment, evaluation.bundle
    evaluation = replace(evaluation, dependencies=required_packages(world, answer))
    is_new = bundle is not None and (existing is None or not requests_bundle(existing, bundle))
    if is_new and evaluation.blocker is None and is_removal_undecided(world):
        return replace(evaluation, blocker=WaitingUnreported(Reason.RETRYING, REMOVAL_UNDECIDED, RESYNC_DELAY))
    used = in_use(world) if world.is_dependency and is_unneeded(world) else ""
    to_record = plan_to_record(world, answer, bundle if evaluation.blocker is None else None)
    evaluation = replace(evaluation, kept_note=f"kept: {used} in use" if used else "", to_record=to_record)
    if bundle is None or evaluation.blocker is not None:
        return evaluation
    evaluation = replace(evaluation, to_create=missing_dependency(world, answer))
    if not is_new:
        return evaluation
    blocker = dependency_blocker(world, answer) or order_blocker(world, answer) or set_blocker(world, answer)
    return replace(evaluation, blocker=blocker)


def _unanswered(world: World, resolution: AnswerState) -> Evaluation:
    """The present request has no answer yet: a matter of milliseconds, unless resolving fails or a catalog is slow."""
    if resolution.error is not None:
        message = f"resolution failed and is retried: {resolution.error.message}"
        return _unresolved(message, Waiting(Reason.RETRYING, message, RESYNC_DELAY))
    is_reported = world.operator.status.observed_generation == world.operator.metadata.generation
    grace_period = REPORTED_GRACE_PERIOD if is_reported else RESOLUTION_GRACE_PERIOD
    if resolution.since is None or not has_passed(resolution.since, grace_period, world.now):
        return _unresolved("", WaitingUnreported(Reason.RESOLVING, RESOLUTION_IN_PROGRESS, RESOLUTION_GRACE_PERIOD))
    resolved = DesiredCondition(ConditionType.RESOLVED, "Unknown", Reason.RESOLUTION_UNKNOWN, RESOLUTION_IN_PROGRESS)
    blocker = Waiting(Reason.RESOLVING, RESOLUTION_IN_PROGRESS, RESYNC_DELAY)
    return Evaluation(resolved, RESOLUTION_IN_PROGRESS, blocker=blocker, not_attempted=INSTALLATION_NOT_ATTEMPTED_YET)


def evaluate_without_answer(world: World) -> Evaluation | None:
    """The rules that need no answer of resolution; None if none of them applies."""
    missing = _missing_bundle(world)
    if missing is not None:
        return _unresolved(missing.message, missing)
    try:
        MastermindsRange.parse(world.operator.spec.version or "*")
    except BadRange as error:
        return _invalid(f"spec.version: {error}; {EXAMPLES}")
    blocker = other_operator_has_package(world) or package_changed(world)
    return None if blocker is None else _unresolved(blocker.message, blocker)


def _missing_bundle(world: World) -> OlmError | None:
    """The active Bundle does not exist. For a short time its event may be outstanding; then its record is used, if any."""
    name = world.missing_bundle
    if not name:
        return None
    if world.missing_since is None or not has_passed(world.missing_since, MISSING_BUNDLE_GRACE_PERIOD, world.now):
        return WaitingUnreported(
            Reason.RETRYING, f'the installed Bundle "{name}" is not visible yet', MISSING_BUNDLE_RETRY_DELAY
        )
    if world.running is not None:
        return None
    message = (
        f'the installed Bundle "{name}" is missing and its version was not recorded: no version is selected until '
        f'BundleDeployment "{world.operator.metadata.name}" has installed the bundle of its spec'
    )
    return Waiting(Reason.RETRYING, message, RESYNC_DELAY)


def _invalid(message: str) -> Evaluation:
    resolved = DesiredCondition(ConditionType.RESOLVED, "Unknown", Reason.RESOLUTION_UNKNOWN, RESOLUTION_NOT_ATTEMPTED)
    return Evaluation(
        resolved,
        message,
        blocker=Blocked(Reason.NOT_RESOLVED, message),
        not_attempted=INSTALLATION_NOT_ATTEMPTED_INVALID,
    )


def _unresolved(message: str, blocker: OlmError, explanation: str = "") -> Evaluation:
    resolved = DesiredCondition(ConditionType.RESOLVED, "False", Reason.RESOLUTION_FAILED, message)
    return Evaluation(resolved, explanation or message, blocker=blocker)


def _evaluate_answer(world: World, answer: Answer) -> Evaluation:
    if not answer.is_resolved:
        explanation = (answer.text or answer.message) + (awaited_content(world) if answer.is_final else "")
        return _unresolved(answer.message, resolution_blocker(world, answer), explanation)
    resolved = DesiredCondition(ConditionType.RESOLVED, "True", Reason.SUCCESS, answer.message)
    bundle = answer.bundle
    if bundle is None:
        image = world.running.image if world.running else ""
        blocker = bundle_deployment_blocker(world, None)
        return Evaluation(resolved, answer.text, image=image, blocker=blocker, ready_reason=_ready_reason(answer))
    return Evaluation(
        resolved,
        answer.text,
        bundle,
        bundle.image,
        unknown_media_type(world, bundle)
        or rejected_content(world, bundle)
        or bundle_deployment_blocker(world, bundle),
        short_reason=answer.short_reason,
    )


def _compare(world: World, evaluation: Evaluation) -> Evaluation:
    """Adds how the existing BundleDeployment and the running bundle compare with the desired ones."""
    existing = world.owned_bundle_deployment
    desired = _installed_as_specified(world, evaluation) if evaluation.bundle is None else evaluation.desired
    is_desired = desired is None and evaluation.bundle is None
    is_desired = is_desired or (desired is not None and _changed(world, desired) is None)
    return replace(
        evaluation,
        to_apply=_changed(world, desired) if desired is not None and evaluation.blocker is None else None,
        current_deployment=existing if existing is not None and existing.is_current and is_desired else None,
        runs_template=existing is not None and runs_template(world.running, existing),
        runs_image=world.running is not None and has_image(world.running, evaluation.image),
    )


def _installed_as_specified(world: World, evaluation: Evaluation) -> Mapping[str, Any] | None:
    """The existing BundleDeployment, which keeps its bundle, with the install settings of spec; None if nothing may change."""
    existing, spec = world.owned_bundle_deployment, world.operator.spec
    if existing is None or existing.model.metadata.deleting or spec.paused or not evaluation.is_resolved:
        return None
    is_of_package = existing.annotations.get(PACKAGE_ANNOTATION, spec.package_name) == spec.package_name
    return with_install_settings(world.operator, existing) if is_of_package else None


def _changed(world: World, desired: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The desired BundleDeployment, if the existing one differs or there is none."""
    existing = world.owned_bundle_deployment
    return desired if existing is None or differs(existing, desired) else None


def _successor_record(
    world: World, evaluation: Evaluation, successor: FollowedCatalog | None
) -> Mapping[str, Any] | None:
    """The BundleDeployment that records the successor, before any upgrade: a rejected upgrade must not lose it.

    None if there is no successor, if the bundle is the running bundle (its BundleDeployment records the catalog too), or if
    another bundle is being installed already.
    """
    deployment = world.owned_bundle_deployment
    if (
        successor is None
        or world.operator.spec.paused
        or world.running is None
        or deployment is None
        or deployment.model.metadata.deleting
    ):
        return None
    is_chosen = evaluation.bundle is not None and evaluation.runs_image
    if (is_chosen and evaluation.blocker is None) or not evaluation.runs_template:
        return None
    return with_successor(world.operator, deployment, successor)


def _ready_reason(answer: Answer) -> Reason:
    """The reason why the running bundle stays although its catalog has no upgrade for it."""
    if answer.is_not_offered:
        return Reason.NOT_OFFERED
    return Reason.CATALOG_DELETED if answer.catalog_state is None else Reason.CATALOG_UNAVAILABLE
