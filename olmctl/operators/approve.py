"""`olm approve OPERATOR`: approve the version that waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmctl.commands import FAILED, REFUSED, CommandError, report_notes, warn
from olmctl.operators.bundle_reader import summary_or_image
from olmctl.operators.follow import wait_for_operator
from olmctl.operators.list import RESOURCE
from olmctl.operators.session import on_cluster
from olmctl.questions.bundle_summaries import summaries_of
from olmctl.questions.difference import approval_check
from olmctl.questions.errors import QuestionError
from olmctl.questions.left_installations import operator_named
from olmctl.questions.operator_state import (
    available_text,
    available_version,
    awaits_approval,
    installed,
    is_approved,
    is_terminating,
    progress,
    refusal,
    text_at,
)
from olmctl.questions.session import Session
from olmctl.questions.upgrade import approval_patch
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import operators
from olmkit.api.meta import Object
from olmkit.api.operators import Reason
from olmkit.errors import ApiError, OlmError
from operator_controller.resolve.answers.answer import KeptOutBy


@on_cluster
async def approve(
    session: Session, operator: str, version: str | None, force: bool, wait: bool, seconds: float, **options: Any
) -> int:
    """Approve the version that waits for approval of OPERATOR, unless the upgrade would be refused."""
    found = await kept_operator(session, operator)
    operator = found["metadata"]["name"]
    pending = available_version(found)
    if version is not None and version != pending:
        waiting = f"version {version} does not wait for approval: {pending or 'no version'} does"
        raise CommandError(FAILED, f"{waiting}{_but(found)}")
    if awaits_approval(found):
        if not force:
            await check_approval(session, found, options)
        await approve_version(session, found, pending)
        say(f"{RESOURCE}/{operator} approved: version {clean(pending)}")
    else:
        say(f"{RESOURCE}/{operator} {_nothing_to_approve(found, is_awaited=wait)}")
    return await wait_for_operator(session, operator, seconds, pending) if wait else 0


def _nothing_to_approve(found: Object, *, is_awaited: bool) -> str:
    """Explain why there is nothing to approve. Raises CommandError with that if a version is not installed for another reason;
    with `is_awaited` not if that may still change."""
    name, pending = found["metadata"]["name"], available_version(found)
    if is_approved(found):
        return f"is approved already: version {clean(pending)}"
    if pending:
        text = f"needs no approval: version {available_text(found)}"
        raise CommandError(status_of_waiting(found), clean(f"{name} {text}"))
    text = f"has no version that waits for approval{_but(found)}"
    if refusal(found) and (progress(found).has_failed or not is_awaited):
        raise CommandError(FAILED, f"{name} {text}")
    return text


def _but(found: Object) -> str:
    refused = refusal(found)
    return f": it is {clean(refused)}" if refused else ""


def status_of_waiting(found: Object) -> int:
    """The exit status for a version that is available and waits: REFUSED if the spec of the Operator keeps it out."""
    is_unwanted = text_at(found, "status", "available", "reason") in (Reason.PAUSED, KeptOutBy.VERSION)
    return REFUSED if is_unwanted else FAILED


async def kept_operator(session: Session, name: str) -> Object:
    """The Operator as it is. Raises CommandError if it is being deleted, NotFound."""
    found = await operator_named(session, name)
    if is_terminating(found):
        raise CommandError(FAILED, f"{name} is being deleted: olm install installs it again when it is gone")
    return found


async def check_approval(session: Session, found: Object, options: Mapping[str, Any]) -> None:
    """Raises CommandError if the upgrade to the version that waits would be refused; warns if that is not known. `options` are
    those of olmctl.cli.options.image_options()."""
    name = found["metadata"]["name"]
    if not installed(found):
        return
    try:
        summaries = await summaries_of(session, found)
        check = await approval_check(session, found, summary_or_image(summaries, options, session))
    except (ApiError, OlmError, QuestionError, CommandError) as error:
        report_notes(error)
        warn(f"whether the upgrade would be refused is not known: {clean(str(error))}")
        return
    for each in filter(None, (*summaries.notes, *check.unread, clean(check.permitted_loss))):
        warn(each)
    if check.refusals:
        text = f"the upgrade of {name} would be refused: {clean('; '.join(check.refusals))}"
        raise CommandError(REFUSED, f"{text}; olm diff {name} shows everything, --force approves it all the same")


async def approve_version(session: Session, found: Object, version: str) -> None:
    """Set the annotation, unless the Operator has changed since it was read. Raises Conflict."""
    await session.client.patch(operators.KIND, found["metadata"]["name"], approval_patch(found, version))
