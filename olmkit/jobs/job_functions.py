"""The functions of jobs, by the name that their Job declares. A child process calls only what is registered here.

`implement` is called by the module that holds the function, when it is imported; `find` by child processes.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from olmkit.jobs.job import Job, JobContext

Request = TypeVar("Request")
Result = TypeVar("Result")

Function: TypeAlias = Callable[[Request, JobContext], Result | Awaitable[Result]]
Probe: TypeAlias = Callable[[Request], Awaitable[Result | None]]


@dataclass(frozen=True)
class Implementation(Generic[Request, Result]):
    """A job with its function, and with its probe if it has one."""

    job: Job[Request, Result]
    function: Function[Request, Result]
    probe: Probe[Request, Result] | None


_registered: dict[str, Implementation[Any, Any]] = {}


def implement(
    job: Job[Request, Result], function: Function[Request, Result], *, probe: Probe[Request, Result] | None = None
) -> None:
    """Register the function of a job. Raises ValueError when the job declares another name."""
    name = f"{function.__module__}:{function.__qualname__}"
    if name != job.function:
        raise ValueError(f"{name} is not the function of the job, which is {job.function}")
    _registered[name] = Implementation(job, function, probe)


def find(name: str) -> Implementation[Any, Any]:
    """The implementation of "module:name", whose module is imported. Raises ImportError, LookupError."""
    importlib.import_module(name.partition(":")[0])
    if name not in _registered:
        raise LookupError(f"no function of a job is registered as {name}")
    return _registered[name]
