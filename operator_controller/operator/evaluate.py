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
from operator_controller.resolve.formatting import versions_text
from operator_controller.resolve.package import DEFAULT_MEDIA_TYPE
from operator_controller.resolve.resolution import Resolution
from operator_controller.resolve.resolver import Asked, Candidate, Chosen, Decision, Follow, Kept, Outcome, Snapshot
from operator_controller.resolve.version_range import EXAMPLES, MastermindsRange

PROVISIONERS = {"registry+v1": REGISTRY, "plain+v0": PLAIN}
"""Who unpacks a bundle, by its media type."""
CATALOG_AGAIN = timedelta(seconds=10)
"""A catalog that is away is asked again: no event tells when it answers."""
WATCHED_AGAIN = timedelta(minutes=10)
"""The net under what events tell of."""
NAMED = 5
"""Webhooks or API services that a message names."""
SETTLE = timedelta(seconds=5)
"""The net under an event that is on its way."""
UNSEEN_LIMIT = timedelta(seconds=30)
"""How long an active Bundle that is not there counts as on its way."""

SPEC_INVALID = "validation has not been attempted as spec is invalid"
NOT_ATTEMPTED_INVALID = "installation has not been attempted as spec is invalid"
NOT_ATTEMPTED = "installation has not been attempted as resolution failed"


@dataclass(frozen=True)
class Verdict:
    """The Resolved condition, the explanation for people, the bundle to install, and what keeps it from being asked for."""

    resolved: DesiredCondition
    explanation: str
    candidate: Candidate | None = None
    image: str = ""
    """Image of what was resolved; empty when nothing was."""
    problem: OlmError | None = None
    """Blocked or Waiting: nothing is written now."""
    not_attempted: str = NOT_ATTEMPTED
    """What Installed says while nothing runs and nothing was resolved."""
    why: str = ""
    """What made the candidate the one, in a few words."""
    ready: Reason = Reason.SUCCEEDED
    """Why it is Ready when what was resolved is installed and well."""
    followed: str = ""
    """Which Catalog took the place of a deleted one, in a sentence; empty when none did."""
    follow: Follow | None = None
    """The same as a value."""

    @property
    def is_resolved(self) -> bool:
        """A bundle was found."""
        return self.resolved.status == "True"


class Settling(Waiting):
    """Known in a moment and no news for anybody: the status stays as it is."""


def judge(world: World) -> Verdict:
    """The verdict on the spec as it is. Not for an Operator that is being deleted.

    Evaluates no upgrade graph: the World holds the Resolution. Raises ValueError when it lacks the one that question() asks for.
    """
    refusal = _refused_at_once(world)
    if refusal is not None:
        return refusal
    if world.resolution is None:
        raise ValueError("the World holds no answer to its question")
    words, follow = world.resolution.words, world.resolution.decision.follow
    return replace(_resolved(world, world.resolution), followed=words.followed, follow=follow)


def question(world: World) -> Snapshot | None:
    """What has to be resolved for this World; None when nothing has to be."""
    if world.operator.metadata.deleting or _refused_at_once(world) is not None:
        return None
    return snapshot(world, _asked(world))


def _asked(world: World) -> Asked:
    """Raises BadRange."""
    spec = world.operator.spec
    versions = MastermindsRange.parse(spec.version) if spec.version else None
    return Asked(spec.package_name, spec.channel or "", versions)


def _refused_at_once(world: World) -> Verdict | None:
    """What can be said without looking at any catalog."""
    unseen = _unseen(world)
    if unseen is not None:
        return _unresolved(unseen.message, unseen)
    try:
        _asked(world)
    except BadRange as error:
        return _invalid(f"spec.version: {error}; {EXAMPLES}")
    refusal = _refuse_second(world) or _refuse_other_package(world)
    return None if refusal is None else _unresolved(refusal.message, refusal)


def _unseen(world: World) -> OlmError | None:
    """The active Bundle is not there: on its way at first, then missing. What is recorded of it does to go on with."""
    name = world.unseen_bundle
    if not name:
        return None
    if world.unseen_since is None or world.now - world.unseen_since < UNSEEN_LIMIT:
        return Settling(Reason.RETRYING, f'the Bundle "{name}" that is installed cannot be seen yet', SETTLE)
    if world.running is not None:
        return None
    message = (
        f'the Bundle "{name}" that is installed is missing, and it is recorded nowhere which version it was: no version is '
        f'chosen until BundleDeployment "{world.operator.metadata.name}" has installed the one that it asks for'
    )
    return Waiting(Reason.RETRYING, message, WATCHED_AGAIN)


def _invalid(message: str) -> Verdict:
    resolved = DesiredCondition(ConditionType.RESOLVED, "Unknown", Reason.RESOLUTION_UNKNOWN, SPEC_INVALID)
    return Verdict(
        resolved, message, problem=Blocked(Reason.NOT_RESOLVED, message), not_attempted=NOT_ATTEMPTED_INVALID
    )


def _unresolved(message: str, problem: OlmError, explanation: str = "") -> Verdict:
    resolved = DesiredCondition(ConditionType.RESOLVED, "False", Reason.RESOLUTION_FAILED, message)
    return Verdict(resolved, explanation or message, problem=problem)


def _refuse_second(world: World) -> OlmError | None:
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
    if senior.is_leaving:
        return Waiting(Reason.RETRYING, f"{message}, which is being deleted", WATCHED_AGAIN)
    return Blocked(Reason.RESOLUTION_FAILED, message + rest)


def _refuse_other_package(world: World) -> OlmError | None:
    """Another package in place of an installed one would remove what the first one brought, kinds and all."""
    running, asked = world.running, world.operator.spec.package_name
    if running is None or running.package in ("", asked):
        return None
    return Blocked(
        Reason.RESOLUTION_FAILED,
        f'package "{running.package}" is installed by this Operator and "{asked}" is asked for: set spec.packageName back to '
        f'"{running.package}", or delete this Operator and create another one for "{asked}"',
    )


def snapshot(world: World, asked: Asked) -> Snapshot:
    """The part of the World that resolution looks at."""
    deployment, running = world.owned, world.running
    notes = deployment.annotations if deployment else {}
    own = notes if notes.get(PACKAGE_ANNOTATION) == asked.package else {}
    is_between = deployment is not None and _is_between(world)
    return Snapshot(
        asked=asked,
        offers=world.offers,
        running=running,
        under_way=own.get(BUNDLE_NAME_ANNOTATION, "") if is_between else "",
        preferred_catalog=own.get(CATALOG_ANNOTATION, ""),
    )


def _is_between(world: World) -> bool:
    """Whether some objects of the wanted bundle are in place, and not all."""
    deployment = world.owned
    reconciling = deployment.condition(DeploymentCondition.RECONCILING) if deployment else None
    return (
        world.running is not None
        and reconciling is not None
        and reconciling.status == "True"
        and reconciling.reason == DeploymentReason.UPGRADING
    )


def _resolved(world: World, resolution: Resolution) -> Verdict:
    decision, words = resolution.decision, resolution.words
    if not words.is_resolved:
        return _unresolved(words.message, _refusal(world, decision, words.message), words.explanation)
    resolved = DesiredCondition(ConditionType.RESOLVED, "True", Reason.SUCCESS, words.message)
    outcome = decision.outcome
    if not isinstance(outcome, Chosen):
        image = world.running.image if world.running else ""
        ready, problem = _ready_without_home(outcome), _bad_deployment(world, None)
        return Verdict(resolved, words.explanation, image=image, problem=problem, ready=ready)
    candidate = outcome.candidate
    return Verdict(
        resolved,
        words.explanation,
        candidate,
        candidate.bundle.image,
        _bad_media_type(world, candidate) or _unsupported(world, outcome) or _bad_deployment(world, candidate),
        why=words.why,
    )


def _ready_without_home(outcome: Outcome) -> Reason:
    """What runs is well, and yet its catalog leads nowhere now."""
    if isinstance(outcome, Kept) and outcome.is_not_offered:
        return Reason.NOT_OFFERED
    is_deleted = isinstance(outcome, Kept) and outcome.home is None
    return Reason.CATALOG_DELETED if is_deleted else Reason.CATALOG_UNAVAILABLE


def _refusal(world: World, decision: Decision, message: str) -> OlmError:
    if decision.is_settled:
        return _for_good(world, Reason.RESOLUTION_FAILED, message)
    after = CATALOG_AGAIN if world.is_lagging else WATCHED_AGAIN
    return Waiting(Reason.WAITING_FOR_CATALOG, message, after)


def _for_good(world: World, reason: Reason, message: str) -> OlmError:
    """Only new content can lift it; while no event would tell of that, the catalog is asked again."""
    if world.is_lagging:
        return Waiting(Reason.WAITING_FOR_CATALOG, message, CATALOG_AGAIN)
    return Blocked(reason, message)


def _bad_media_type(world: World, candidate: Candidate) -> OlmError | None:
    media_type = candidate.bundle.media_type
    if media_type in PROVISIONERS:
        return None
    return _for_good(world, Reason.INSTALLATION_FAILED, f"unknown bundle mediatype: {media_type}")


def _unsupported(world: World, chosen: Chosen) -> OlmError | None:
    """What rukpak would refuse after unpacking, as far as the catalog says or rukpak has said of the same image before."""
    candidate, bundle, running = chosen.candidate, chosen.candidate.bundle, world.running
    if bundle.media_type != DEFAULT_MEDIA_TYPE or (running is not None and running.name == bundle.name):
        return None
    remembered = world.refusals.get(digest_of_reference(bundle.image), "")
    if remembered:
        return _for_good(world, Reason.INSTALLATION_FAILED, remembered)
    if not bundle.needs_certificates:
        return None
    known = (("has webhooks", bundle.webhooks), ("owns API services", bundle.api_services))
    what = " and ".join(f"{words} ({_few(names)})" for words, names in known if names)
    refused = f'bundle "{bundle.name}" {what}, which are not supported yet'
    as_plain = "install its manifests as a plain+v0 bundle that brings its own certificates"
    if chosen.without_certificates:
        versions = versions_text(chosen.without_certificates, candidate.version)
        message = f"{refused}: choose a version for which the catalog names none ({versions}), or {as_plain}"
    else:
        none = f'catalog "{candidate.catalog}" offers no version without them that can be installed now'
        message = f"{refused}: {none}; {as_plain}"
    return _for_good(world, Reason.INSTALLATION_FAILED, message)


def _few(names: Sequence[str]) -> str:
    """As rukpak names them."""
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*sorted(names)[:NAMED], *more])


def _bad_deployment(world: World, candidate: Candidate | None) -> OlmError | None:
    """Why the BundleDeployment cannot be written: it is somebody else's, or going."""
    deployment = world.deployment
    if deployment is None:
        return None
    name, owner = deployment.model.metadata.name, deployment.controller
    if world.owned is None:
        return _stranger(world, name, f'{owner.kind} "{owner.name}"' if owner else "")
    if deployment.model.metadata.deleting:
        then = f"{candidate.version} is installed again" if candidate else "what is installed then is chosen"
        message = f'BundleDeployment "{name}" is being deleted by somebody: {then} when it is gone'
        ready = deployment.condition(DeploymentCondition.READY)
        left = f" ({ready.message})" if ready is not None and ready.reason == DeploymentReason.REMOVING else ""
        return Waiting(Reason.INSTALLING, message + left, WATCHED_AGAIN)
    return None


def _stranger(world: World, name: str, owner: str) -> OlmError:
    """A BundleDeployment of this name that is somebody else's is never taken over."""
    text = f'BundleDeployment "{name}" exists already'
    if owner == f'Operator "{world.operator.metadata.name}"':
        message = f"{text} and is left from an earlier Operator of this name: waiting until it is gone"
        return Waiting(Reason.RETRYING, message, WATCHED_AGAIN)
    whose = f"is owned by {owner}" if owner else "is owned by no Operator"
    message = f"{text} and {whose}: delete it, or create the Operator under another name"
    return Blocked(Reason.INSTALLATION_FAILED, message)
