"""`olm install PACKAGE`: create the Operator for a package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from olmctl.commands import FAILED, REFUSED, CommandError
from olmctl.object_text import without_managed_fields
from olmctl.operators.field_options import check_fields
from olmctl.operators.follow import ended_by, wait_for_operator, wait_until_gone
from olmctl.operators.list import RESOURCE
from olmctl.operators.output import print_object
from olmctl.operators.session import on_cluster
from olmctl.questions.adoption import adoption_of
from olmctl.questions.exclusions import check_not_excluded
from olmctl.questions.install import InstallRequest, existing_operator, install_check, install_request
from olmctl.questions.operator_state import is_terminating, is_true, obstacle
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api import bundledeployments, operators
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType
from olmkit.api.ownership import is_dependency
from olmkit.errors import Conflict

TAKEN_OVER = "it was installed as a dependency, and is kept from now on, also if nothing requires it"
"""The consequence of a request for an Operator that was created as a dependency."""


@on_cluster
async def install(session: Session, package: str, name: str | None, **options: Any) -> int:
    """Install PACKAGE: create an Operator for it, or change the one that exists to this request."""
    if options["adopt"] and options["export"]:
        raise click.UsageError("--adopt changes the BundleDeployment on the cluster, and --export uses none")
    request, is_dry_run = install_request(package, name, **options), bool(options["dry_run"])
    check_fields(request.spec)
    if options["export"]:
        print_object(request.manifest, "json" if options["output"] == "json" else "yaml")
        return 0
    previous = await existing_operator(session, request)
    if previous is not None and is_terminating(previous):
        await _await_deletion(session, request, options)
        previous = None
    is_adopting = await _prepare(session, request, options, previous)
    manifest = request.manifest_over(previous)
    applied = await apply_operator(session, manifest, is_forced=options["force"], is_dry_run=is_dry_run)
    _print(request, previous, applied, options)
    if is_dry_run:
        return 0
    before = previous if is_adopting else None
    if options["wait"]:
        return await wait_for_operator(session, request.name, options["seconds"], before=before)
    if not is_adopting and not is_true(applied, ConditionType.READY) and (found := obstacle(applied)):
        raise ended_by(request.name, found)
    return 0


async def _prepare(
    session: Session, request: InstallRequest, options: Mapping[str, Any], previous: Object | None
) -> bool:
    """Have the BundleDeployment of the name taken over if that is asked for; returns True if it is. Raises QuestionError if
    nothing would come of the request."""
    if previous is not None:
        check_not_excluded(previous, request.spec.get("version") or "")
    if not options["force"]:
        check = await install_check(session, request, previous, is_adopting=options["adopt"])
        _print_notes(check.notes)
        if check.problem is not None:
            raise check.problem
    if not options["adopt"]:
        return False
    adoption = await adoption_of(session, request.package, request.name, previous)
    if adoption is None:
        return False
    _print_notes(adoption.notes)
    if not options["dry_run"]:
        await session.client.patch(bundledeployments.KIND, request.name, adoption.patch)
    return True


def _print_notes(notes: Iterable[str]) -> None:
    for each in notes:
        say(f"note: {each}", err=True)


async def apply_operator(session: Session, body: Object, *, is_forced: bool, is_dry_run: bool = False) -> Object:
    """Server-side apply of an Operator; returns it. Raises CommandError if others manage the same fields and it is not forced."""
    try:
        return await session.client.apply(operators.KIND, body, FIELD_MANAGER, force=is_forced, dry_run=is_dry_run)
    except Conflict as error:
        hint = "change it where it is managed, or take these fields over with --force"
        raise CommandError(REFUSED, f"{body['metadata']['name']}: {error.message}: {hint}") from error


async def _await_deletion(session: Session, request: InstallRequest, options: Mapping[str, Any]) -> None:
    """Wait until the Operator is gone. Raises CommandError if the command is not to wait: nothing would come of the request."""
    if not options["wait"] or options["dry_run"]:
        later = "run the command again when it is gone (--wait waits for that, and installs it then)"
        raise CommandError(FAILED, f"{request.name} is being deleted: {later}")
    await wait_until_gone(session, [request.name], options["seconds"])


def _print(request: InstallRequest, previous: Object | None, applied: Object, options: Mapping[str, Any]) -> None:
    output = options["output"]
    if output in ("json", "yaml"):
        print_object(without_managed_fields(applied), output)
    elif output == "name":
        say(f"{RESOURCE}/{request.name}")
    else:
        taken_over = previous is not None and is_dependency(previous)
        is_same = not taken_over and previous is not None and previous["spec"] == applied["spec"]
        verb = "created" if previous is None else "unchanged" if is_same else "configured"
        notes = " (server dry run)" * bool(options["dry_run"]) + f": {TAKEN_OVER}" * taken_over
        say(f"{RESOURCE}/{request.name} {verb}{notes}")
