"""`olm install PACKAGE`: create the Operator for a package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.operators.adoption import check_left_installations, request_adoption
from olmctl.operators.catalog_offers import offered_entries
from olmctl.operators.follow import ended_by, wait_for_operator, wait_until_gone
from olmctl.operators.list import RESOURCE
from olmctl.operators.offered_versions import check_version
from olmctl.operators.operator_state import is_terminating, is_true, obstacle, text_at
from olmctl.operators.output import print_object, without_managed_fields
from olmctl.operators.packages import check_channel, installed_packages
from olmctl.operators.requested_fields import check_fields
from olmctl.operators.session import FIELD_MANAGER, Session, on_cluster
from olmkit.api import operators
from olmkit.api.catalogs import NAME_LABEL
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType
from olmkit.api.ownership import is_dependency
from olmkit.errors import Conflict, NotFound

TAKEN_OVER = "it was installed as a dependency, and is kept from now on, also if nothing requires it"
"""The consequence of a request for an Operator that was created as a dependency."""


@dataclass(frozen=True)
class Request:
    """The Operator to install, and how far to go."""

    package: str
    name: str
    spec: dict[str, Any]
    is_forced: bool
    is_dry_run: bool

    @property
    def manifest(self) -> Object:
        """The Operator to apply."""
        metadata = {"name": self.name}
        return {"apiVersion": operators.KIND.api_version, "kind": "Operator", "metadata": metadata, "spec": self.spec}


def operator_name(package: str) -> str:
    """The name of the Operator for a package: the package's, cut to the length that the API allows."""
    return package[: operators.MAX_NAME_LENGTH].rstrip("-")


@on_cluster
async def install(session: Session, package: str, name: str | None, **options: Any) -> int:
    """Install PACKAGE: create an Operator for it, or change the one that exists to this request."""
    if options["adopt"] and options["export"]:
        raise click.UsageError("--adopt changes the BundleDeployment on the cluster, and --export uses none")
    spec = _spec(package, options)
    check_fields(spec)
    request = Request(package, name or operator_name(package), spec, options["force"], bool(options["dry_run"]))
    if options["export"]:
        print_object(request.manifest, "json" if options["output"] == "json" else "yaml")
        return 0
    previous = await _previous(session, request)
    if previous is not None and is_terminating(previous):
        await _await_deletion(session, request, options)
        previous = None
    is_adopting = await _prepare(session, request, options, previous)
    applied = await apply_operator(
        session, request.manifest, is_forced=request.is_forced, is_dry_run=request.is_dry_run
    )
    _print(request, previous, applied, options["output"])
    if request.is_dry_run:
        return 0
    before = previous if is_adopting else None
    if options["wait"]:
        return await wait_for_operator(session, request.name, options["seconds"], before=before)
    if not is_adopting and not is_true(applied, ConditionType.READY) and (found := obstacle(applied)):
        raise ended_by(request.name, found)
    return 0


async def _prepare(session: Session, request: Request, options: Mapping[str, Any], previous: Object | None) -> bool:
    """Have the BundleDeployment of the name taken over if that is asked for; returns True if it is. Raises CommandError if
    nothing would come of the request."""
    if not request.is_forced:
        if previous is None:
            await _check_claim(session, request)
            if not options["adopt"]:
                await check_left_installations(session, request.package, request.name)
        await _check(session, request, options["catalog"], previous)
    if not options["adopt"]:
        return False
    return await request_adoption(session, request.package, request.name, previous, is_dry_run=request.is_dry_run)


def _spec(package: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of the Operator, with the fields that were asked for."""
    catalog = options["catalog"]
    asked = {
        "version": options["version"],
        "channel": options["channel"],
        "catalogSelector": {"matchLabels": {NAME_LABEL: catalog}} if catalog else None,
        "upgradeConstraintPolicy": options["upgrade_constraint_policy"],
        "approval": options["approval"],
        "install": {"adoptionPolicy": policy} if (policy := options["adoption_policy"]) else None,
    }
    return {"packageName": package, **{key: value for key, value in asked.items() if value}}


async def apply_operator(session: Session, body: Object, *, is_forced: bool, is_dry_run: bool = False) -> Object:
    """Server-side apply of an Operator; returns it. Raises CommandError if others manage the same fields and it is not forced."""
    try:
        return await session.client.apply(operators.KIND, body, FIELD_MANAGER, force=is_forced, dry_run=is_dry_run)
    except Conflict as error:
        hint = "change it where it is managed, or take these fields over with --force"
        raise CommandError(REFUSED, f"{body['metadata']['name']}: {error.message}: {hint}") from error


async def _previous(session: Session, request: Request) -> Object | None:
    """The Operator as it is. Raises CommandError if it is that of another package."""
    try:
        found = await session.client.get(operators.KIND, request.name)
    except NotFound:
        return None
    package = text_at(found, "spec", "packageName")
    if package != request.package:
        text = f"an Operator {request.name} exists for package {package}: choose another name with --name"
        raise CommandError(REFUSED, text)
    return found


async def _await_deletion(session: Session, request: Request, options: Mapping[str, Any]) -> None:
    """Wait until the Operator is gone. Raises CommandError if the command is not to wait: nothing would come of the request."""
    if not options["wait"] or request.is_dry_run:
        later = "run the command again when it is gone (--wait waits for that, and installs it then)"
        raise CommandError(FAILED, f"{request.name} is being deleted: {later}")
    await wait_until_gone(session, [request.name], options["seconds"])


async def _check_claim(session: Session, request: Request) -> None:
    """Raises CommandError if another Operator manages the package: a second one would never be resolved."""
    names = [
        text_at(each, "metadata", "name")
        for each in (await installed_packages(session)).get(request.package, ())
        if not is_terminating(each)
    ]
    if names:
        text = f"package {request.package} is already managed by Operator {names[0]}"
        raise CommandError(REFUSED, f"{text}: change that one (olm upgrade {names[0]}), or create another with --force")


async def _check(session: Session, request: Request, catalog: str | None, previous: Object | None) -> None:
    """Raises CommandError if no catalog, or not the one that is named, has the package, its channel or its version."""
    try:
        entries = await offered_entries(session, request.package, catalog)
    except CommandError as error:
        raise CommandError(error.status, f"{error}; --force installs it when a catalog has it") from error
    channel, version = (request.spec.get(key, "") for key in ("channel", "version"))
    check_channel(entries, channel)
    await check_version(session, entries, version, previous)


def _print(request: Request, previous: Object | None, applied: Object, output: str | None) -> None:
    if output in ("json", "yaml"):
        print_object(without_managed_fields(applied), output)
    elif output == "name":
        print(f"{RESOURCE}/{request.name}")
    else:
        taken_over = previous is not None and is_dependency(previous)
        is_same = not taken_over and previous is not None and previous["spec"] == applied["spec"]
        verb = "created" if previous is None else "unchanged" if is_same else "configured"
        notes = " (server dry run)" * request.is_dry_run + f": {TAKEN_OVER}" * taken_over
        print(f"{RESOURCE}/{request.name} {verb}{notes}")
