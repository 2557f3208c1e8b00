"""The code that all commands of olmctl share: how they run, which exit status they end with, and how errors are printed.

Exit status 0: done; 1: refused or failed, with the reason on standard error; 2: wrong usage; 130: interrupted, also by SIGTERM.
Commands that use a cluster also end with 3: not found; 4: not in time; 5: refused by a policy, or a confirmation is missing.
"""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ParamSpec

import click

from olmctl.questions.errors import NothingFound, QuestionError, Refused, notes_of
from olmctl.terminal_output import TerminalStream, say
from olmkit.errors import ApiError, Forbidden, NotFound, OlmError

FAILED = 1
WRONG_USAGE = 2
NOT_FOUND = 3
TIMED_OUT = 4
REFUSED = 5
INTERRUPTED = 130
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
"""Settings of the context of every command."""

Parameters = ParamSpec("Parameters")


class CommandError(Exception):
    """A command ends with this exit status and this message on standard error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class OwnStatusError(CommandError):
    """A command that has a meaning of its own for this exit status ends with it."""


def run(command: click.Command, program: str, arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit status. `arguments` are those of the process when None.

    Raises SystemExit with status 2 for wrong usage, after the message has been printed.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # trees are drawn in every locale
            if stream.isatty() and not isinstance(stream, TerminalStream):
                shown = TerminalStream(stream.detach(), "utf-8", "backslashreplace", line_buffering=True)
                setattr(sys, name, shown)
    try:
        status: int | None = command.main(arguments, prog_name=program, standalone_mode=False)
    except click.ClickException as error:
        _show(error)
        raise SystemExit(error.exit_code) from None
    except click.Abort:
        return INTERRUPTED
    except OSError as error:  # help and completion are printed by click
        return _fail_to_write(error)
    return status or 0


def reports_errors(callback: Callable[Parameters, int]) -> Callable[Parameters, int]:
    """Wrap the callback of a command: errors that a user can cause are printed without a traceback and become exit statuses."""

    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> int:
        try:
            status = callback(*args, **kwargs)
            sys.stdout.flush()
        except OSError as error:
            return _fail_to_write(error)
        except (CommandError, ApiError, QuestionError, OlmError) as error:
            return _fail_with_notes(error)
        return status

    @functools.wraps(callback)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> int:
        try:
            with _interrupted_by_sigterm():
                return checked(*args, **kwargs)
        except KeyboardInterrupt:  # also one that arrives while another error is reported
            _discard_stdout()
            return INTERRUPTED

    return wrapped


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl+C does: it cleans up, and says what stays. A process that is forked from this one ends
    at once."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    process = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # a shell starts background processes with SIGINT ignored
            raise KeyboardInterrupt
        handler(number, frame)  # that of asyncio cancels the task of the command

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _fail_with_notes(error: CommandError | ApiError | QuestionError | OlmError) -> int:
    """Print an error after what was found before it; returns its exit status."""
    report_notes(error)
    if isinstance(error, CommandError) and error.status == WRONG_USAGE and not isinstance(error, OwnStatusError):
        _show(click.UsageError(str(error), click.get_current_context(silent=True)))
        return WRONG_USAGE
    if isinstance(error, CommandError):
        return fail(error, error.status)
    if isinstance(error, OlmError):
        return fail(error)
    return fail(error.message, status_of(error))


def _show(error: click.ClickException) -> None:
    """Print an error as click does, which repeats arguments."""
    text = io.StringIO()
    error.show(text)
    with suppress(OSError):
        say(text.getvalue(), err=True, end="")


def report_notes(error: BaseException) -> None:
    """Print to standard error what was found before an error."""
    for each in notes_of(error):
        say(each, err=True)


def status_of(error: ApiError | QuestionError) -> int:
    """The exit status for an error of the API server, or for a question without an answer."""
    if isinstance(error, NotFound | NothingFound):
        return NOT_FOUND
    return REFUSED if isinstance(error, Forbidden | Refused) else FAILED


def fail(message: object, status: int = FAILED) -> int:
    """Print a line to standard error, if it can be written; returns the exit status of a failure."""
    with suppress(OSError):
        say(message, err=True)
    return status


def warn(message: str) -> None:
    """Print a warning to standard error."""
    say(f"warning: {message}", err=True)


def _fail_to_write(error: OSError) -> int:
    """Report an error of a file or of the output; returns the exit status."""
    _discard_stdout()
    if isinstance(error, BrokenPipeError):
        return FAILED  # the reader has ended, as `head` does
    return fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error)


def _discard_stdout() -> None:
    """Drop what could not be printed, so that the flush at the exit of the process does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
