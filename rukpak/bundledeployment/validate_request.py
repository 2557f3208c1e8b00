"""The declaration of the job that checks custom resources against a schema. The function is in validate_job.

Separate from it, because only child processes evaluate schemas and patterns that others wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from olmkit.jobs import Job
from rukpak.crd_safety.problem import InvalidObject


@dataclass(frozen=True)
class ValidateRequest:
    """Custom resources, as the API server returns them, and the schema of one version."""

    schema: dict[str, Any]
    objects: list[dict[str, Any]]


@dataclass(frozen=True)
class ValidateResult:
    """The objects that are not valid. `error`: why the schema cannot be evaluated; empty: it was. `unchecked_patterns`: the
    patterns of the schema that were not."""

    invalid: list[InvalidObject]
    error: str = ""
    unchecked_patterns: list[str] = field(default_factory=list)


VALIDATE = Job("rukpak.bundledeployment.validate_job:validate", ValidateRequest, ValidateResult)
