"""`olm bundle run IMAGE|DIRECTORY`: install a bundle without a catalog, and with --watch again whenever its directory is saved.

Applies a BundleDeployment. A directory is sent to the Bundle that rukpak creates for it, as an upload by digest. An image is
pulled by the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from olmctl.bundle.install_options import (
    account_of,
    certificate_mode,
    check_mode,
    config_of,
    safety_settings,
    watched_namespaces,
)
from olmctl.bundle.installed_output import print_installed
from olmctl.bundle.installing import Request, install
from olmctl.bundle.source import BundleSource, of_directory, read_source
from olmctl.commands import FAILED, REFUSED, CommandError, fail, warn
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.errors import ApiError
from rukpak.format import BadBundle
from rukpak.render.install_modes import OWN
from rukpak.render.namespaces import SUITE_NAMESPACES, install_namespace

SAVE_PAUSE_MILLISECONDS = 200
"""The longest time for which saves are collected before the directory is read: an editor writes several files."""
SAVE_STEP_MILLISECONDS = 50
"""The time without a save after which it is read earlier."""


@on_cluster
async def run(session: Session, bundle: str, name: str | None, seconds: float, **options: Any) -> int:
    """Install the bundle of a directory or an image; with `watch`, again at each save, until it is interrupted."""
    source = await read_source(bundle, options, options["pull_secret"])
    if options["watch"] and source.archive is None:
        raise click.UsageError("--watch is for a directory: an image does not change")
    source.check_found(is_forced=bool(options["force"]))
    if source.warning:
        warn(source.warning)
    request = Request(
        deployment_name(source, name),
        source,
        await install_settings(session, source, options),
        bool(options["force"]),
        seconds,
    )
    if options["watch"]:
        await _watch(session, replace(request, is_watched=True))
    else:
        await print_installed(session, source, await install(session, request))
    return 0


def deployment_name(source: BundleSource, name: str | None) -> str:
    """The name of the BundleDeployment: the one that is given, else the one of the source. Raises CommandError."""
    if not name and not source.name:
        raise CommandError(FAILED, f"{source.shown} gives no name for a BundleDeployment: choose one with --name")
    return name or source.name


async def install_settings(session: Session, source: BundleSource, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of spec that the options set. Raises CommandError, UsageError, OSError."""
    namespace: str | None = options["install_namespace"]
    found: dict[str, Any] = safety_settings(options)
    if options["install_mode"]:
        mode, targets = options["install_mode"]
        registry = source.facts.registry if source.facts else None
        if registry is not None:
            check_mode(mode, registry)
        if mode == OWN and not namespace:
            namespace = await _own_namespace(session, source)
        found["watchNamespaces"] = watched_namespaces(mode, targets, namespace or "")
    if options["config"]:
        found["config"] = dict(config_of(options["config"]))
    if (certificates := certificate_mode(options["certificates"])) is not None:
        found["certificates"] = str(certificates)
    if options["service_account"]:
        account = account_of(options["service_account"], namespace)
        found["serviceAccount"] = {"name": account.name, "namespace": account.namespace}
    return {**({"installNamespace": namespace} if namespace else {}), **found}


async def _own_namespace(session: Session, source: BundleSource) -> str:
    """The namespace that the bundle suggests, which it also watches. Raises CommandError if that is not known here."""
    if source.facts is None or source.facts.registry is None:
        raise CommandError(
            REFUSED, f"--install-mode {OWN} needs --namespace: {source.shown} suggests none that is known here"
        )
    return install_namespace(source.facts.registry, (await session.system_namespace(), *SUITE_NAMESPACES))[0]


async def _watch(session: Session, request: Request) -> None:
    """Install the bundle as it is and after each save, until cancelled. A save ends the wait for what was saved before."""
    import watchfiles  # only this option needs it

    directory = Path(request.source.shown)
    saves = watchfiles.awatch(directory, debounce=SAVE_PAUSE_MILLISECONDS, step=SAVE_STEP_MILLISECONDS)
    save = asyncio.ensure_future(anext(saves))
    await asyncio.sleep(0)  # the kernel reports saves from here on
    installing = asyncio.create_task(_install_watched(session, request))
    try:
        while True:
            await asyncio.wait({save})
            save = asyncio.ensure_future(anext(saves))
            saved = _saved(directory)
            if saved is None or saved.archive == request.source.archive:
                continue
            installing.cancel()
            await asyncio.wait({installing})
            for line in changed_files(_files(request.source), _files(saved)):
                say(line, flush=True)
            request = replace(request, source=saved)
            installing = asyncio.create_task(_install_watched(session, request))
    except asyncio.CancelledError:
        fail(f"interrupted: what is installed stays (olm bundle cleanup {request.name} removes it)")
        raise
    finally:
        for task in (save, installing):
            task.cancel()
        await asyncio.wait({save, installing})


def _saved(directory: Path) -> BundleSource | None:
    """The bundle of the directory; None if it has none, or one that rukpak could not read, which is printed."""
    try:
        found = of_directory(directory)
        if found.problem is not None:
            raise found.problem
        return found
    except (CommandError, BadBundle, OSError) as error:
        fail(clean("; ".join(error.errors) if isinstance(error, BadBundle) else str(error)))
        _say_watching(directory)
        return None


def _say_watching(directory: Path | str) -> None:
    say(f"watching {directory}: press Ctrl-C to end", flush=True)


def _files(source: BundleSource) -> Mapping[str, str]:
    return source.archive.files if source.archive is not None else {}


async def _install_watched(session: Session, request: Request) -> None:
    """Install the bundle; print what is in the way instead of raising it: the next save may be right."""
    session.time.begin()
    try:
        await install(session, request)
    except CommandError as error:
        fail(clean(str(error)))
    except ApiError as error:
        fail(clean(error.message))
    session.time.lift()
    _say_watching(request.source.shown)


def changed_files(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """A line for each file that differs, sorted by path: + added, ~ changed, - removed."""
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            yield f"{'+' if path not in old else '-' if path not in new else '~'} {clean(path)}"
