"""Makes a result or an OlmError of the answer of a child, or of the exit status of one that sent none."""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
import orjson

from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.jobs import codec
from olmkit.jobs.job import Job, JobReason, Limits

Result = TypeVar("Result")

FIRST_RETRY_DELAY = timedelta(seconds=5)
MAX_RETRY_DELAY = timedelta(minutes=5)


def outcome_of(job: Job[Any, Result], message: object) -> Result | OlmError:
    """Decode the answer of the child. Raises ValueError for what is no answer."""
    match message:
        case {"result": result}:
            return codec.decode(job.result, result)
        case {"error": dict(error)}:
            return codec.decode_error(error, job.errors)
        case {"memory": True}:
            return Blocked(JobReason.OUT_OF_MEMORY, "it needs more memory than one job may use")
        case {"unexpected": str(text)}:
            return Waiting(JobReason.UNEXPECTED, f"unexpected error: {text}", FIRST_RETRY_DELAY)
    raise ValueError("the job's answer cannot be read")


class _Answer(msgspec.Struct):
    """An answer whose result is not decoded yet: it may be large."""

    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def outcome_of_line(job: Job[Any, Result], line: bytes) -> Result | OlmError:
    """As outcome_of(), from JSON text."""
    result = msgspec.json.decode(line, type=_Answer).result
    if isinstance(result, msgspec.Raw):
        return codec.from_json(job.result, result)
    return outcome_of(job, orjson.loads(line))


def error_of_exit(status: int, limits: Limits) -> OlmError:
    """Explain why a child ended without an answer. Blocked if its input surely caused it, Waiting if the machine may have."""
    number = status & 0x7F
    if number == signal.SIGXCPU:
        return Blocked(JobReason.TOO_LONG, f"it needs more than {_seconds(limits.cpu_seconds)} of CPU time")
    if number == signal.SIGKILL:
        text = "the process of the job was killed, most likely because the machine is short of memory"
        return Waiting(JobReason.OUT_OF_MEMORY, text, FIRST_RETRY_DELAY)
    if number:
        return Blocked(JobReason.CRASHED, f"the process of the job crashed ({signal.Signals(number).name})")
    text = f"the process of the job ended without an answer (exit status {status >> 8})"
    return Waiting(JobReason.UNEXPECTED, text, FIRST_RETRY_DELAY)


def timeout_error(limits: Limits) -> OlmError:
    """The error of a job whose time ran out."""
    text = f"it took longer than {_seconds(limits.timeout.total_seconds())} and was ended"
    return Waiting(JobReason.TOO_LONG, text, MAX_RETRY_DELAY)


def lost_error(failure: str = "") -> OlmError:
    """The error of a job whose process or answer was lost. `failure`: why no process can be started, if that is why."""
    text = f"no process can be started for the job: {failure}" if failure else "the process of the job was lost"
    return Waiting(JobReason.UNEXPECTED, text, FIRST_RETRY_DELAY)


def _seconds(value: float) -> str:
    return f"{value:g} s"
