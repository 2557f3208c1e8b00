"""`olm suite uninstall`: remove the suite from a cluster, and with --remove everything that it has installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from olmctl.commands import REFUSED, CommandError
from olmctl.operators.session import on_cluster
from olmctl.questions.installed_objects import InstalledObject, is_applied, owners_by_uid
from olmctl.questions.installed_objects import custom_resources as custom_resources_of
from olmctl.questions.operator_state import is_protected
from olmctl.questions.session import Session
from olmctl.suite.installed import check_system_namespace, find_controllers
from olmctl.suite.manifests import Manifests, load_manifests
from olmctl.suite.namespaces import Contents, kept_namespaces
from olmctl.suite.objects import CRD, find_all, is_own
from olmctl.suite.operator_conditions import with_own_definition
from olmctl.suite.package_manifests import with_own_package_manifests
from olmctl.suite.preflight import check_permissions, uninstall_permissions
from olmctl.suite.removal import CUSTOM_KINDS, V1_KINDS, Removal, custom_resources
from olmctl.suite.v1_kinds import with_own_v1
from olmctl.suite.watched import Watched
from olmctl.suite.web_console import with_own_console
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.meta import Kind, Object
from olmkit.api.names import pluralize
from olmkit.api.package_manifests import API_SERVICE

_ASKED_KINDS = (WEBHOOK_CONFIGURATIONS.kind, API_SERVICE.kind)
"""Kinds that have the API server ask a controller."""


@on_cluster
async def uninstall(session: Session, is_orphan: bool, is_removal: bool, **options: Any) -> int:
    """Remove the suite from the cluster, in one of two ways: --orphan or --remove."""
    if is_orphan == is_removal:
        raise click.UsageError("choose one of --orphan and --remove")
    namespace = await session.system_namespace()
    check_system_namespace(namespace)
    client, manifests = session.client, load_manifests(system_namespace=namespace)
    await check_permissions(client, uninstall_permissions(manifests))
    await find_controllers(client, manifests, namespace)
    manifests = await with_own_definition(client, manifests)
    manifests = await with_own_package_manifests(client, manifests, namespace)
    manifests = await with_own_console(client, manifests)
    manifests = await with_own_v1(client, manifests)
    found = {kind: await custom_resources(client, kind) for kind in CUSTOM_KINDS}
    kept = await kept_namespaces(client, manifests)
    if not await _is_installed(session, manifests.objects if is_orphan else manifests.all, kept):
        crds = await _find_own(session, manifests.crds)
        stays = f". {pluralize(len(crds), 'CRD')} stay: --remove deletes them" if crds else ""
        say(f"olm-suite is not installed: there is nothing to remove{stays}", err=True)
        _say_what_stays(kept)
        return 0
    counts = [] if is_orphan else await _installed_custom_resources(session, found[bundledeployments.KIND])
    _confirm([*_consequences(manifests, found, kept, is_orphan=is_orphan), *counts], options)
    if options["dry_run"]:
        return 0
    session.time.begin()
    async with Watched(client) as watched:
        removal = await Removal.open(client, watched, namespace, options["seconds"], is_forced=options["is_forced"])
        session.time.lift()  # what remains after it with --force has a time of its own
        await _remove(session, removal, manifests, is_orphan=is_orphan)
    return 0


async def _find_own(session: Session, objects: Sequence[Object]) -> list[Object]:
    return [each for each in await find_all(session.client, objects) if each is not None and is_own(each)]


async def _is_installed(session: Session, wanted: Sequence[Object], kept: Sequence[Contents]) -> bool:
    """Report whether there is anything to remove: namespaces that stay do not count."""
    names = {("Namespace", each.namespace) for each in kept}
    return any((each["kind"], each["metadata"]["name"]) not in names for each in await _find_own(session, wanted))


async def _remove(session: Session, removal: Removal, manifests: Manifests, *, is_orphan: bool) -> None:
    """The webhooks and the APIService go first: without a controller that answers, the webhooks would refuse, and no namespace
    would be deleted. The controllers go last: they complete the deletion of everything else. With `is_orphan` that is the
    deletions that have begun: nothing would complete them later."""
    is_chosen = removal.is_ending if is_orphan else _is_any
    await removal.check_controllers(is_chosen)
    await removal.delete_objects([each for each in manifests.objects if each["kind"] in _ASKED_KINDS])
    for kind in CUSTOM_KINDS:
        await removal.delete_custom_resources(kind, is_chosen)
    if not is_orphan:
        await removal.delete_objects(manifests.crds)
    await removal.delete_objects([each for each in manifests.objects[::-1] if each["kind"] != "Namespace"])
    if is_orphan:
        for kind in V1_KINDS:
            await removal.release(kind)
    kept = await kept_namespaces(session.client, manifests)
    names = [each.namespace for each in kept]
    for name in names:
        await removal.delete_contents(name, (each["metadata"]["name"] for each in manifests.deployments))
    await removal.delete_objects([each for each in manifests.namespaces if each["metadata"]["name"] not in names])
    _say_what_stays(kept)


def _say_what_stays(kept: Sequence[Contents]) -> None:
    for each in kept:
        say(clean(each.text), err=True)


def _is_any(obj: Object) -> bool:
    return True


def _consequences(
    manifests: Manifests, found: Mapping[Kind, Sequence[Object]], kept: Sequence[Contents], *, is_orphan: bool
) -> Iterator[str]:
    names = [each["metadata"]["name"] for each in manifests.namespaces]
    gone = [name for name in names if name not in {each.namespace for each in kept}]
    yield f"The controllers of olm-suite are deleted{''.join(f', and the namespace {name}' for name in gone)}."
    yield from (clean(each.text) for each in kept)
    counts = [_count(kind, objects) for kind, objects in found.items() if objects]
    if is_orphan:
        yield "The CRDs and all their objects stay, and what Operators have installed keeps running."
        yield "Nothing manages it until the suite is installed again."
        yield from (f"  {each}" for each in counts)
    else:
        yield "The CRDs are deleted, and before them:"
        yield from (f"  {each}" for each in counts or ["nothing: there is none of its objects"])
        if found[operators.KIND] or found[bundledeployments.KIND]:
            yield "All objects that these have installed are deleted, WITH THEIR CRDS, CUSTOM RESOURCES AND NAMESPACES."
        if names := [clean(each["metadata"]["name"]) for each in found[operators.KIND] if is_protected(each)]:
            yield f"{pluralize(len(names), 'Operator')} protected from deletion, and deleted all the same: {', '.join(names)}."


async def _installed_custom_resources(session: Session, deployments: Sequence[Object]) -> list[str]:
    """Lines that count the custom resources of the CRDs that the BundleDeployments have installed."""
    owners = owners_by_uid(deployments)
    labeled, _ = await session.client.list(CRD, label_selector=OWNER_UID_LABEL)
    crds = [InstalledObject(CRD, each, "", "") for each in labeled if is_applied(each, owners)]
    counts = await custom_resources_of(session, crds, deployments)
    return [f"  {clean(str(each))}" for each in counts if each.count != 0]


def _count(kind: Kind, objects: Sequence[Object]) -> str:
    names = ", ".join(clean(each["metadata"]["name"]) for each in objects)
    return f"{pluralize(len(objects), kind.kind)}: {names}"


def _confirm(lines: Sequence[str], options: Mapping[str, Any]) -> None:
    """Say what is deleted, and ask. Raises CommandError if it is not confirmed."""
    for line in lines:
        say(line, err=not options["dry_run"])
    if options["dry_run"] or options["is_confirmed"]:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(REFUSED, "olm-suite is not uninstalled: confirm it with --yes")
    if not click.confirm("Delete all of this?", err=True):
        raise CommandError(REFUSED, "olm-suite is not uninstalled")
