"""Installs the bundle of a source with a BundleDeployment of its own: applies it, sends the archive, and waits until it is Ready.

A BundleDeployment that `olm` has applied before is changed, whatever became of it. One of an Operator is left alone.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from olmctl.bundle.archive import Archive
from olmctl.bundle.install_options import options_for
from olmctl.bundle.requirements import missing_requirements
from olmctl.bundle.sending import check_access, send
from olmctl.bundle.source import BundleSource
from olmctl.bundle.upload import sent
from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError, fail, warn
from olmctl.operators.follow import follow, objects_of, versions_of
from olmctl.operators.operator_conditions import override_hold
from olmctl.questions.controller_state import RUKPAK, not_running
from olmctl.questions.left_installations import (
    DEPLOYMENT_RESOURCE,
    RETRIED,
    LeftInstallation,
    is_rolled_back,
    left_installations,
    pending_rollback,
    retry_command,
    way_back,
)
from olmctl.questions.operator_state import condition, is_observed, is_terminating, is_true, part, text_at
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.packages import installed_packages
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import ProgressLine, say
from olmkit.api import bundledeployments, bundles, operators
from olmkit.api.bundledeployments import OWNER_NAME_LABEL, Reason
from olmkit.api.content import Phase
from olmkit.api.meta import Object, controlling_owner
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import ApiError, Conflict, Forbidden, NotFound

NOT_SEEN = "waiting for rukpak"
REFUSED_PODS_SECONDS = 20
"""The time after which the wait ends because the API server refuses pods. It may end by itself, as a quota that others use does,
but a PriorityClass that does not exist needs a person."""
_OF_NO_OBJECT = "1"
"""A resourceVersion that no object has: the API server applies what names it only as a new object."""
_OTHER_NAME = "choose another name with --name"
_FORCE = ", or use --force"


@dataclass(frozen=True)
class Request:
    """The BundleDeployment that has the bundle, and how far to go."""

    name: str
    source: BundleSource
    settings: Mapping[str, Any]
    """Fields of its spec that say how the bundle is installed."""
    is_forced: bool
    seconds: float
    is_watched: bool = False
    """True if the next save ends the wait, so that it may be for what the cluster lacks."""

    def manifest(self) -> Object:
        """The BundleDeployment to apply."""
        kind = bundledeployments.KIND
        spec = {"provisionerClassName": PLAIN, "template": self.source.template(), **self.settings}
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": self.name}, "spec": spec}


def with_kept_namespace(request: Request, existing: Object | None) -> Request:
    """The same with the install namespace of what is there, unless another one is asked for: a move deletes the old one."""
    key = "installNamespace"
    known = text_at(existing, "spec", key)
    return replace(request, settings={key: known, **request.settings}) if known else request


def moved_from(request: Request, existing: Object | None) -> str:
    """Say what becomes of the namespace that the installation leaves; "" if it leaves none."""
    old, new = text_at(existing, "status", "installNamespace"), text_at(request.settings, "installNamespace")
    if not old or not new or old == new:
        return ""
    rest = f"{old} is deleted, unless it was there before or has objects of others"
    return clean(f"{request.name} moves from namespace {old} to {new}: {rest}")


class _Changed(CommandError):
    """The BundleDeployment has another bundle than the one that was applied: what the command has to say is not about it."""


async def install(session: Session, request: Request) -> Object:
    """Install the bundle, and print each step; returns the BundleDeployment when it is Ready. Raises CommandError."""
    deadline = session.time.deadline(request.seconds)
    if request.source.archive is not None:
        await check_access(session)
    await _check_requirements(session, request)
    existing = await _existing(session, request, deadline)
    request = with_kept_namespace(request, existing)
    if move := moved_from(request, existing):
        warn(move)
    if existing is None and request.source.package and not request.is_forced:
        await _check_package(session, request)
    if request.is_forced:
        await override_hold(session, existing, "olm bundle --force")
    applied = await _create(session, request) if existing is None else None
    if applied is None:
        existing = existing or await _existing(session, request, deadline)
        request = with_kept_namespace(request, existing)
        applied = await _apply(session, request, existing)
    try:
        return await _finish(session, request, applied, deadline)
    except asyncio.CancelledError:
        if not request.is_watched and not session.time.limits.expired():
            hint = ways(request.name, request.source, existing, None)
            fail(
                f"interrupted: BundleDeployment {request.name} stays, and the cluster continues to install it ({hint})"
            )
        raise
    except _Changed:
        raise
    except CommandError as error:
        text = await _failure(session, request, error, existing, await _unchanged(session, applied))
        raise CommandError(error.status, text) from error


async def _failure(
    session: Session, request: Request, error: CommandError, existing: Object | None, found: Object | None
) -> str:
    """The error with the commands that help. `existing`: the BundleDeployment before the run; `found`: as it is."""
    again = f"olm why {request.name} explains it, the next save is tried"
    hint = again if request.is_watched else ways(request.name, request.source, existing, found)
    is_unseen = error.status == TIMED_OUT and str(error).endswith(NOT_SEEN)
    problem = await not_running(session, RUKPAK) if is_unseen else ""
    return "\n".join((f"{error}{f', but {problem}' if problem else ''} ({hint})", *options_for(found)))


def ways(name: str, source: BundleSource, existing: Object | None, found: Object | None) -> str:
    """The commands for an installation that failed or was interrupted. The removal of what ran before is not advised.
    `existing`: the BundleDeployment before it; `found`: as it is, None if that is not known."""
    asked = part(source.template(), "spec", "source")
    if found is not None and is_rolled_back(found):
        again = f"{retry_command(name, source.shown)} {RETRIED}"
        return clean(f"olm why {name} explains it, a corrected bundle is tried at once, {again}")
    if pending := pending_rollback(found):
        return clean(f"olm why {name} explains it, {pending}")
    back, before = way_back(found, asked), way_back(existing, asked)
    if back is None and before is not None:
        back = replace(
            before, upload="", is_replaced=before.is_replaced or part(found or {}, "status", "installed") is not None
        )
    if back is None:
        return f"olm why {name} explains it, olm bundle cleanup {name} removes the BundleDeployment"
    is_whole = part(found or {}, "status", "appliedDigest") and not back.is_replaced
    running = f"{back.name} continues to run, " if is_whole else ""
    return clean(f"{running}olm why {name} explains it, {back.command(name)} {back.effect}")


async def _unchanged(session: Session, applied: Object) -> Object | None:
    """The BundleDeployment; None if it cannot be read. Raises CommandError if it has another bundle by now, so that what failed
    is not about it."""
    try:
        found = await session.client.get(bundledeployments.KIND, applied["metadata"]["name"])
    except ApiError:
        return None
    check_unchanged(applied, found)
    return found


async def _check_requirements(session: Session, request: Request) -> None:
    """Raises CommandError if the cluster lacks what the bundle requires; only warns if the request is forced or watched."""
    facts = request.source.facts
    if facts is not None and facts.problem:
        warn(clean(f"the dependencies of {request.source.shown} cannot be read: {facts.problem}"))
    missing = [clean(each) for each in await missing_requirements(session, facts, request.manifest())]
    if missing and not (request.is_forced or request.is_watched):
        lines = "\n".join(
            ("nothing is installed, because requirements are missing:", *(f"  {each}" for each in missing))
        )
        raise CommandError(REFUSED, f"{lines}\n--force installs it nevertheless")
    for each in missing:
        warn(each)


async def _existing(session: Session, request: Request, deadline: float) -> Object | None:
    """The BundleDeployment of the name; None if there is none, or when the one that is being deleted is gone. Raises CommandError
    if it belongs to an Operator, or to others."""
    try:
        found = await session.client.get(bundledeployments.KIND, request.name)
    except NotFound:
        return None
    if (owner := controlling_owner(found)) is not None:
        raise owner_error(found, owner, request.source.package)
    if not is_terminating(found):
        return found

    def message(each: Object | None) -> str | None:
        if each is None or each["metadata"]["uid"] != found["metadata"]["uid"]:
            return None
        return f"is being deleted: {text_at(condition(each, 'Ready'), 'message')}"

    late = f"not within {request.seconds:g} seconds: it {{}}"
    await follow(session, bundledeployments.KIND, request.name, deadline, message, late)
    return None


async def _check_package(session: Session, request: Request) -> None:
    """Raises CommandError if the package is installed under another name: its objects exist once. What the user may not list is
    not checked."""
    package = request.source.package
    try:
        known = (await installed_packages(session)).get(package, [])
    except Forbidden:
        known = []
    if known:
        name = text_at(known[0], "metadata", "name")
        raise _is_installed(package, f"Operator {name}", f"olm uninstall {name}", _FORCE)
    left = [each for each in await left_installations(session) if each.package == package]
    if left:
        raise left_error(left[0])


def left_error(left: LeftInstallation) -> CommandError:
    """The error about a package that a BundleDeployment of another name has: that one can be changed, if `olm` has made it."""
    place = f"BundleDeployment {left.name}"
    if not left.is_run:
        return _is_installed(left.package, place, "", _FORCE)
    text = f"package {left.package} is installed by {place}, and its objects exist once: --name {left.name} changes that one"
    return CommandError(REFUSED, clean(f"{text}{_FORCE}"))


def owner_error(found: Object, owner: Object, package: str) -> CommandError:
    """The error about a BundleDeployment that belongs to an owner: with another name the same package is refused too."""
    kind, name, own = text_at(owner, "kind"), text_at(owner, "name"), LeftInstallation(found)
    if kind == operators.KIND.kind and package == own.package != "":
        return _is_installed(package, f"Operator {name}", f"olm uninstall {shlex.quote(name)}")
    return CommandError(REFUSED, f"BundleDeployment {own.name} belongs to {kind} {name}: {_OTHER_NAME}")


def _is_installed(package: str, place: str, command: str, otherwise: str = "") -> CommandError:
    """The error about a package that is installed already, with the command that removes it, if `olm` has one."""
    text = f"package {package} is installed by {place}, and its objects exist once: remove that one first"
    return CommandError(REFUSED, clean(f"{text}{f' ({command})' if command else ''}{otherwise}"))


async def _create(session: Session, request: Request) -> Object | None:
    """Create the BundleDeployment; None if there is one of this name meanwhile, maybe of another package."""
    manifest = request.manifest()
    manifest["metadata"]["resourceVersion"] = _OF_NO_OBJECT
    try:
        applied = await session.client.apply(bundledeployments.KIND, manifest, FIELD_MANAGER, force=request.is_forced)
    except Conflict:
        return None
    say(f"{DEPLOYMENT_RESOURCE}/{request.name} created", flush=True)
    return applied


async def _apply(session: Session, request: Request, existing: Object | None) -> Object:
    """Apply the BundleDeployment; returns it. Raises CommandError if others manage its fields."""
    check_kept_package(request, existing)
    try:
        applied = await session.client.apply(
            bundledeployments.KIND, request.manifest(), FIELD_MANAGER, force=request.is_forced
        )
    except Conflict as error:
        hint = f"{_OTHER_NAME}, or take these fields over with --force"
        raise CommandError(REFUSED, f"{request.name}: {error.message}: {hint}") from error
    is_same = existing is not None and existing["metadata"]["generation"] == applied["metadata"]["generation"]
    verb = "created" if existing is None else "unchanged" if is_same else "configured"
    say(f"{DEPLOYMENT_RESOURCE}/{request.name} {verb}", flush=True)
    return applied


def check_kept_package(request: Request, existing: Object | None) -> None:
    """Raises CommandError if the BundleDeployment has a package, and the bundle another one or none: the installed one would be
    removed, with its custom resources."""
    package = LeftInstallation(existing).package if existing is not None else ""
    is_other = request.source.owner is not None and package != request.source.package
    if package and is_other and not request.is_forced:
        text = f"BundleDeployment {request.name} is of package {package}, and this bundle {request.source.owner}"
        raise CommandError(REFUSED, clean(f"{text}: {_OTHER_NAME}{_FORCE}"))


async def _finish(session: Session, request: Request, applied: Object, deadline: float) -> Object:
    """Send the archive, if there is one, to the Bundle of the BundleDeployment, and wait until that is Ready."""
    if request.source.archive is not None:
        await _upload(session, request, applied, request.source.archive, deadline)
    found = await _ready(session, request, applied, deadline)
    message = text_at(condition(found, "Ready"), "message")
    say(f"{DEPLOYMENT_RESOURCE}/{request.name} installed: {clean(message)}", flush=True)
    return found


async def _upload(session: Session, request: Request, applied: Object, archive: Archive, deadline: float) -> None:
    line = ProgressLine()
    try:
        bundle = await _bundle(session, request, applied, archive, deadline)
        name = text_at(bundle, "metadata", "name")
        is_new = False
        if text_at(bundle, "status", "phase") != Phase.UNPACKED:
            line.show(f"{request.name}: uploading {archive}")
            is_new = await send(session, name, archive, has_digest=True)
    finally:
        line.end()
    say(sent(name, is_new=is_new), flush=True)


async def _bundle(session: Session, request: Request, deployment: Object, archive: Archive, deadline: float) -> Object:
    """The Bundle that rukpak creates for the archive, as soon as it exists. Raises CommandError, also if rukpak says that it
    creates none."""
    created = asyncio.ensure_future(_created_bundle(session, request, deployment, archive))
    refused = asyncio.ensure_future(_bundle_of_refusal(session, request, deployment, archive))
    try:
        async with asyncio.timeout_at(deadline):
            await asyncio.wait({created, refused}, return_when=asyncio.FIRST_COMPLETED)
        return created.result() if created.done() else refused.result()
    except TimeoutError:
        pass
    finally:
        for task in (created, refused):
            task.cancel()
        await asyncio.gather(created, refused, return_exceptions=True)
    last = await session.client.get(bundledeployments.KIND, request.name)
    check_unchanged(deployment, last)
    message = text_at(condition(last, "Ready"), "message") or NOT_SEEN
    text = f"{request.name}: not within {request.seconds:g} seconds: rukpak has created no Bundle: {message}"
    raise CommandError(TIMED_OUT, clean(text))


async def _created_bundle(session: Session, request: Request, deployment: Object, archive: Archive) -> Object:
    """The Bundle when it exists."""
    async with aclosing(objects_of(session.client, bundles.KIND, label_selector=_selector(request))) as found:
        async for each in found:
            if _is_bundle(each, deployment, archive):
                return each
    raise AssertionError("objects_of() never ends")


async def _bundle_of_refusal(session: Session, request: Request, deployment: Object, archive: Archive) -> Object:
    """The Bundle when the BundleDeployment says that something is in the way, which an upload may change. Raises CommandError
    with that if there is no Bundle."""
    async with aclosing(versions_of(session.client, bundledeployments.KIND, request.name)) as found:
        async for each in found:
            try:
                check_progress(request, deployment, each)
            except CommandError:
                listed, _ = await session.client.list(bundles.KIND, label_selector=_selector(request))
                own = next((one for one in listed if _is_bundle(one, deployment, archive)), None)
                if own is None:
                    raise
                return own
    raise AssertionError("versions_of() never ends")


def _selector(request: Request) -> str:
    return f"{OWNER_NAME_LABEL}={request.name}"


def _is_bundle(found: Object, deployment: Object, archive: Archive) -> bool:
    """Report whether it is the Bundle of the BundleDeployment with this archive."""
    owners, uid = part(found, "metadata", "ownerReferences") or (), deployment["metadata"]["uid"]
    is_own = any(owner.get("uid") == uid for owner in owners) and not is_terminating(found)
    return is_own and text_at(found, "spec", "source", "upload", "digest") == archive.digest


async def _ready(session: Session, request: Request, applied: Object, deadline: float) -> Object:
    """The BundleDeployment when it is Ready. Raises CommandError; also if the API server refuses its pods for some time."""
    last: Object = {}
    patience = asyncio.timeout(None)

    def message(found: Object | None) -> str | None:
        nonlocal last
        seen = check_progress(request, applied, found)
        if not seen:
            return NOT_SEEN
        last = seen
        ready = text_at(condition(last, "Ready"), "message")
        if not has_refused_pods(last) or pending_rollback(last):
            patience.reschedule(None)
        elif patience.when() is None:
            patience.reschedule(asyncio.get_running_loop().time() + REFUSED_PODS_SECONDS)
        return None if is_true(last, "Ready") else ready

    late = f"not within {request.seconds:g} seconds: {{}}"
    try:
        async with patience:
            await follow(session, bundledeployments.KIND, request.name, deadline, message, late)
    except TimeoutError:
        ready = text_at(condition(last, "Ready"), "message")
        rest = "the API server refuses its pods, which waiting does not change; the installation continues"
        raise CommandError(FAILED, f"{request.name}: {clean(ready)}; {rest}") from None
    return last


def check_progress(request: Request, applied: Object, found: Object | None) -> Object:
    """The BundleDeployment, if rukpak has reported on it as it was applied, else an empty object. Raises CommandError if nothing
    more becomes of it without a person."""
    if found is None or is_terminating(found):
        raise CommandError(FAILED, f"{request.name} was deleted")
    check_unchanged(applied, found)
    if not is_observed(found) or part(found, "metadata", "generation") < part(applied, "metadata", "generation"):
        return {}
    ready = text_at(condition(found, "Ready"), "message")
    if is_held(found) and not request.is_forced:
        raise CommandError(REFUSED, f"{request.name}: {clean(ready)}: --force writes this override")
    if is_true(found, "Stalled") or is_missing_image(request.source, ready):
        raise CommandError(FAILED, f"{request.name}: {clean(ready)}")
    return found


def has_refused_pods(found: Object) -> bool:
    """Report whether the API server refuses to create pods of the bundle."""
    return bool(part(found, "status", "refusedPods"))


def is_held(found: Object) -> bool:
    """Report whether the OperatorCondition of the installed bundle permits no upgrade: a person has to act."""
    return text_at(condition(found, "Ready"), "reason") == Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE


def is_missing_image(source: BundleSource, message: str) -> bool:
    """Report whether this message of the cluster says of the image what its registry said here: that it does not exist."""
    return bool(source.not_found) and source.not_found in message


def check_unchanged(applied: Object, found: Object) -> None:
    """Raises CommandError if the BundleDeployment has been given another bundle since it was applied, or was created again."""
    is_same = part(found, "metadata", "uid") == part(applied, "metadata", "uid")
    is_later = part(found, "metadata", "generation") > part(applied, "metadata", "generation")
    template = part(found, "spec", "template")
    if is_same and not (is_later and template != part(applied, "spec", "template")):
        return
    source = part(template, "spec", "source")
    bundle = text_at(source, "image", "ref") or text_at(source, "upload", "digest") or "another one"
    name = text_at(found, "metadata", "name")
    raise _Changed(FAILED, clean(f"{name} was changed by somebody else while waiting: its bundle is {bundle}"))
