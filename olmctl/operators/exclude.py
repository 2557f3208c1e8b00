"""`olm exclude OPERATOR VERSION`: keep a version from being chosen, or permit it again."""

from __future__ import annotations

import click

from olmctl.commands import REFUSED, CommandError, warn
from olmctl.operators.approve import kept_operator
from olmctl.operators.field_options import check_exact_version
from olmctl.operators.install import apply_operator
from olmctl.operators.list import RESOURCE
from olmctl.operators.session import on_cluster
from olmctl.questions.errors import NothingFound
from olmctl.questions.exclusions import (
    excluded_entry,
    other_managers,
    stays_note,
    with_exclusion,
    without_entry,
    without_own,
)
from olmctl.questions.offered_versions import check_version
from olmctl.questions.operator_state import text_at
from olmctl.questions.packages import package_objects
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import operators
from olmkit.api.meta import Object


@on_cluster
async def exclude(session: Session, operator: str, version: str, is_undone: bool, is_forced: bool) -> int:
    """Add VERSION to spec.excludedVersions of OPERATOR, or take it out."""
    check_exact_version(version)
    if is_forced and not is_undone:
        raise click.UsageError("--force goes with --undo")
    found = await kept_operator(session, operator)
    operator = found["metadata"]["name"]
    entry = excluded_entry(found, version)
    if is_undone:
        text = await _permit(session, found, entry, is_forced=is_forced) if entry else f"unchanged: permits {version}"
    else:
        text = f"unchanged: excludes {entry}" if entry else await _exclude(session, found, version)
    say(f"{RESOURCE}/{operator} {clean(text)}")
    return 0


async def _exclude(session: Session, found: Object, version: str) -> str:
    try:
        entries = await package_objects(session, text_at(found, "spec", "packageName"))
        await check_version(session, entries, version, found)
    except NothingFound as error:  # a version that is not there yet is excluded beforehand
        warn(error.message)
    await apply_operator(session, with_exclusion(found, version), is_forced=False)
    stays = stays_note(found, version)
    return f"configured: excludes {version}{f'; {stays}' if stays else ''}"


async def _permit(session: Session, found: Object, entry: str, *, is_forced: bool) -> str:
    """Take the entry out. Raises CommandError if others exclude the version too, and it is not forced."""
    name = found["metadata"]["name"]
    others = other_managers(found, entry)
    if others and not is_forced:
        whose = ", ".join(map(clean, others))
        raise CommandError(
            REFUSED,
            f"{name}: {clean(entry)} is excluded by {whose}: permit it there, or use --force to take it out here",
        )
    if (kept := without_own(found, entry)) is not None:
        found = await apply_operator(session, kept, is_forced=False)
    if (patch := without_entry(found, entry)) is not None:
        await session.client.patch(operators.KIND, name, patch)
    return f"configured: permits {entry}"
