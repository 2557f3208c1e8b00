"""Which error an HTTP code becomes, and that errors survive the way out of a child process."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from olmkit.errors import (
    ApiError,
    Blocked,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    OlmError,
    Unavailable,
    Waiting,
    api_error,
)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(0, Unavailable, id="no answer may become one"),
        pytest.param(400, Invalid, id="a bad request stays bad"),
        pytest.param(401, Forbidden, id="nobody"),
        pytest.param(403, Forbidden, id="somebody who may not"),
        pytest.param(404, NotFound, id="not there"),
        pytest.param(409, Conflict, id="somebody was faster"),
        pytest.param(410, Gone, id="too old"),
        pytest.param(418, ApiError, id="a code nobody expects is an ApiError and nothing more"),
        pytest.param(422, Invalid, id="refused by a schema"),
        pytest.param(429, Unavailable, id="too many requests"),
        pytest.param(500, Unavailable, id="broken"),
        pytest.param(504, Unavailable, id="timed out"),
    ],
)
def test_api_error(status: int, expected: type[ApiError]) -> None:
    error = api_error(status, "Reason", "message")
    assert type(error) is expected
    assert (error.status, error.reason, error.message, str(error)) == (status, "Reason", "message", "message")


def test_an_answer_without_message_speaks_by_its_reason() -> None:
    assert str(api_error(404, "NotFound", "")) == "NotFound"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OlmError("Reason", "message"), id="OlmError"),
        pytest.param(Blocked("Reason", "message"), id="Blocked"),
        pytest.param(Waiting("Reason", "message", timedelta(seconds=5)), id="Waiting"),
    ],
)
def test_an_outcome_crosses_a_process_border_as_itself(error: OlmError) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert vars(arrived) == vars(error)
    assert str(arrived) == "message"


def test_an_error_whose_message_was_completed_is_printed_with_it() -> None:
    error = Blocked("Reason", "the registry has no such image")
    error.message += ": push it"
    assert str(error) == "the registry has no such image: push it"
