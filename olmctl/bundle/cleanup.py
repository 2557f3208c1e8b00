"""`olm bundle cleanup PACKAGE`: delete what `olm bundle run` has installed, and nothing else, after naming it.

What was there before and was taken over stays, and so does what the bundle requires and did not bring: kinds of others, packages,
Namespaces that others use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from olmctl.bundle.installing import NOT_SEEN
from olmctl.bundle.run_installations import NothingRun, run_installation
from olmctl.commands import NOT_FOUND, CommandError, fail, warn
from olmctl.operators.follow import DeletedKind, wait_until_gone
from olmctl.operators.session import on_cluster
from olmctl.operators.uninstall import confirm_deletion
from olmctl.questions.controller_state import RUKPAK, not_running
from olmctl.questions.installed_objects import (
    NAMESPACE,
    InstalledObject,
    InstalledObjects,
    custom_resources,
    installed_objects,
)
from olmctl.questions.left_installations import DEPLOYMENT_RESOURCE, LeftInstallation
from olmctl.questions.operator_state import is_observed, is_protected, is_terminating, part, text_at
from olmctl.questions.removal import CASCADE, ORPHAN, consequences
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import KEEP_ADOPTED_ANNOTATION
from olmkit.api.meta import Object
from olmkit.api.operators import unprotect_command
from olmkit.api.ownership import is_adopted
from olmkit.api.required_namespaces import all_required_namespaces
from olmkit.errors import ApiError
from olmkit.fbc.schemas import GVK_REQUIRED, PACKAGE_REQUIRED
from operator_controller.resolve.package.package_content import kind_of
from operator_controller.resolve.requirements.bundle_constraints import recorded_properties_of

_HINT = (
    "the deletion continues; if the controller of a finalizer is gone for good, remove the finalizer with `kubectl edit`: what "
    "that controller would have cleaned up stays"
)


@on_cluster
async def cleanup(
    session: Session, package: str, is_confirmed: bool, dry_run: bool, ignore_not_found: bool, seconds: float
) -> int:
    """Delete what `olm bundle run` has installed for PACKAGE, with its CRDs and their custom resources, after naming it."""
    try:
        found = await run_installation(session, package)
    except NothingRun as error:
        problem = f"{error}{f': olm uninstall {error.operator} deletes it' if error.operator else ''}"
        if not ignore_not_found:
            raise CommandError(NOT_FOUND, problem) from error
        say(problem, err=True)
        return 0
    deployments, _ = await session.client.list(bundledeployments.KIND)
    everything = await installed_objects(session, found.deployment, all_required_namespaces(deployments))
    objects, adopted = without_adopted(everything)
    counts = await custom_resources(session, objects.objects, [found.deployment])
    policy = str(part(found.deployment, "spec", "deletionPolicy") or CASCADE)
    is_in_use = policy == CASCADE and (any(each.count != 0 for each in counts) or bool(objects.problems))
    runs = " ".join(filter(None, (found.package, text_at(found.deployment, "status", "installed", "version"))))
    say(f"BundleDeployment {found.name} ({clean(runs) or 'no package'}) will be deleted.", err=not dry_run)
    returned = adopted if policy != ORPHAN else ()
    for line in (
        *consequences(objects, counts, policy),
        *_protection(found, is_in_use),
        *map(_returned, returned),
        *left(found, objects),
    ):
        say(line, err=not dry_run)
    if dry_run:
        return 0
    if is_in_use and not is_confirmed:
        confirm_deletion(session, found.name)
    if adopted:
        metadata = {"uid": found.deployment["metadata"]["uid"], "annotations": {KEEP_ADOPTED_ANNOTATION: "true"}}
        await session.client.patch(bundledeployments.KIND, found.name, {"metadata": metadata})
    if not is_terminating(found.deployment):
        await session.client.delete(bundledeployments.KIND, found.name, uid=found.deployment["metadata"]["uid"])
    await _wait(session, found.name, seconds)
    return 0


async def _wait(session: Session, name: str, seconds: float) -> None:
    """Wait until the BundleDeployment is gone. Raises CommandError with what is waited for."""
    problem = await not_running(session, RUKPAK)
    if problem:
        warn(f"{problem}: BundleDeployment {name} is deleted when it runs again (olm suite status)")
    deleted = DeletedKind(bundledeployments.KIND, DEPLOYMENT_RESOURCE, problem or NOT_SEEN)
    try:
        await wait_until_gone(session, [name], seconds, deleted)
    except CommandError as error:
        rest = "" if problem else what_is_late(await _read(session, name), await not_running(session, RUKPAK))
        raise CommandError(error.status, f"{error}{rest}") from error
    except asyncio.CancelledError:
        if not session.time.limits.expired():
            fail(f"interrupted: the cluster continues to delete BundleDeployment {name}")
        raise


async def _read(session: Session, name: str) -> Object:
    try:
        return await session.client.get(bundledeployments.KIND, name)
    except ApiError:
        return {}


def what_is_late(found: Object, problem: str) -> str:
    """The end of the error about a deletion that takes too long, of which rukpak has reported what it waits for, or nothing.
    `problem`: rukpak does not run; "" if it does."""
    has_reported = is_terminating(found) and is_observed(found)
    if problem or not has_reported:
        late = problem or "it has not reported on the deletion yet"
        return f", but {late}: the BundleDeployment is deleted when rukpak runs (olm suite status)"
    return f"\n{_HINT}"


def without_adopted(found: InstalledObjects) -> tuple[InstalledObjects, tuple[InstalledObject, ...]]:
    """Divide objects into those that were installed, and those that were there before; the Namespaces of these stay too."""
    adopted = tuple(each for each in found.objects if is_adopted(each.obj))
    own = tuple(each for each in found.objects if each not in adopted)
    kept = {each.namespace for each in adopted}
    return replace(found, objects=own, deleted_namespaces=found.deleted_namespaces - kept), adopted


def _returned(each: InstalledObject) -> str:
    place = f"{each.namespace}/{each.name}" if each.namespace else each.name
    return f"  {clean(f'{each.kind.kind} {place}')} will stay: it was there before, and was taken over"


def _protection(found: LeftInstallation, is_in_use: bool) -> Iterator[str]:
    if is_in_use and is_protected(found.deployment):
        text = "It is protected: the deletion will be refused as long as there are custom resources. To remove the protection"
        yield f"{text}: {unprotect_command(bundledeployments.KIND, found.name)}"


def left(found: LeftInstallation, objects: InstalledObjects) -> Iterator[str]:
    """The lines about what stays: Namespaces that are not its own alone, what it has released, and what it requires of others."""
    for each in objects.objects:
        if each.kind == NAMESPACE and each.name not in objects.deleted_namespaces:
            yield f"  Namespace {clean(each.name)} will stay: it was there before, others use it, or it is to be kept"
    for each in part(found.deployment, "status", "released") or ():
        yield f"  {clean(text_at(each, 'kind'))} {clean(text_at(each, 'name'))} will stay: it is in use"
    for recorded in recorded_properties_of(text_at(found.deployment, "status", "installed", "properties")):
        if recorded.type == GVK_REQUIRED and (kind := kind_of(recorded.value)):
            yield f"  {clean(str(kind))} will stay: the bundle requires this kind, and has not brought it"
        if recorded.type == PACKAGE_REQUIRED and (name := text_at(recorded.value, "packageName")):
            yield f"  package {clean(name)} will stay: the bundle requires it, and has not brought it"
