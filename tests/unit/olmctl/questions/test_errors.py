"""What a question has found before an error is printed before the error."""

from __future__ import annotations

import pytest

from olmctl.commands import CommandError, reports_errors
from olmctl.questions.errors import NothingFound, QuestionError, Refused, after
from olmkit.errors import ApiError, Forbidden, NotFound


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(QuestionError("x"), 1, id="no answer"),
        pytest.param(NothingFound("x"), 3, id="nothing of that name"),
        pytest.param(Refused("x"), 5, id="refused"),
        pytest.param(NotFound(404, "NotFound", "x"), 3, id="no object"),
        pytest.param(Forbidden(403, "Forbidden", "x"), 5, id="forbidden"),
        pytest.param(ApiError(405, "x", "x"), 1, id="another answer of the API server"),
    ],
)
def test_an_error_has_notes_and_a_status(error: Exception, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = ["it is old"]

    @reports_errors
    def command() -> int:
        with after(["it is taken over"], "note"), after(found):
            found.append("it is incomplete")
            raise error

    assert command() == status
    assert capsys.readouterr() == (
        "",
        "warning: it is old\nwarning: it is incomplete\nnote: it is taken over\nx\n",
    )


def test_an_error_of_a_command_has_the_notes_of_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    @reports_errors
    def command() -> int:
        try:
            with after(["it is old"]):
                raise NothingFound("x")
        except QuestionError as error:
            raise CommandError(4, "y") from error

    assert (command(), capsys.readouterr().err) == (4, "warning: it is old\ny\n")
