"""The job that finds out what would be installed, with its request and its result. Cheap to import: starts nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from olmkit.jobs.job import Job, Limits


@dataclass(frozen=True)
class PreviewRequest:
    """A package of a catalog, what is installed by package, and the resolution documents that it may depend on."""

    catalog: str
    package: str
    version: str
    channel: str
    installed: dict[str, str]
    documents: dict[str, Any]


@dataclass(frozen=True)
class PreviewedBundle:
    """A bundle that would be installed, or stay, and why."""

    package: str
    version: str
    catalog: str
    because: tuple[str, ...]


@dataclass(frozen=True)
class PreviewResult:
    """The bundles, or why there are none; `problem` is why nothing was computed."""

    bundles: tuple[PreviewedBundle, ...] = ()
    refusal: str = ""
    problem: str = field(default="")
    is_late: bool = False
    """True if its time ran out: the same request may succeed later."""


PREVIEW: Final = Job("console.preview_job:resolve", PreviewRequest, PreviewResult)
LIMITS: Final = Limits(memory_bytes=256 * 1024 * 1024, cpu_seconds=300, timeout=timedelta(seconds=2))
"""The limits of one preview; the CPU time is that of a process, which makes many."""
