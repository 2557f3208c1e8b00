"""Every error of the suite, and what the work queue does about each.

    OlmError(reason, message)          the reason is API, the message is for people, `subject` tells two of one reason apart
      Blocked                          spec, content or cluster must change; whatever can lift it is watched: no retry
      Waiting(after)                   nothing is wrong yet; check again after that time
    ApiError(status, reason, message)  an answer of the API server that is no success
      NotFound                         404
      Conflict                         409, an optimistic lock or a create-only apply that lost; the queue backs off in silence
      Gone                             410, the resourceVersion is too old: list again
      Invalid                          422 and 400, the object is refused as it is
      Forbidden                        401 and 403
      Unavailable                      429, 5xx, and no answer at all

Anything else that is raised in a pass is unexpected: the queue backs off and logs it with its traceback, once per attempt.
Never holds a secret, an address that changes or a time: a message that differs each pass would be a hot loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple


def encodable(text: str) -> str:
    """The text without lone surrogates, which stand for bytes of a file name or of a manifest that are no UTF-8, as escapes.

    No JSON can be made of one: a status, a response or a log line with it would be lost.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class OlmError(Exception):
    """An outcome with a reason (CamelCase, part of the API) and a message for people.

    `subject`: names of what it is about, such as the keys of objects, and of what is wrong with it where a reason does not tell.
    They decide whether an error is another one than the last of the same reason, which has an Event: so they never change from
    one attempt to the next, as counts, times, ports and names of pods do.
    """

    def __init__(self, reason: str, message: str, subject: Iterable[str] = ()) -> None:
        message = encodable(message)
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.subject = tuple(sorted({encodable(name) for name in subject}))

    def __str__(self) -> str:
        return self.message  # which those who raise the error again may have completed

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.subject)


class Blocked(OlmError):
    """Nothing is retried until something that is watched changes."""


class Waiting(OlmError):
    """The object is checked again after `after`, or earlier when something that is watched changes."""

    def __init__(self, reason: str, message: str, after: timedelta, subject: Iterable[str] = ()) -> None:
        super().__init__(reason, message, subject)
        self.after = after

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.after, self.subject)


class FieldCause(NamedTuple):
    """A cause in metav1.Status.details: a field, such as `spec.size`, and what is wrong with it, or who manages it."""

    field: str
    message: str


class ApiError(Exception):
    """The answer of the API server to a request that failed. `status` is the HTTP code, 0 when there was no answer; `reason` is
    metav1.Status.reason; `retry_after` are the seconds of the header Retry-After, None without it; `is_about_fields` is True if
    each cause in metav1.Status.details names a field, as validation does and no admission policy; `causes` are those with a
    field."""

    retry_after: int | None = None
    is_about_fields: bool = False
    causes: tuple[FieldCause, ...] = ()
    is_of_service: bool = False
    """True if a service behind the API server has answered, in its own words."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message or reason)
        self.status = status
        self.reason = reason
        self.message = message or reason


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class Conflict(ApiError):
    """409: another client wrote first, or the object exists already."""


class Gone(ApiError):
    """410: the resourceVersion asked for is too old."""


class Invalid(ApiError):
    """400 or 422: the API server refuses the object as it is."""


class Forbidden(ApiError):
    """401 or 403: this ServiceAccount is not allowed, or an admission webhook denied the request."""


class Unavailable(ApiError):
    """429, 5xx or no answer: the same request may succeed later."""


def api_error(status: int, reason: str, message: str) -> ApiError:
    """The ApiError for an HTTP code."""
    by_status: dict[int, type[ApiError]] = {
        400: Invalid,
        401: Forbidden,
        403: Forbidden,
        404: NotFound,
        409: Conflict,
        410: Gone,
        422: Invalid,
    }
    if status == 0 or status == 429 or status >= 500:
        return Unavailable(status, reason, message)
    return by_status.get(status, ApiError)(status, reason, message)
