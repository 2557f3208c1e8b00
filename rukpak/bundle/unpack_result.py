"""The result of the unpack job as a value, for the World and for the job. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class UnpackResult:
    """The result of the unpack job: `resolved` is the value of status.resolvedSource, and `digest` its content_digest."""

    resolved: dict[str, Any]
    digest: str
    staged: bool = False
    """The content is in the staging directory of the job; otherwise it is in the store already."""
    signed_by: dict[str, str] = field(default_factory=dict)
    """The value of status.signedBy, if signatures were verified."""
    problem: str = ""
    """The reason why the content can never be used, as a sentence for people; "" if it can be used."""
