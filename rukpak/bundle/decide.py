"""Decides the next step for one Bundle by a list of rules: the first rule that returns a Plan wins.

The first resolved digest or commit is kept. Lost content is fetched again by it, never by the tag or branch. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from olmkit.api.bundles import Bundle, ConditionType, Reason
from olmkit.api.conditions import find_condition
from olmkit.api.provisioner_classes import HELM, PLAIN, REGISTRY
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs.state import Failed, Finished
from olmkit.runtime.reconciler import Decision
from olmkit.sources.source import CONTENT_NOUNS
from olmkit.sources.spec_source import missing_inputs
from rukpak.bundle.source_problem import source_problem
from rukpak.bundle.world import (
    CONTENT_TYPES,
    AwaitUpload,
    Evaluation,
    Keep,
    Plan,
    Release,
    Unpack,
    World,
    controlling_deployment,
)

CONFLICT_RETRY_DELAY = timedelta(minutes=1)

Step = Plan | OlmError
Rule = Callable[[World, Bundle], Step | None]


def decide(world: World) -> Decision[Plan, Evaluation]:
    """The next step. Raises Blocked if a change of another Bundle, a Secret or a ConfigMap is necessary, and Waiting if the same
    step may succeed later."""
    if world.bundle is None:
        return Decision(Release(), Evaluation({}))
    steps = (rule(world, world.bundle) for rule in RULES)
    step = next(each for each in steps if each is not None)
    return Decision(step, _evaluate(world, world.bundle))


def had_condition(bundle: Bundle, status: str, reason: Reason) -> bool:
    """Report whether the condition Unpacked has this status and reason for the current generation."""
    known = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
    is_present = known is not None and (known.status, known.reason) == (status, reason)
    return is_present and bundle.status.observed_generation == bundle.metadata.generation


def _evaluate(world: World, bundle: Bundle) -> Evaluation:
    was_unpacked = had_condition(bundle, "True", Reason.UNPACK_SUCCESSFUL)
    return Evaluation(
        world.resolved if _is_lost(world) else world.found,
        keeps_status=world.unreadable is not None and was_unpacked,
    )


def _is_lost(world: World) -> bool:
    """Report whether the store has lost the content that the job published."""
    is_published = isinstance(world.job, Finished) and not world.job.result.problem
    return is_published and world.unreadable is None and not world.stored_type


def _being_deleted(world: World, bundle: Bundle) -> Step | None:
    return Keep() if bundle.metadata.deleting else None


def _unknown_provisioner(world: World, bundle: Bundle) -> Step | None:
    name = bundle.spec.provisioner_class_name
    if name in CONTENT_TYPES:
        return None
    text = f'provisioner class "{name}" does not exist: set spec.provisionerClassName to {REGISTRY}, {PLAIN} or {HELM}'
    return Blocked(Reason.UNPACK_FAILED, text, [name])


def _invalid_source(world: World, bundle: Bundle) -> Step | None:
    if text := source_problem(bundle.spec.source):
        return Blocked(Reason.UNPACK_FAILED, text)
    try:
        _ = world.source
    except Blocked as error:
        return Blocked(Reason.UNPACK_FAILED, error.message, unpack_subject(error))
    return None


def _unreadable_store(world: World, bundle: Bundle) -> Step | None:
    error = world.unreadable
    return None if error is None else Waiting(Reason.UNPACK_FAILED, error.message, error.after, unpack_subject(error))


def _stored(world: World, bundle: Bundle) -> Step | None:
    return Keep() if world.is_stored else None


def _conflict(world: World, bundle: Bundle) -> Step | None:
    name = world.conflicting_bundle
    if not name:
        return None
    own, other = controlling_deployment(bundle), world.conflicting_deployment
    noun = CONTENT_NOUNS[bundle.spec.source.type]
    field = f"spec.template.spec.provisionerClassName of BundleDeployment {own}" if own else "spec.provisionerClassName"
    text = (
        f"Bundle {name} has the same {noun} unpacked by another provisioner: one {noun} is either registry+v1, plain+v0 or "
        f"a Helm chart. "
        f"Set {field} as there, or delete {f'BundleDeployment {other}' if other else name}"
    )
    return Waiting(Reason.UNPACK_FAILED, text, CONFLICT_RETRY_DELAY, [name])


def _awaited_upload(world: World, bundle: Bundle) -> Step | None:
    return AwaitUpload() if world.awaits_upload else None


def _missing_inputs(world: World, bundle: Bundle) -> Step | None:
    if not world.missing_inputs:
        return None
    error = missing_inputs(world.missing_inputs, world.namespace)
    return Blocked(Reason.UNPACK_FAILED, error.message, unpack_subject(error))


def _failed_job(world: World, bundle: Bundle) -> Step | None:
    match world.job:
        case Finished(result=result) if result.problem:
            return Blocked(Reason.UNPACK_FAILED, result.problem)
        case Failed(error=Blocked() as error):
            return Blocked(Reason.UNPACK_FAILED, error.message, unpack_subject(error))
        case Failed(error=Waiting() as error, finished_at=finished_at) if not world.job.is_due(world.monotonic):
            left = timedelta(seconds=finished_at - world.monotonic) + error.after
            return Waiting(Reason.UNPACK_FAILED, error.message, left, unpack_subject(error))
        case _:
            return None


def unpack_subject(error: OlmError) -> tuple[str, ...]:
    """The subject of UnpackFailed for an error with a reason of its own."""
    return (error.reason, *error.subject)


def _unpack(world: World, bundle: Bundle) -> Step | None:
    source, content_type = world.source, CONTENT_TYPES[bundle.spec.provisioner_class_name]
    if not isinstance(world.job, Finished):
        return Unpack(source, content_type)
    # The job published its content, yet it is lost, or belonged to another Bundle, which is gone.
    return Unpack(source, content_type, restart=True, replaceable=world.job.result.digest if world.stored_type else "")


RULES: tuple[Rule, ...] = (
    _being_deleted,
    _unknown_provisioner,
    _invalid_source,
    _unreadable_store,
    _stored,
    _conflict,
    _awaited_upload,
    _missing_inputs,
    _failed_job,
    _unpack,
)
