"""The reasons why a question has no answer, or why what a person asks for would come to nothing. Messages are for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from olmkit.errors import ApiError, OlmError


class QuestionError(Exception):
    """The question has no answer now: something could not be read, or is not as it has to be."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NothingFound(QuestionError):
    """There is nothing of that name."""


class Refused(QuestionError):
    """The state of the cluster, or a policy, is against it; a person may decide otherwise."""


@contextmanager
def after(sentences: Sequence[str], kind: str = "warning") -> Iterator[None]:
    """Add what was found before an error of the block to it, as notes: each of the sentences, also those that the block adds to
    them, after `kind`."""
    try:
        yield
    except (ApiError, OlmError, QuestionError) as error:
        for each in sentences:
            error.add_note(f"{kind}: {each}")
        raise


def notes_of(error: BaseException) -> tuple[str, ...]:
    """The notes of an error and of its cause."""
    return *getattr(error, "__notes__", ()), *getattr(error.__cause__, "__notes__", ())
