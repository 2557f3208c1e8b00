"""`olm bundle run DIRECTORY`: install the bundle in a directory of this machine, and with --watch again whenever it is saved.

Applies a BundleDeployment whose source is an upload by digest, sends the archive to the Bundle that rukpak creates for it, and
waits until the BundleDeployment is Ready.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import yaml

from olmctl.bundle.archive import Archive, pack_bundle
from olmctl.bundle.sending import check_access, send
from olmctl.bundle.upload import sent
from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError, fail
from olmctl.operators.follow import follow, objects_of
from olmctl.operators.operator_state import condition, is_observed, is_terminating, is_true, part, text_at
from olmctl.operators.session import FIELD_MANAGER, Session, on_cluster
from olmctl.terminal import ProgressLine, clean
from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import OWNER_NAME_LABEL
from olmkit.api.content import Phase, SourceType
from olmkit.api.meta import Object
from olmkit.api.names import dns1123_subdomain_errors
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import ApiError, Conflict, NotFound

RESOURCE = f"{bundledeployments.KIND.plural}.{bundledeployments.KIND.group}"
PACKAGE_ANNOTATION = "operators.operatorframework.io.bundle.package.v1"
"""The annotation of metadata/annotations.yaml with the package of a registry+v1 bundle."""
NOT_SEEN = "waiting for rukpak"
SAVE_PAUSE_MILLISECONDS = 200
"""The longest time for which saves are collected before the directory is read: an editor writes several files."""
SAVE_STEP_MILLISECONDS = 50
"""The time without a save after which it is read earlier."""


@dataclass(frozen=True)
class Request:
    """The BundleDeployment that has the bundle, and how far to go."""

    directory: Path
    name: str
    install_namespace: str | None
    is_forced: bool
    seconds: float

    def manifest(self, archive: Archive) -> Object:
        """The BundleDeployment to apply."""
        source = {"type": str(SourceType.UPLOAD), "upload": {"digest": archive.digest}}
        spec = {
            "provisionerClassName": PLAIN,
            "template": {"spec": {"provisionerClassName": archive.provisioner, "source": source}},
            **({"installNamespace": self.install_namespace} if self.install_namespace else {}),
        }
        kind = bundledeployments.KIND
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": self.name}, "spec": spec}


@on_cluster
async def run(session: Session, directory: str, name: str | None, seconds: float, **options: object) -> int:
    """Install the bundle in DIRECTORY; with `watch`, again at each save, until it is interrupted."""
    path = Path(directory)
    archive = pack_bundle(path)
    namespace = options["install_namespace"]
    request = Request(
        path,
        name or default_name(path, archive),
        str(namespace) if namespace else None,
        bool(options["force"]),
        seconds,
    )
    if options["watch"]:
        await _watch(session, request, archive)
    else:
        await _install(session, request, archive)
    return 0


def default_name(directory: Path, archive: Archive) -> str:
    """A name for the BundleDeployment: that of the package, else of the directory. Raises CommandError if neither is one."""
    name = ""
    if "metadata/annotations.yaml" in archive.files:
        try:
            found = yaml.safe_load((directory / "metadata" / "annotations.yaml").read_bytes())
        except yaml.YAMLError:
            found = None  # rukpak says what is wrong with it
        name = text_at(found, "annotations", PACKAGE_ANNOTATION)
    text = re.sub("[^a-z0-9]+", "-", (name or directory.resolve().name).lower())
    text = text[: bundledeployments.MAX_NAME_LENGTH].strip("-")
    if not text or dns1123_subdomain_errors(text):
        raise CommandError(FAILED, f"{directory} gives no name for a BundleDeployment: choose one with --name")
    return text


async def _watch(session: Session, request: Request, archive: Archive) -> None:
    """Install the bundle as it is and after each save, until cancelled. A save ends the wait for what was saved before."""
    import watchfiles  # only this option needs it

    saves = watchfiles.awatch(request.directory, debounce=SAVE_PAUSE_MILLISECONDS, step=SAVE_STEP_MILLISECONDS)
    save = asyncio.ensure_future(anext(saves))
    await asyncio.sleep(0)  # the kernel reports saves from here on
    installing = asyncio.create_task(_install_watched(session, request, archive))
    try:
        while True:
            await asyncio.wait({save})
            save = asyncio.ensure_future(anext(saves))
            saved = _saved(request)
            if saved is None or saved.digest == archive.digest:
                continue
            installing.cancel()
            await asyncio.wait({installing})
            for line in changed_files(archive.files, saved.files):
                print(line, flush=True)
            archive = saved
            installing = asyncio.create_task(_install_watched(session, request, archive))
    finally:
        for task in (save, installing):
            task.cancel()
        await asyncio.wait({save, installing})


def _saved(request: Request) -> Archive | None:
    """The archive of the directory; None if it has no bundle, which is printed."""
    try:
        return pack_bundle(request.directory)
    except (CommandError, OSError) as error:
        fail(clean(str(error)))
        return None


async def _install_watched(session: Session, request: Request, archive: Archive) -> None:
    """Install the archive; print what is in the way instead of raising it: the next save may be right."""
    session.time.begin()
    try:
        await _install(session, request, archive)
    except CommandError as error:
        fail(clean(str(error)))
    except ApiError as error:
        fail(clean(error.message))
    session.time.lift()
    print(f"watching {request.directory}: press Ctrl-C to end", flush=True)


def changed_files(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """A line for each file that differs, sorted by path: + added, ~ changed, - removed."""
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            yield f"{'+' if path not in old else '-' if path not in new else '~'} {clean(path)}"


async def _install(session: Session, request: Request, archive: Archive) -> None:
    """Apply the BundleDeployment, send the archive, and wait until it is Ready; prints each step. Raises CommandError."""
    deadline = session.time.deadline(request.seconds)
    await check_access(session)
    applied, is_new = await _apply(session, request, archive)
    try:
        await _finish(session, request, archive, applied, deadline)
    except CommandError as error:
        hint = f" (kubectl delete {RESOURCE} {request.name} removes what was applied)" if is_new else ""
        raise CommandError(error.status, f"{error}{hint}") from error


async def _finish(session: Session, request: Request, archive: Archive, applied: Object, deadline: float) -> None:
    """Send the archive to the Bundle of the BundleDeployment, and wait until that is Ready."""
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
    print(sent(name, is_new=is_new), flush=True)
    message = await _ready(session, request, part(applied, "metadata", "generation"), deadline)
    print(f"{RESOURCE}/{request.name} installed: {clean(message)}", flush=True)


async def _apply(session: Session, request: Request, archive: Archive) -> tuple[Object, bool]:
    """Apply the BundleDeployment; returns it, and True if it is new. Raises CommandError if it belongs to an Operator, or to
    others."""
    try:
        found: Object | None = await session.client.get(bundledeployments.KIND, request.name)
    except NotFound:
        found = None
    for owner in part(found, "metadata", "ownerReferences") or ():
        if owner.get("controller"):
            text = f"BundleDeployment {request.name} belongs to {owner.get('kind')} {owner.get('name')}"
            raise CommandError(REFUSED, f"{text}: choose another name with --name")
    if found is not None and is_terminating(found):
        raise CommandError(
            FAILED, f"BundleDeployment {request.name} is being deleted: run the command again when it is gone"
        )
    body = request.manifest(archive)
    try:
        applied = await session.client.apply(bundledeployments.KIND, body, FIELD_MANAGER, force=request.is_forced)
    except Conflict as error:
        hint = "choose another name with --name, or take these fields over with --force"
        raise CommandError(REFUSED, f"{request.name}: {error.message}: {hint}") from error
    is_same = found is not None and found["metadata"]["generation"] == applied["metadata"]["generation"]
    verb = "created" if found is None else "unchanged" if is_same else "configured"
    print(f"{RESOURCE}/{request.name} {verb}", flush=True)
    return applied, found is None


async def _bundle(session: Session, request: Request, deployment: Object, archive: Archive, deadline: float) -> Object:
    """The Bundle that rukpak creates for the archive, as soon as it exists. Raises CommandError."""
    uid = deployment["metadata"]["uid"]
    selector = f"{OWNER_NAME_LABEL}={request.name}"
    try:
        async with (
            asyncio.timeout_at(deadline),
            aclosing(objects_of(session.client, bundles.KIND, label_selector=selector)) as found,
        ):
            async for each in found:
                owners = part(each, "metadata", "ownerReferences") or ()
                is_own = any(owner.get("uid") == uid for owner in owners) and not is_terminating(each)
                if is_own and text_at(each, "spec", "source", "upload", "digest") == archive.digest:
                    return each
    except TimeoutError:
        pass
    last = await session.client.get(bundledeployments.KIND, request.name)
    message = text_at(condition(last, "Ready"), "message") or NOT_SEEN
    text = f"{request.name}: not within {request.seconds:g} seconds: rukpak has created no Bundle: {message}"
    raise CommandError(TIMED_OUT, clean(text))


async def _ready(session: Session, request: Request, generation: int, deadline: float) -> str:
    """The message of the BundleDeployment when it is Ready. Raises CommandError."""
    ready = ""

    def message(found: Object | None) -> str | None:
        nonlocal ready
        if found is None or is_terminating(found):
            raise CommandError(FAILED, f"{request.name} was deleted")
        if not is_observed(found) or part(found, "metadata", "generation") < generation:
            return NOT_SEEN
        ready = text_at(condition(found, "Ready"), "message")
        if is_true(found, "Stalled"):
            raise CommandError(FAILED, f"{request.name}: {clean(ready)}")
        return None if is_true(found, "Ready") else ready

    late = f"not within {request.seconds:g} seconds: {{}}"
    await follow(session, bundledeployments.KIND, request.name, deadline, message, late)
    return ready
