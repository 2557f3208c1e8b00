"""What is to be done for one Bundle, and what is to be said of it: both lists of rules, the first that answers wins.

Called by rukpak.bundle.reconciler. The digest that was resolved first is kept: content that got lost is fetched again by it,
never by the tag. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from olmkit.api.bundles import (
    IMAGE_BY_DIGEST_ANNOTATION,
    PLAIN,
    REGISTRY,
    Bundle,
    BundleStatus,
    ConditionType,
    Reason,
)
from olmkit.api.conditions import DesiredCondition, StatusReport, find_condition, merge_conditions
from olmkit.api.content import Phase, ResolvedImage, ResolvedSource
from olmkit.errors import Blocked, OlmError, Waiting

CONTENT_TYPES: Mapping[str, str] = {REGISTRY: "registry+v1", PLAIN: "plain+v0"}
"""Provisioner class -> what its bundles are called."""
RIVAL_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True)
class Working:
    """The job waits for its turn or runs; `progress` is its last line for people."""

    progress: str = ""
    started: bool = True


@dataclass(frozen=True)
class Ended:
    """The job came to an end: `ref` by digest, and what is wrong with the content (empty: it was published)."""

    ref: str
    problem: str = ""


@dataclass(frozen=True)
class Broke:
    """The last attempt failed; when it is Waiting another one follows."""

    error: OlmError


Job = Working | Ended | Broke | None


@dataclass(frozen=True)
class World:
    """Everything the decision may look at."""

    now: datetime
    raw: dict[str, Any]
    bundle: Bundle
    present: bool = False
    """The content of `resolved` is here, verified, and read as this Bundle asks for."""
    job: Job = None
    rival: str = ""
    """Another Bundle that has the same image unpacked by another provisioner."""
    unreadable: Waiting | None = None
    """Why it cannot be told now whether the content is here."""
    recorded: str = ""
    """The image by digest that its BundleDeployment records for this Bundle; empty when it records none."""

    @property
    def resolved(self) -> str:
        """The reference by digest that was found first for this spec; empty before.

        A Bundle that was made again has it in an annotation, which counts for the spec it was made with. Anybody who makes a
        Bundle, or a template, can write the annotation, so it counts only if the BundleDeployment's record says the same.
        """
        metadata, status = self.bundle.metadata, self.bundle.status
        if status.observed_generation == metadata.generation and status.resolved_source is not None:
            return status.resolved_source.image.ref if status.resolved_source.image else ""
        claimed = metadata.annotations.get(IMAGE_BY_DIGEST_ANNOTATION, "")
        return claimed if metadata.generation == 1 and claimed == self.recorded else ""


@dataclass(frozen=True)
class Unpack:
    """Start or keep the job that pulls `ref` and publishes its content; `replace`: also where it was read as something else."""

    ref: str
    content_type: str
    replace: bool = False


@dataclass(frozen=True)
class Keep:
    """Nothing is to be done."""


Plan = Unpack | Keep


@dataclass(frozen=True)
class Done:
    """What was done; `job` as it stands after it."""

    plan: Plan
    job: Job = None
    after: timedelta | None = field(default=None)


def decide(world: World) -> Plan:
    """The next step. Raises Blocked when only another Bundle can help, Waiting while another one is in the way."""
    if world.bundle.metadata.deleting:
        return Keep()
    chosen = world.bundle.spec.provisioner_class_name
    if chosen not in CONTENT_TYPES:
        raise Blocked(
            Reason.UNPACK_FAILED,
            f'provisioner class "{chosen}" does not exist: set spec.provisionerClassName to {REGISTRY} or {PLAIN}',
        )
    image = world.bundle.spec.source.image
    if image is None:
        raise Blocked(Reason.UNPACK_FAILED, 'bundle.spec.source.image must be set for source type "image"')
    if world.unreadable is not None:
        raise Waiting(Reason.UNPACK_FAILED, world.unreadable.message, world.unreadable.after)
    if world.present:
        return Keep()
    if world.rival:
        raise Waiting(
            Reason.UNPACK_FAILED,
            f"{rival_text(world.rival)}: one image is either registry+v1 or "
            f"plain+v0. Set spec.provisionerClassName as there, or delete {world.rival}",
            RIVAL_INTERVAL,
        )
    match world.job:
        case Ended(problem=problem) if problem:
            raise Blocked(Reason.UNPACK_FAILED, problem)
        case Broke(error=Blocked() as error):
            raise Blocked(Reason.UNPACK_FAILED, error.message)
    # The job ended well, yet the content is not ours: it was another Bundle's, and that one is gone.
    ours = isinstance(world.job, Ended)
    return Unpack(world.resolved or image.ref, CONTENT_TYPES[chosen], replace=ours)


def rival_text(name: str) -> str:
    """The beginning of the message about a rival."""
    return f"Bundle {name} has the same image unpacked by another provisioner"


def report(world: World, outcome: Done | Exception) -> StatusReport[BundleStatus]:
    """The status that is true now, and what changed. A new attempt leaves what was said of the last one until it ends."""
    if world.bundle.metadata.deleting or (_is_working(outcome) and _had(world, "False", Reason.UNPACK_FAILED)):
        return StatusReport(world.bundle.status)
    if world.unreadable is not None and _had(world, "True", Reason.UNPACK_SUCCESSFUL):
        return StatusReport(world.bundle.status)  # nothing is known that says otherwise
    phase, wanted = _conditions(outcome)
    old = world.bundle.status
    generation = world.bundle.metadata.generation
    conditions, transitions = merge_conditions(old.conditions, wanted, generation, world.now)
    job = (outcome.job if isinstance(outcome, Done) else None) or world.job
    ref = world.resolved or (job.ref if isinstance(job, Ended) else "")
    source = ResolvedSource(type="image", image=ResolvedImage(ref=ref)) if ref else None
    status = BundleStatus(observed_generation=generation, conditions=conditions, phase=phase, resolved_source=source)
    return StatusReport(status, transitions)


def _is_working(outcome: Done | Exception) -> bool:
    return isinstance(outcome, Done) and isinstance(outcome.job, Working)


def _had(world: World, unpacked: str, reason: Reason) -> bool:
    """Whether the condition Unpacked has this status and reason for the present generation."""
    status = world.bundle.status
    known = find_condition(status.conditions, ConditionType.UNPACKED)
    is_present = known is not None and (known.status, known.reason) == (unpacked, reason)
    return is_present and status.observed_generation == world.bundle.metadata.generation


def _conditions(outcome: Done | Exception) -> tuple[Phase, tuple[DesiredCondition, ...]]:
    match outcome:
        case Blocked():
            return Phase.FAILING, _failed(outcome.message, stalled=True)
        case OlmError():
            return Phase.FAILING, _failed(outcome.message, stalled=False)
        case Exception():
            return Phase.FAILING, _failed(f"unexpected error: {outcome}", stalled=False)
    match outcome.job:
        case Ended(problem=problem) if problem:
            return Phase.FAILING, _failed(problem, stalled=True)
        case Broke(error=error):
            return Phase.FAILING, _failed(error.message, stalled=not isinstance(error, Waiting))
        case Working(started=False):
            return Phase.PENDING, _under_way(Reason.UNPACK_PENDING, "Waiting for its turn to be unpacked")
        case Working(progress=progress):
            text = f"Unpacking the image Bundle: {progress}" if progress else "Unpacking the image Bundle"
            return Phase.UNPACKING, _under_way(Reason.UNPACKING, text)
        case Ended():
            return Phase.UNPACKING, _under_way(Reason.UNPACKING, "Unpacking the image Bundle")
    return Phase.UNPACKED, _unpacked()


def _unpacked() -> tuple[DesiredCondition, ...]:
    message = "Successfully unpacked the image Bundle"
    return (
        DesiredCondition(ConditionType.UNPACKED, "True", Reason.UNPACK_SUCCESSFUL, message),
        DesiredCondition(ConditionType.READY, "True", Reason.SUCCEEDED, message),
    )


def _under_way(reason: Reason, message: str) -> tuple[DesiredCondition, ...]:
    return (
        DesiredCondition(ConditionType.UNPACKED, "False", reason, message),
        DesiredCondition(ConditionType.READY, "False", Reason.NOT_UNPACKED, message),
        DesiredCondition(ConditionType.RECONCILING, "True", reason, message),
    )


def _failed(message: str, *, stalled: bool) -> tuple[DesiredCondition, ...]:
    progress = (
        DesiredCondition(ConditionType.STALLED, "True", Reason.BLOCKED, message)
        if stalled
        else DesiredCondition(ConditionType.RECONCILING, "True", Reason.RETRYING, message)
    )
    return (
        DesiredCondition(ConditionType.UNPACKED, "False", Reason.UNPACK_FAILED, message),
        DesiredCondition(ConditionType.READY, "False", Reason.NOT_UNPACKED, message),
        progress,
    )
