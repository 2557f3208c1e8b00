"""Functions that test_yaml_worker_pool.py runs as jobs."""

from __future__ import annotations

from catalogd.ingest.yaml_worker_pool import YamlWorkerPool
from olmkit.fbc.documents import RawDocument
from olmkit.jobs.job import Job, JobContext
from olmkit.jobs.job_functions import implement

READ_ONE = Job(f"{__name__}:read_one", int, dict[str, None])


def read_one(letters: int, context: JobContext) -> dict[str, None]:
    """Parse a document of this many letters in a worker."""
    text = b"schema: ".ljust(letters, b"x")
    with YamlWorkerPool(count=1) as workers:
        workers.add(0, RawDocument(text, 1), lambda part: None)
        workers.drain(lambda part: None)
    return {}


implement(READ_ONE, read_one)
