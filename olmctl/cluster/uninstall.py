"""`olm uninstall OPERATOR`: say what goes, ask, and delete the Operator."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

import click

from olmctl.cluster.completion import OPERATOR
from olmctl.cluster.installed_objects import (
    CustomResources,
    InstalledObjects,
    custom_resources,
    installed_objects,
    is_deleted_with_it,
)
from olmctl.cluster.list import RESOURCE
from olmctl.cluster.operator_state import dependencies, installed, text_at
from olmctl.cluster.session import Session, on_cluster, wait_options
from olmctl.cluster.waiting import wait_until_gone
from olmctl.commands import REFUSED, CommandError
from olmctl.terminal import clean
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object
from olmkit.api.names import pluralize
from olmkit.errors import NotFound

_SHOWN_FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds whose objects are named one by one."""


@click.command("uninstall")
@click.argument("operator", type=OPERATOR)
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what goes.")
@wait_options
@on_cluster
async def uninstall(
    session: Session, operator: str, is_confirmed: bool, dry_run: bool, wait: bool, seconds: float
) -> int:
    """Uninstall OPERATOR with all objects of its bundle, its CRDs and their custom resources, after naming them."""
    found = await session.client.get(operators.KIND, operator)
    for line in await _consequences(session, found):
        click.echo(line, err=not dry_run)
    if dry_run:
        return 0
    if not is_confirmed:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise CommandError(REFUSED, f"{operator} is not deleted: confirm it with --yes")
        if not click.confirm("Delete all of this?", err=True):
            raise CommandError(REFUSED, f"{operator} is not deleted")
    await session.client.delete(operators.KIND, operator, uid=found["metadata"]["uid"])
    if wait:
        await wait_until_gone(session, operator, seconds)
    print(f"{RESOURCE}/{operator} {'deleted' if wait else 'deletion requested'}")
    return 0


async def _consequences(session: Session, found: Object) -> list[str]:
    """The lines that say what a deletion of the Operator deletes, and who needs it."""
    name = found["metadata"]["name"]
    lines = [f"Operator {name} ({clean(installed(found)) or 'nothing is installed'}) is deleted."]
    try:
        deployment = await session.client.get(bundledeployments.KIND, name)
    except NotFound:
        deployment = None
    if deployment is not None:
        objects = await installed_objects(session, deployment)
        counts = await custom_resources(session, objects.objects)
        lines += consequences(objects, counts)
    others, _ = await session.client.list(operators.KIND)
    if dependants := sorted(text_at(each, "metadata", "name") for each in others if name in dependencies(each)):
        lines.append(f"It is needed by {', '.join(dependants)}: it stays until these are deleted.")
    return lines


def consequences(objects: InstalledObjects, counts: Iterable[CustomResources]) -> Iterator[str]:
    """The lines about the objects of a bundle."""
    found = objects.objects
    by_crd = {each.crd: each for each in counts}
    for crd, count in by_crd.items():
        yield f"  CustomResourceDefinition {clean(crd)}" + (
            f", AND WITH IT {count}" if count.count != 0 else ", which has no custom resources"
        )
    for each in found:
        if each.kind.kind == _SHOWN_FIRST[0] and is_deleted_with_it(each):
            yield f"  Namespace {clean(each.name)}, and everything that is in it"
    rest = Counter(each.kind.kind for each in found if each.kind.kind not in _SHOWN_FIRST)
    if rest:
        yield f"  {', '.join(pluralize(number, kind) for kind, number in sorted(rest.items()))}"
    for problem in objects.problems:
        yield f"  unknown: {clean(problem)}"
