"""The parser of a job in the process of the test, for tests of jobs without their isolation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from olmkit.jobs import codec, job_functions
from olmkit.jobs.job import Job, JobContext

Request = TypeVar("Request")
Result = TypeVar("Result")


async def parse_here(
    job: Job[Request, Result], request: Request, files: Sequence[IO[bytes]], directory: Path
) -> Result:
    """As olmkit.jobs.job.Parse; request and result are encoded as JSON, as between processes."""
    decoded = codec.decode(job.request, through_json(request))
    found = job_functions.find(job.function).function(decoded, JobContext(directory, files=files))
    return codec.decode(job.result, through_json(found))


def through_json(value: object) -> Any:
    """A request or a result after encoding and decoding as JSON."""
    return json.loads(json.dumps(codec.encode(value)))
