"""`olm uninstall OPERATOR`: say what will be deleted, ask, and delete the Operator."""

from __future__ import annotations

import sys

import click

from olmctl.commands import REFUSED, CommandError
from olmctl.operators.follow import wait_until_gone
from olmctl.operators.list import RESOURCE
from olmctl.operators.session import on_cluster
from olmctl.questions.left_installations import operator_named
from olmctl.questions.operator_state import is_terminating
from olmctl.questions.owners import deletion_refusal
from olmctl.questions.removal import removal_of
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api import operators


@on_cluster
async def uninstall(
    session: Session, operator: str, is_confirmed: bool, dry_run: bool, wait: bool, seconds: float
) -> int:
    """Uninstall OPERATOR with all objects of its bundle, its CRDs and their custom resources, after naming them."""
    found = await operator_named(session, operator)
    operator = found["metadata"]["name"]
    if not (dry_run or is_terminating(found)) and (refusal := deletion_refusal(found)):
        raise CommandError(REFUSED, refusal)
    removal = await removal_of(session, found)
    for line in removal.lines:
        say(line, err=not dry_run)
    if dry_run:
        return 0
    if not is_confirmed:
        confirm_deletion(session, operator)
    await session.client.delete(operators.KIND, operator, uid=found["metadata"]["uid"])
    if wait:
        await wait_until_gone(session, (operator, *removal.dependencies), seconds)
    else:
        say(f"{RESOURCE}/{operator} deletion requested")
    return 0


def confirm_deletion(session: Session, name: str) -> None:
    """Ask a person for the deletion of an object. Raises CommandError unless that is confirmed, also if there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(REFUSED, f"{name} is not deleted: confirm it with --yes")
    if not click.confirm("Delete all of this?", err=True):
        raise CommandError(REFUSED, f"{name} is not deleted")
    session.time.begin()
