"""The job that checks custom resources against new schemas. Runs in a child process, started by existing_objects.

Nothing is fetched, and no value of an object is returned.
"""

from __future__ import annotations

from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.jobs.job import JobContext
from olmkit.jobs.job_functions import implement
from rukpak.bundledeployment.crd_upgrade.validate_request import VALIDATE, ValidateRequest, ValidateResult


def validate(request: ValidateRequest, context: JobContext) -> ValidateResult:
    """Collect the evidence of the objects, for each check."""
    return ValidateResult([evaluate(check, request.objects) for check in request.checks])


implement(VALIDATE, validate)
