"""Finds the reason that prevents the installation of an Operator's bundle now, and whether the installation waits or a person has
to act.

Chooses no bundle and plans nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from olmkit.api.names import digest_of_reference
from olmkit.api.operators import Reason
from olmkit.errors import Blocked, OlmError, Waiting
from operator_controller.operator.adoption import adopt_command, is_of_package
from operator_controller.operator.bundle_deployment import PROVISIONER_BY_MEDIA_TYPE
from operator_controller.operator.delays import RESYNC_DELAY
from operator_controller.operator.world import World
from operator_controller.resolve.answers.answer import Answer, SelectedBundle
from operator_controller.resolve.formatting import first_names
from operator_controller.resolve.package.package_content import DEFAULT_MEDIA_TYPE


def resolution_blocker(world: World, answer: Answer) -> OlmError:
    """Explain why a refused Operator is not installed: Waiting, or Blocked if a person has to change something."""
    spec = world.operator.spec
    requested = (spec.package_name, ",".join(spec.followed_channels), spec.version or "")
    subject = [answer.kind, " ".join(requested), *(each.subject for each in answer.clauses), *answer.awaited_deletions]
    if answer.awaited:
        return Waiting(Reason.WAITING_FOR_OPERATORS, answer.message, RESYNC_DELAY, subject)
    if answer.is_final:
        return _blocked_unless_stale(world, Reason.RESOLUTION_FAILED, answer.message, subject)
    return Waiting(Reason.WAITING_FOR_CATALOG, answer.message, RESYNC_DELAY, subject)


def _blocked_unless_stale(world: World, reason: Reason, message: str, subject: Iterable[str]) -> OlmError:
    """The error if only new content of a catalog helps: Blocked, or Waiting while a catalog is being read again or waits for its
    new content.
    """
    resolution = world.resolution
    if resolution is None or not (resolution.needs_recheck or resolution.outdated_catalogs):
        return Blocked(reason, message, subject)
    return Waiting(Reason.WAITING_FOR_CATALOG, message + awaited_content(world), RESYNC_DELAY, subject)


def awaited_content(world: World) -> str:
    """Name the catalogs whose new content may change a refusal soon, as the end of its message; "" if there are none."""
    outdated = world.resolution.outdated_catalogs if world.resolution is not None else ()
    if not outdated:
        return ""
    catalogs = f"catalog {outdated[0]} serves" if len(outdated) == 1 else f"catalogs {first_names(outdated)} serve"
    return f"; {catalogs} old content until the new content is read"


def unknown_media_type(world: World, bundle: SelectedBundle) -> OlmError | None:
    """The error for a bundle in a format that rukpak does not know."""
    if bundle.media_type in PROVISIONER_BY_MEDIA_TYPE:
        return None
    message = f"unknown bundle mediatype: {bundle.media_type}"
    return _blocked_unless_stale(world, Reason.INSTALLATION_FAILED, message, [bundle.media_type])


def rejected_content(world: World, bundle: SelectedBundle) -> OlmError | None:
    """Return the error that rukpak would report after unpacking, according to an earlier rejection of the same image."""
    running = world.running
    if bundle.media_type != DEFAULT_MEDIA_TYPE or (running is not None and running.name == bundle.name):
        return None
    rejection = world.rejected_images.get(digest_of_reference(bundle.image), "")
    if not rejection:
        return None
    return _blocked_unless_stale(world, Reason.INSTALLATION_FAILED, rejection, [bundle.image])


def bundle_deployment_blocker(world: World, bundle: SelectedBundle | None) -> OlmError | None:
    """Explain why the BundleDeployment cannot be written: it belongs to another owner, or is being deleted."""
    deployment = world.bundle_deployment
    if deployment is None:
        return None
    name, owner = deployment.model.metadata.name, deployment.controller
    if world.owned_bundle_deployment is None:
        return _not_owned_blocker(world, name, f'{owner.kind} "{owner.name}"' if owner else "")
    if deployment.model.metadata.deleting:
        then = f"{bundle.version} will be installed again" if bundle else "a version will be selected"
        message = f'BundleDeployment "{name}" is being deleted: {then} when the deletion is complete'
        ready = deployment.condition(DeploymentCondition.READY)
        is_reported = ready is not None and ready.reason in (DeploymentReason.REMOVING, DeploymentReason.DELETION_HELD)
        left = f" ({ready.message})" if ready is not None and is_reported else ""
        return Waiting(Reason.INSTALLING, message + left, RESYNC_DELAY)
    return None


def _not_owned_blocker(world: World, name: str, owner: str) -> OlmError:
    """The error for a BundleDeployment of this name that the Operator does not own. It is never adopted from another owner, and
    only on request if it has no owner."""
    text = f'BundleDeployment "{name}" already exists'
    if owner == f'Operator "{world.operator.metadata.name}"':
        message = f"{text} and belongs to an earlier Operator of this name: waiting for its deletion"
        return Waiting(Reason.RETRYING, message, RESYNC_DELAY, [name])
    deployment, another = world.bundle_deployment, f"create the {world.terms.kind} under another name"
    if owner:
        message = f"{text} and is owned by {owner}: {another}, or delete it there"
    elif deployment is not None and not is_of_package(world, deployment):
        package = deployment.annotations[PACKAGE_ANNOTATION]
        message = (
            f'{text} and is of package "{package}", whose Operator was deleted without it: {another}, or create one for '
            f'"{package}"'
        )
    else:
        way = f"to have this Operator take it over, run {adopt_command(name)}"
        message = f"{text} and is owned by no Operator: {way}; or {another}"
    return Blocked(Reason.INSTALLATION_FAILED, message, [f"{name} of {owner}"])
