"""What is to be said of an Operator's spec before anything is written: resolved or not, to which bundle, what is in the way.

Called by decide.py (what to do) and report.py (what to say), so that both have one answer, and by reconciler.py's observe for the
question that is to be resolved before. A list of rules: the first that applies wins. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from olmkit.api.bundledeployments import (
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    PACKAGE_ANNOTATION,
)
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.bundles import PLAIN, REGISTRY, digest_of_reference
from olmkit.api.conditions import DesiredCondition
from olmkit.api.operators import ConditionType, Reason
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.versions import BadRange
from operator_controller.operator.world import World
from operator_controller.resolve.candidates import Candidate
from operator_controller.resolve.explained_resolution import ExplainedResolution
from operator_controller.resolve.formatting import format_versions
from operator_controller.resolve.package import DEFAULT_MEDIA_TYPE
from operator_controller.resolve.resolution import Chosen, Kept, Outcome, Resolution, SuccessorCatalog
from operator_controller.resolve.snapshot import PackageRequest, Snapshot
from operator_controller.resolve.version_range import EXAMPLES, MastermindsRange

PROVISIONER_BY_MEDIA_TYPE = {"registry+v1": REGISTRY, "plain+v0": PLAIN}
"""Who unpacks a bundle, by its media type."""
CATALOG_RETRY_DELAY = timedelta(seconds=10)
"""A catalog that is away is asked again: no event tells when it answers."""
RESYNC_DELAY = timedelta(minutes=10)
"""The net under what events tell of."""
MAX_NAMES_SHOWN = 5
"""Webhooks or API services that a message names."""
MISSING_BUNDLE_RETRY_DELAY = timedelta(seconds=5)
"""The net under an event that is on its way."""
MISSING_BUNDLE_GRACE_PERIOD = timedelta(seconds=30)
"""How long an active Bundle that is not there counts as on its way."""

RESOLUTION_NOT_ATTEMPTED = "validation has not been attempted as spec is invalid"
INSTALLATION_NOT_ATTEMPTED_INVALID = "installation has not been attempted as spec is invalid"
INSTALLATION_NOT_ATTEMPTED = "installation has not been attempted as resolution failed"


@dataclass(frozen=True)
class Evaluation:
    """The Resolved condition, the explanation for people, the bundle to install, and what keeps it from being asked for."""

    resolved: DesiredCondition
    explanation: str
    candidate: Candidate | None = None
    image: str = ""
    """Image of what was resolved; empty when nothing was."""
    problem: OlmError | None = None
    """Blocked or Waiting: nothing is written now."""
    not_attempted: str = INSTALLATION_NOT_ATTEMPTED
    """What Installed says while nothing runs and nothing was resolved."""
    why: str = ""
    """What made the candidate the one, in a few words."""
    ready: Reason = Reason.SUCCEEDED
    """Why it is Ready when what was resolved is installed and well."""
    followed: str = ""
    """Which Catalog took the place of a deleted one, in a sentence; empty when none did."""
    follow: SuccessorCatalog | None = None
    """The same as a value."""

    @property
    def is_resolved(self) -> bool:
        """A bundle was found."""
        return self.resolved.status == "True"


class WaitingUnreported(Waiting):
    """Known in a moment and no news for anybody: the status stays as it is."""


def evaluate(world: World) -> Evaluation:
    """The verdict on the spec as it is. Not for an Operator that is being deleted.

    Evaluates no upgrade graph: the World holds the Resolution. Raises ValueError when it lacks the one that question() asks for.
    """
    refusal = _evaluate_without_catalogs(world)
    if refusal is not None:
        return refusal
    if world.resolution is None:
        raise ValueError("the World holds no answer to its question")
    words, follow = world.resolution.explanation, world.resolution.resolution.successor
    return replace(_resolved(world, world.resolution), followed=words.successor_note, follow=follow)


def snapshot_to_resolve(world: World) -> Snapshot | None:
    """What has to be resolved for this World; None when nothing has to be."""
    if world.operator.metadata.deleting or _evaluate_without_catalogs(world) is not None:
        return None
    return make_snapshot(world, _requested_package(world))


def _requested_package(world: World) -> PackageRequest:
    """Raises BadRange."""
    spec = world.operator.spec
    versions = MastermindsRange.parse(spec.version) if spec.version else None
    return PackageRequest(spec.package_name, spec.channel or "", versions)


def _evaluate_without_catalogs(world: World) -> Evaluation | None:
    """What can be said without looking at any catalog."""
    unseen = _missing_bundle(world)
    if unseen is not None:
        return _unresolved(unseen.message, unseen)
    try:
        _requested_package(world)
    except BadRange as error:
        return _invalid(f"spec.version: {error}; {EXAMPLES}")
    refusal = _other_operator_has_package(world) or _package_changed(world)
    return None if refusal is None else _unresolved(refusal.message, refusal)


def _missing_bundle(world: World) -> OlmError | None:
    """The active Bundle is not there: on its way at first, then missing. What is recorded of it does to go on with."""
    name = world.missing_bundle
    if not name:
        return None
    if world.missing_since is None or world.now - world.missing_since < MISSING_BUNDLE_GRACE_PERIOD:
        return WaitingUnreported(
            Reason.RETRYING, f'the Bundle "{name}" that is installed cannot be seen yet', MISSING_BUNDLE_RETRY_DELAY
        )
    if world.running is not None:
        return None
    message = (
        f'the Bundle "{name}" that is installed is missing, and it is recorded nowhere which version it was: no version is '
        f'chosen until BundleDeployment "{world.operator.metadata.name}" has installed the one that it asks for'
    )
    return Waiting(Reason.RETRYING, message, RESYNC_DELAY)


def _invalid(message: str) -> Evaluation:
    resolved = DesiredCondition(ConditionType.RESOLVED, "Unknown", Reason.RESOLUTION_UNKNOWN, RESOLUTION_NOT_ATTEMPTED)
    return Evaluation(
        resolved,
        message,
        problem=Blocked(Reason.NOT_RESOLVED, message),
        not_attempted=INSTALLATION_NOT_ATTEMPTED_INVALID,
    )


def _unresolved(message: str, problem: OlmError, explanation: str = "") -> Evaluation:
    resolved = DesiredCondition(ConditionType.RESOLVED, "False", Reason.RESOLUTION_FAILED, message)
    return Evaluation(resolved, explanation or message, problem=problem)


def _other_operator_has_package(world: World) -> OlmError | None:
    """One Operator per package: the senior one works."""
    mine = next((claim for claim in world.claims if claim.name == world.operator.metadata.name), None)
    senior = min(world.claims, key=lambda claim: claim.seniority, default=None)
    if senior is None or mine is None or senior == mine:
        return None
    package = f'package "{world.operator.spec.package_name}"'
    if senior.is_idle:
        message = f'{package} is asked for by Operator "{senior.name}" too'
        precedence = "came first" if senior.created < mine.created else "is first by name"
        rest = f", which {precedence} and is not installed; delete one of them"
    else:
        message = f'{package} is already managed by Operator "{senior.name}"'
        rest = "; delete one of them"
    if senior.is_deleting:
        return Waiting(Reason.RETRYING, f"{message}, which is being deleted", RESYNC_DELAY)
    return Blocked(Reason.RESOLUTION_FAILED, message + rest)


def _package_changed(world: World) -> OlmError | None:
    """Another package in place of an installed one would remove what the first one brought, kinds and all."""
    running, asked = world.running, world.operator.spec.package_name
    if running is None or running.package in ("", asked):
        return None
    return Blocked(
        Reason.RESOLUTION_FAILED,
        f'package "{running.package}" is installed by this Operator and "{asked}" is asked for: set spec.packageName back to '
        f'"{running.package}", or delete this Operator and create another one for "{asked}"',
    )


def make_snapshot(world: World, asked: PackageRequest) -> Snapshot:
    """The part of the World that resolution looks at."""
    deployment, running = world.owned_bundle_deployment, world.running
    notes = deployment.annotations if deployment else {}
    own = notes if notes.get(PACKAGE_ANNOTATION) == asked.package else {}
    is_between = deployment is not None and _is_upgrading(world)
    return Snapshot(
        request=asked,
        offers=world.offers,
        running=running,
        installing_bundle=own.get(BUNDLE_NAME_ANNOTATION, "") if is_between else "",
        preferred_catalog=own.get(CATALOG_ANNOTATION, ""),
    )


def _is_upgrading(world: World) -> bool:
    """Whether some objects of the wanted bundle are in place, and not all."""
    deployment = world.owned_bundle_deployment
    reconciling = deployment.condition(DeploymentCondition.RECONCILING) if deployment else None
    return (
        world.running is not None
        and reconciling is not None
        and reconciling.status == "True"
        and reconciling.reason == DeploymentReason.UPGRADING
    )


def _resolved(world: World, resolution: ExplainedResolution) -> Evaluation:
    decision, words = resolution.resolution, resolution.explanation
    if not words.is_resolved:
        return _unresolved(words.message, _resolution_problem(world, decision, words.message), words.text)
    resolved = DesiredCondition(ConditionType.RESOLVED, "True", Reason.SUCCESS, words.message)
    outcome = decision.outcome
    if not isinstance(outcome, Chosen):
        image = world.running.image if world.running else ""
        ready, problem = _ready_reason(outcome), _bundle_deployment_problem(world, None)
        return Evaluation(resolved, words.text, image=image, problem=problem, ready=ready)
    candidate = outcome.candidate
    return Evaluation(
        resolved,
        words.text,
        candidate,
        candidate.bundle.image,
        _unknown_media_type(world, candidate)
        or _unsupported(world, outcome)
        or _bundle_deployment_problem(world, candidate),
        why=words.short_reason,
    )


def _ready_reason(outcome: Outcome) -> Reason:
    """What runs is well, and yet its catalog leads nowhere now."""
    if isinstance(outcome, Kept) and outcome.is_not_offered:
        return Reason.NOT_OFFERED
    is_deleted = isinstance(outcome, Kept) and outcome.catalog_state is None
    return Reason.CATALOG_DELETED if is_deleted else Reason.CATALOG_UNAVAILABLE


def _resolution_problem(world: World, decision: Resolution, message: str) -> OlmError:
    if decision.is_final:
        return _blocked_unless_stale(world, Reason.RESOLUTION_FAILED, message)
    after = CATALOG_RETRY_DELAY if world.needs_recheck else RESYNC_DELAY
    return Waiting(Reason.WAITING_FOR_CATALOG, message, after)


def _blocked_unless_stale(world: World, reason: Reason, message: str) -> OlmError:
    """Only new content can lift it; while no event would tell of that, the catalog is asked again."""
    if world.needs_recheck:
        return Waiting(Reason.WAITING_FOR_CATALOG, message, CATALOG_RETRY_DELAY)
    return Blocked(reason, message)


def _unknown_media_type(world: World, candidate: Candidate) -> OlmError | None:
    media_type = candidate.bundle.media_type
    if media_type in PROVISIONER_BY_MEDIA_TYPE:
        return None
    return _blocked_unless_stale(world, Reason.INSTALLATION_FAILED, f"unknown bundle mediatype: {media_type}")


def _unsupported(world: World, chosen: Chosen) -> OlmError | None:
    """What rukpak would refuse after unpacking, as far as the catalog says or rukpak has said of the same image before."""
    candidate, bundle, running = chosen.candidate, chosen.candidate.bundle, world.running
    if bundle.media_type != DEFAULT_MEDIA_TYPE or (running is not None and running.name == bundle.name):
        return None
    remembered = world.rejected_images.get(digest_of_reference(bundle.image), "")
    if remembered:
        return _blocked_unless_stale(world, Reason.INSTALLATION_FAILED, remembered)
    if not bundle.needs_certificates:
        return None
    known = (("has webhooks", bundle.webhooks), ("owns API services", bundle.api_services))
    what = " and ".join(f"{words} ({_first_names(names)})" for words, names in known if names)
    refused = f'bundle "{bundle.name}" {what}, which are not supported yet'
    as_plain = "install its manifests as a plain+v0 bundle that brings its own certificates"
    if chosen.without_certificates:
        versions = format_versions(chosen.without_certificates, candidate.version)
        message = f"{refused}: choose a version for which the catalog names none ({versions}), or {as_plain}"
    else:
        none = f'catalog "{candidate.catalog}" offers no version without them that can be installed now'
        message = f"{refused}: {none}; {as_plain}"
    return _blocked_unless_stale(world, Reason.INSTALLATION_FAILED, message)


def _first_names(names: Sequence[str]) -> str:
    """As rukpak names them."""
    more = [f"and {len(names) - MAX_NAMES_SHOWN} more"] if len(names) > MAX_NAMES_SHOWN else []
    return ", ".join([*sorted(names)[:MAX_NAMES_SHOWN], *more])


def _bundle_deployment_problem(world: World, candidate: Candidate | None) -> OlmError | None:
    """Why the BundleDeployment cannot be written: it is somebody else's, or going."""
    deployment = world.bundle_deployment
    if deployment is None:
        return None
    name, owner = deployment.model.metadata.name, deployment.controller
    if world.owned_bundle_deployment is None:
        return _not_owned_problem(world, name, f'{owner.kind} "{owner.name}"' if owner else "")
    if deployment.model.metadata.deleting:
        then = f"{candidate.version} is installed again" if candidate else "what is installed then is chosen"
        message = f'BundleDeployment "{name}" is being deleted by somebody: {then} when it is gone'
        ready = deployment.condition(DeploymentCondition.READY)
        left = f" ({ready.message})" if ready is not None and ready.reason == DeploymentReason.REMOVING else ""
        return Waiting(Reason.INSTALLING, message + left, RESYNC_DELAY)
    return None


def _not_owned_problem(world: World, name: str, owner: str) -> OlmError:
    """A BundleDeployment of this name that is somebody else's is never taken over."""
    text = f'BundleDeployment "{name}" exists already'
    if owner == f'Operator "{world.operator.metadata.name}"':
        message = f"{text} and is left from an earlier Operator of this name: waiting until it is gone"
        return Waiting(Reason.RETRYING, message, RESYNC_DELAY)
    whose = f"is owned by {owner}" if owner else "is owned by no Operator"
    message = f"{text} and {whose}: delete it, or create the Operator under another name"
    return Blocked(Reason.INSTALLATION_FAILED, message)
