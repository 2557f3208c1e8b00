"""Follows one object until something about it is true, with a line of progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError
from olmctl.operators.list import RESOURCE
from olmctl.questions.controller_state import not_running
from olmctl.questions.operator_state import (
    NOT_SEEN,
    Progress,
    condition,
    is_observed,
    is_terminating,
    progress,
    text_at,
)
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import ProgressLine, say
from olmkit.api import operators
from olmkit.api.meta import Kind, Object
from olmkit.errors import Gone, Unavailable
from olmkit.runtime.client import Client

RETRY_DELAY_SECONDS = 1.0
"""The pause before a watch that was cut is opened again."""


async def versions_of(
    client: Client, kind: Kind, name: str, namespace: str = ""
) -> AsyncGenerator[Object | None, None]:
    """The object as it is and after each change; None while it does not exist. Never ends: close it. Raises Forbidden."""
    selector = f"metadata.name={name}"
    while True:
        try:
            async for items, version in client.pages(kind, namespace or None, field_selector=selector):  # noqa: B007 used after the loop
                yield items[0] if items else None
            events = client.watch(kind, version, namespace or None, field_selector=selector)
            async with aclosing(events):
                async for event in events:
                    if event["type"] != "BOOKMARK":
                        yield None if event["type"] == "DELETED" else event["object"]
        except (Gone, Unavailable):
            await asyncio.sleep(RETRY_DELAY_SECONDS)


async def objects_of(client: Client, kind: Kind, *, label_selector: str) -> AsyncGenerator[Object, None]:
    """Each object of a cluster-scoped kind that is selected, as it is and after each change. Never ends: close it. Raises
    Forbidden."""
    while True:
        try:
            async for items, version in client.pages(kind, label_selector=label_selector):  # noqa: B007 used after the loop
                for item in items:
                    yield item
            async with aclosing(client.watch(kind, version, label_selector=label_selector)) as events:
                async for event in events:
                    if event["type"] in ("ADDED", "MODIFIED"):
                        yield event["object"]
        except (Gone, Unavailable):
            await asyncio.sleep(RETRY_DELAY_SECONDS)


async def wait_for_operator(
    session: Session, name: str, seconds: float, version: str = "", before: Object | None = None
) -> int:
    """Wait until the Operator is Ready, with that version if one is named, or cannot become so; print the outcome. `before` is
    the Operator as read before a request that is no part of its spec: while it has that status, no controller has seen the
    request.

    Returns 0 if it is Ready. Raises CommandError with what is in the way: FAILED, REFUSED if it waits for a person, or after
    `seconds` TIMED_OUT.
    """
    last = Progress(NOT_SEEN)

    def message(found: Object | None) -> str | None:
        nonlocal last
        if found is None:
            raise CommandError(FAILED, f"{name} was deleted")
        is_outdated = before is not None and found.get("status") == before.get("status")
        last = Progress(NOT_SEEN) if is_outdated else progress(found, version)
        is_over = last.needs_a_person or (last.has_succeeded and _is_version(found, version))
        return None if is_over else last.message

    late = f"not within {seconds:g} seconds: {{}} (olm why {name})"
    await follow(session, operators.KIND, name, session.time.deadline(seconds), message, late)
    if last.needs_a_person:
        raise ended_by(name, last)
    say(f"{RESOURCE}/{name} installed: {clean(last.message)}")
    return 0


def ended_by(name: str, found: Progress) -> CommandError:
    """The error with which a command ends that cannot reach what was requested of the Operator."""
    return CommandError(REFUSED if found.is_held else FAILED, f"{name}: {clean(found.message)}")


def _is_version(found: Object, version: str) -> bool:
    return not version or text_at(found, "status", "installed", "version") == version


class DeletedKind(NamedTuple):
    """The kind of objects that are deleted, its name for kubectl, and the progress before its controller reports."""

    kind: Kind
    resource: str
    not_seen: str


OPERATORS = DeletedKind(operators.KIND, RESOURCE, NOT_SEEN)


async def wait_until_gone(
    session: Session, names: Sequence[str], seconds: float, deleted: DeletedKind = OPERATORS
) -> None:
    """Wait until the objects are deleted, and print each. Raises CommandError with TIMED_OUT and what is in the way when the
    `seconds` are over for all of them together."""

    def message(found: Object | None) -> str | None:
        if found is None:
            return None
        if not is_terminating(found) or not is_observed(found):
            return deleted.not_seen
        return text_at(condition(found, "Ready"), "message")

    deadline = session.time.deadline(seconds)
    for name in names:
        late = f"not deleted within {seconds:g} seconds: {{}}"
        await follow(session, deleted.kind, name, deadline, message, late)
        say(f"{deleted.resource}/{name} deleted", flush=True)


async def follow(
    session: Session, kind: Kind, name: str, deadline: float, message: Callable[[Object | None], str | None], late: str
) -> None:
    """Show the message of each version of an object as the line of progress, until there is None.

    `deadline` is a time of the event loop: after it, raises CommandError with TIMED_OUT and `late`, which holds `{}` for the last
    message. If that is about operator-controller, it says so if it does not run.
    """
    line, last = ProgressLine(), NOT_SEEN
    try:
        async with (
            asyncio.timeout_at(deadline),
            aclosing(versions_of(session.client, kind, name)) as versions,
        ):
            async for found in versions:
                text = message(found)
                if text is None:
                    return
                last = text
                line.show(f"{name}: {last}")
    except TimeoutError:
        problem = await not_running(session) if last == NOT_SEEN else ""
        shown = f"{last}, but {problem}" if problem else last
        raise CommandError(TIMED_OUT, f"{name}: {late.replace('{}', shown)}") from None
    finally:
        line.end()
