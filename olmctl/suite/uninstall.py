"""`olm suite uninstall`: remove the suite from a cluster, and with --remove everything that it has installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from olmctl.cluster.operator_state import part
from olmctl.cluster.session import Session, on_cluster, timeout_option
from olmctl.commands import REFUSED, CommandError
from olmctl.suite.finalizers import Controllers
from olmctl.suite.installed import find_controllers
from olmctl.suite.manifests import KEYS_NAMESPACE, Manifests, load_manifests
from olmctl.suite.objects import CRD, DEPLOYMENT, find_all, is_own, kind_of
from olmctl.suite.preflight import check_permissions
from olmctl.suite.removal import Removal, custom_resources
from olmctl.terminal import clean
from olmkit.api import bundledeployments, bundles, catalogs, operators
from olmkit.api.meta import Kind, Object
from olmkit.api.names import pluralize

KINDS = (operators.KIND, bundledeployments.KIND, bundles.KIND, catalogs.KIND)
"""The kinds that users create, in the order in which they are deleted. Package and BundleMetadata belong to Catalogs."""
_VERBS = ("get", "delete")
_CUSTOM_RESOURCE_VERBS = ("list", "delete", "patch")


@click.command("uninstall")
@click.option(
    "--orphan", "is_orphan", is_flag=True, help="Keep CRDs, Catalogs and Operators; what is installed keeps running."
)
@click.option("--remove", "is_removal", is_flag=True, help="First delete all Operators, with what they have installed.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what goes.")
@click.option(
    "--force",
    "is_forced",
    is_flag=True,
    help="Remove the suite's own finalizers if their controllers do not run, or --timeout is over.",
)
@timeout_option("How long to wait, such as 90s or 10m.  [default: 5m]")
@on_cluster
async def uninstall(session: Session, is_orphan: bool, is_removal: bool, **options: Any) -> int:
    """Remove the suite from the cluster, in one of two ways: --orphan or --remove.

    It can be interrupted, and repeated.
    """
    if is_orphan == is_removal:
        raise click.UsageError("choose one of --orphan and --remove")
    manifests = load_manifests(system_namespace=session.system_namespace)
    wanted = manifests.objects if is_orphan else manifests.all
    await _check_permissions(session, wanted)
    found = {kind: await custom_resources(session.client, kind) for kind in KINDS}
    await find_controllers(session.client, manifests, session.system_namespace)
    if not await _find_own(session, wanted):
        crds = await _find_own(session, manifests.crds)
        stays = f". {pluralize(len(crds), 'CRD')} stay: --remove deletes them" if crds else ""
        click.echo(f"olm-suite is not installed: there is nothing to remove{stays}", err=True)
        return 0
    _confirm(list(_consequences(session, found, is_orphan=is_orphan)), options)
    if options["dry_run"]:
        return 0
    controllers = Controllers(session.client, session.system_namespace)
    removal = Removal(session.client, controllers, options["seconds"], is_forced=options["is_forced"])
    if is_orphan:
        await _orphan(removal, manifests)
    else:
        await _remove(removal, manifests)
    return 0


async def _find_own(session: Session, objects: Sequence[Object]) -> list[Object]:
    return [each for each in await find_all(session.client, objects) if each is not None and is_own(each)]


async def _check_permissions(session: Session, wanted: Sequence[Object]) -> None:
    await check_permissions(session.client, map(kind_of, wanted), _VERBS)
    await check_permissions(session.client, (DEPLOYMENT,), ("list",))
    await check_permissions(session.client, (CRD,), ("get",))
    await check_permissions(session.client, KINDS, _CUSTOM_RESOURCE_VERBS)


async def _orphan(removal: Removal, manifests: Manifests) -> None:
    """Complete the deletions that have begun, because nothing would complete them later, and delete all but the CRDs."""
    for kind in KINDS:
        await removal.delete_custom_resources(kind, _is_terminating)
    await removal.delete_objects(manifests.objects[::-1])


async def _remove(removal: Removal, manifests: Manifests) -> None:
    """The controllers go last: they complete the deletion of everything else."""
    for kind in KINDS:
        await removal.delete_custom_resources(kind)
    await removal.delete_objects(manifests.crds)
    await removal.delete_objects(manifests.objects[::-1])


def _is_terminating(obj: Object) -> bool:
    return bool(part(obj, "metadata", "deletionTimestamp"))


def _consequences(session: Session, found: Mapping[Kind, Sequence[Object]], *, is_orphan: bool) -> Iterator[str]:
    namespaces = f"the namespaces {session.system_namespace} and {KEYS_NAMESPACE}, with everything that is in them"
    yield f"The controllers of olm-suite are deleted, and {namespaces}."
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


def _count(kind: Kind, objects: Sequence[Object]) -> str:
    names = ", ".join(clean(each["metadata"]["name"]) for each in objects)
    return f"{pluralize(len(objects), kind.kind)}: {names}"


def _confirm(lines: Sequence[str], options: Mapping[str, Any]) -> None:
    """Say what is deleted, and ask. Raises CommandError if it is not confirmed."""
    for line in lines:
        click.echo(line, err=not options["dry_run"])
    if options["dry_run"] or options["is_confirmed"]:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(REFUSED, "olm-suite is not uninstalled: confirm it with --yes")
    if not click.confirm("Delete all of this?", err=True):
        raise CommandError(REFUSED, "olm-suite is not uninstalled")
