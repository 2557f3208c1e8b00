"""The declaration of the job that checks custom resources against new schemas. The function is in validate_job.

Separate from it, because only child processes evaluate schemas and patterns that others wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olmkit.crd_safety.evidence import Check, Evidence
from olmkit.jobs.job import Job


@dataclass(frozen=True)
class ValidateRequest:
    """Custom resources, as the API server returns them, and what they are checked for."""

    checks: list[Check]
    objects: list[dict[str, Any]]


@dataclass(frozen=True)
class ValidateResult:
    """The evidence of the custom resources, for each check."""

    evidence: list[Evidence]


VALIDATE = Job("rukpak.bundledeployment.crd_upgrade.validate_job:validate", ValidateRequest, ValidateResult)
