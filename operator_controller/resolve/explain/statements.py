"""The statements of an explanation: why a request is refused, one sentence for each clause of the conflict.

Values that olmkit.jobs.codec encodes. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StatementKind(StrEnum):
    """The subjects of statements."""

    REQUEST = "request"  # an Operator requests these versions
    INSTALLED = "installed"  # what runs, and where it can be upgraded to
    REQUIREMENT = "requirement"
    EXCLUSION = "exclusion"
    OWNERSHIP = "ownership"  # two bundles own the same kind


@dataclass(frozen=True)
class Statement:
    """One of the statements that cannot all hold together. `subject` is the package that it is about."""

    subject: str
    kind: StatementKind
    sentence: str
