"""The declaration of the unpack job: its request and its result. The function is in rukpak.bundle.unpack_job.

Separate from it, because only child processes import the code that reads bundles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from olmkit.jobs.job import Job
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.source import Source
from rukpak.bundle.unpack_result import UnpackResult


@dataclass(frozen=True)
class UnpackRequest:
    """The source to unpack, and the way to reach its server. `store` is the directory of the store."""

    source: Source
    content_type: str
    """ "registry+v1" or "plain+v0"."""
    store: Path
    access: Access
    replace: bool = False
    """True if content that the store holds as another type is unpacked again."""


UNPACK = Job("rukpak.bundle.unpack_job:unpack", UnpackRequest, UnpackResult, errors=(BadContent,), parses=True)
