"""The declaration of the job that unpacks a bundle: its request and its result. The function is rukpak.bundle.unpack_job's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from olmkit.jobs import Job
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent


@dataclass(frozen=True)
class UnpackRequest:
    """Which image, and how its registry is reached. `store` is the folder of the Store."""

    ref: str
    content_type: str
    """How the content is read: "registry+v1" or "plain+v0"."""
    store: Path
    access: Access
    replace: bool = False
    """Whether content that the store holds, read as another type, is read again."""


@dataclass(frozen=True)
class UnpackResult:
    """The image that was found; `ref` is by digest."""

    ref: str
    digest: str
    staged: bool = False
    """The content is in the folder of the job; else it is in the store already."""
    problem: str = ""
    """Why the content can never be used: a sentence for people. "" when it can."""


UNPACK = Job("rukpak.bundle.unpack_job:unpack", UnpackRequest, UnpackResult, errors=(BadContent,), parses=True)
