"""`olm suite install`: apply the manifests of this version, and wait until the controllers are available."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

import click

from olmctl.cluster.session import FIELD_MANAGER, Session, on_cluster, timeout_option
from olmctl.commands import REFUSED, TIMED_OUT, CommandError
from olmctl.suite.installed import check_installed, delete_leftovers
from olmctl.suite.manifests import Manifests, documents, load_manifests
from olmctl.suite.objects import ObjectState, find, find_all, kind_of, name_of, states
from olmctl.suite.preflight import check_permissions, check_version
from olmctl.suite.status import print_states
from olmctl.terminal import ProgressLine
from olmkit.api.meta import Object
from olmkit.errors import Conflict, Unavailable
from olmkit.runtime.client import Client
from olmkit.sources.errors import BadReference
from olmkit.sources.oci.reference import parse

POLL_SECONDS = 0.5
"""The pause between two readings of the cluster."""
_VERBS = ("get", "create", "patch")


def _image_reference(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """The image as it is, "" for none. Raises BadParameter, also for an empty text: a variable that is not set."""
    if value is None:
        return ""
    try:
        parse(value)
    except BadReference as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


@click.command("install")
@click.option(
    "--image",
    metavar="IMAGE",
    callback=_image_reference,
    help="The image of the controllers.  [default: olm-suite:VERSION]",
)
@click.option(
    "--force", "is_forced", is_flag=True, help="Take over fields that others manage, and replace a newer version."
)
@click.option(
    "--dry-run",
    type=click.Choice(("server",)),
    is_flag=False,
    flag_value="server",
    help="Have the API server check the request; change nothing.",
)
@click.option("--export", is_flag=True, help="Print the manifests as YAML, for GitOps; use no cluster.")
@click.option("--no-wait", is_flag=True, help="Do not wait until the controllers are available.")
@timeout_option("How long to wait, such as 90s or 10m.  [default: 5m]")
@on_cluster
async def install(session: Session, image: str, export: bool, **options: Any) -> int:
    """Install the suite, or change the one that is installed to this version and this image.

    Catalogs, Operators and what they have installed stay as they are.
    """
    manifests = load_manifests(image, session.system_namespace)
    if export:
        sys.stdout.write(documents(manifests.all))
        return 0
    await check_version(session.client)
    await check_permissions(session.client, map(kind_of, manifests.all), _VERBS)
    is_forced, seconds = options["is_forced"], options["seconds"]
    await check_installed(session.client, manifests, session.system_namespace, is_forced=is_forced)
    await _apply_dry(session.client, manifests, is_forced=is_forced, is_shown=bool(options["dry_run"]))
    if options["dry_run"]:
        return 0
    deadline = asyncio.get_running_loop().time() + seconds
    await _apply(session.client, manifests.crds, is_forced=is_forced)
    await _wait(session.client, manifests.crds, deadline, seconds)
    await _apply(session.client, manifests.objects, is_forced=is_forced)
    if not options["no_wait"]:
        await _wait(session.client, manifests.deployments, deadline, seconds)
    await delete_leftovers(session.client, manifests)
    if not options["no_wait"]:
        print_states(await states(session.client, manifests.all))
    return 0


async def _apply_dry(client: Client, manifests: Manifests, *, is_forced: bool, is_shown: bool) -> None:
    """Have the API server check each object that exists, and each that can be checked before its namespace exists.

    Raises CommandError if others manage the same fields, before anything is changed.
    """
    found = await find_all(client, manifests.all)
    namespaces = {each["metadata"]["name"] for each in found if each is not None and each["kind"] == "Namespace"}
    for obj, before in zip(manifests.all, found, strict=True):
        namespace = obj["metadata"].get("namespace")
        after = None
        if namespace is None or namespace in namespaces:
            after = await apply(client, obj, is_forced=is_forced, is_dry_run=True)
        if is_shown:
            print(f"{name_of(obj)} {_outcome(before, after)} (dry run)")


async def _apply(client: Client, objects: Iterable[Object], *, is_forced: bool) -> None:
    for obj in objects:
        before = await find(client, obj)
        after = await apply(client, obj, is_forced=is_forced)
        print(f"{name_of(obj)} {_outcome(before, after)}", flush=True)


def _outcome(before: Object | None, after: Object | None) -> str:
    if before is None or after is None:
        return "created"
    return "unchanged" if _content(before) == _content(after) else "configured"


def _content(obj: Object) -> Object:
    """The object without what every request changes, and without its status."""
    left_out = ("managedFields", "resourceVersion", "generation")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in left_out}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


async def apply(client: Client, obj: Object, *, is_forced: bool, is_dry_run: bool = False) -> Object:
    """Server-side apply of one object; returns it. Raises CommandError if others manage the same fields and it is not forced."""
    try:
        return await client.apply(kind_of(obj), obj, FIELD_MANAGER, force=is_forced, dry_run=is_dry_run)
    except Conflict as error:
        hint = "change it where it is managed, or take these fields over with --force"
        raise CommandError(REFUSED, f"{name_of(obj)}: {error.message}: {hint}") from error


async def _wait(client: Client, objects: Iterable[Object], deadline: float, seconds: float) -> None:
    """Wait until all objects are available, with a line of progress. Raises CommandError with TIMED_OUT and the causes."""
    line, expected, last = ProgressLine(), list(objects), "the API server does not answer"
    try:
        async with asyncio.timeout_at(deadline):
            while True:
                try:
                    waiting = [each for each in await states(client, expected) if not each.is_good]
                except Unavailable as error:
                    last = error.message
                else:
                    if not waiting:
                        return
                    last = "; ".join(map(_text, waiting))
                line.show(f"waiting for {last}")
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise CommandError(TIMED_OUT, f"not within {seconds:g} seconds: {last}") from None
    finally:
        line.end()


def _text(state: ObjectState) -> str:
    return f"{name_of(state.expected)}: {state.message or state.status}"
