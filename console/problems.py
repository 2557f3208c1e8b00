"""The page for each error that a handler may raise: its status, and what a person reads.

Nothing here contains more than the API server has said to this user. An error that nobody expected has an id, which is in the
log.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass

from pydantic import ValidationError

from console.page import BadInput, NotThere
from console.users import TooManySessions
from console.views.errors import ErrorView
from olmctl.questions.errors import NothingFound, QuestionError, Refused
from olmkit.errors import ApiError, Conflict, Forbidden, Gone, Invalid, NotFound, OlmError, Unavailable

log = logging.getLogger(__name__)
MAX_MESSAGE = 2000


@dataclass(frozen=True)
class Problem:
    """An answer instead of a page."""

    status: int
    view: ErrorView


def problem_of(error: Exception, path: str) -> Problem:
    """The page for an error of a handler."""
    if isinstance(error, BadInput):
        name = f"{error.name}: " if error.name else ""
        return _problem(400, "This request cannot be answered", f"{name}{error.message}.")
    if isinstance(error, NotThere):
        return _problem(404, "Not found", error.message, similar=error.similar)
    if isinstance(error, NothingFound):
        return _problem(404, "Not found", error.message)
    if isinstance(error, QuestionError):
        return _problem(409 if isinstance(error, Refused) else 400, "This cannot be done", error.message)
    if isinstance(error, TooManySessions):
        return _problem(
            503, "Too many sessions", "This console has as many sessions as it can have. Try again in a minute."
        )
    if isinstance(error, ApiError):
        return _problem_of_api(error)
    if isinstance(error, OlmError):
        return _problem(400, "This cannot be done", error.message)
    return _unexpected(error, path)


def _problem_of_api(error: ApiError) -> Problem:
    if isinstance(error, NotFound):
        return _problem(404, "Not found", error.message)
    if isinstance(error, Forbidden):
        return _problem(403, "You may not do this", error.message, command=_can_i(error.message))
    if isinstance(error, Conflict | Gone):
        return _problem(409, "Somebody else has changed this", f"{error.message}. Load the page again.")
    if isinstance(error, Invalid):
        return _problem(400, "The API server refuses this", error.message)
    if isinstance(error, Unavailable) and error.status == 0:
        text = "The API server of the cluster does not answer. This page works again when it does."
        return _problem(503, "The cluster does not answer", text)
    return _problem(503, "The cluster cannot answer now", error.message)


def _can_i(message: str) -> str:
    """The command that asks the same as a refusal of the API server: `cannot patch resource "operators" in API group "g" …`."""
    words = message.split('"')
    verb = message.partition(" cannot ")[2].partition(" ")[0]
    if not verb.isalpha() or 'resource "' not in message or len(words) < 4:
        return ""
    resource = message.partition('resource "')[2].partition('"')[0]
    group = message.partition('in API group "')[2].partition('"')[0]
    namespace = message.partition('in the namespace "')[2].partition('"')[0]
    texts = (resource, group, namespace)
    if not all(each.replace("-", "").replace(".", "").replace("/", "").isalnum() or not each for each in texts):
        return ""
    plural, _, subresource = resource.partition("/")
    command = f"kubectl auth can-i {verb} {plural}{f'.{group}' if group else ''}"
    command += f" --subresource={subresource}" if subresource else ""
    return f"{command} -n {namespace}" if namespace else command


def _unexpected(error: Exception, path: str) -> Problem:
    identity = secrets.token_hex(4)
    facts = {"id": identity, "path": path[:200]}
    if isinstance(error, ValidationError):  # its text has the values that it refuses
        log.error("an object cannot be read", extra={**facts, "error": error.title, "count": error.error_count()})
    else:
        log.error("a page failed", extra=facts, exc_info=error)
    return _problem(
        500, "The console failed", "This is an error of the console. Its log says more under this id.", id=identity
    )


def _problem(
    status: int, title: str, message: str, *, command: str = "", similar: tuple[tuple[str, str], ...] = (), id: str = ""
) -> Problem:
    return Problem(status, ErrorView(title, message[:MAX_MESSAGE], command, similar, id))
