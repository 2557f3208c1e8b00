"""The declaration of the job that renders a chart: its request and its result. The function is in rukpak.charts.template_job.

Separate from it, because only child processes start helm and read what it prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from olmkit.jobs.job import Job, Limits
from rukpak.charts.values import ValuesLayer
from rukpak.format.errors import BadBundle

LIMITS = Limits(
    memory_bytes=512 * 1024**2, reserved_bytes=1024**3, cpu_seconds=60, timeout=timedelta(minutes=2), open_files=64
)


@dataclass(frozen=True)
class TemplateRequest:
    """A chart, and what it is rendered with."""

    program: Path
    """The program helm."""
    chart: Path
    """The directory of its files."""
    name: str
    namespace: str
    kube_version: str
    api_versions: tuple[str, ...]
    """group/version and group/version/Kind of everything that the cluster serves."""
    is_upgrade: bool
    layers: tuple[ValuesLayer, ...] = field(repr=False)


@dataclass(frozen=True)
class TemplateResult:
    """A rendering. `content` is the compressed JSON of rukpak.charts.rendering."""

    content: bytes = field(repr=False)
    digest: str
    """The digest of the rendering without what differs each time."""
    uses_api_versions: bool
    """True if other API versions may give other objects."""


TEMPLATE = Job("rukpak.charts.template_job:template", TemplateRequest, TemplateResult, errors=(BadBundle,))
