"""Work that may be slow, large or hostile (pull, unpack, parse, compress), each piece in a child process with limits.

A Job declares a function with the types of its request and its result. Controllers name a Task of it by key and identity in their
Plan, `Jobs.ensure` starts or keeps it, the World shows its JobState, and its end enqueues the key. Nothing here knows what a job
does. Content never crosses the pipe: it is passed on disk.

    Jobs (scheduler.py) --fork request--> fork server (fork_server.py) --fork--> child (child.py): limits, then the function
      ^------------- progress, result or error over a socket of its own (protocol.py) -------------'
"""

from olmkit.jobs.job import Job, JobContext, JobReason, Limits, Parse, Progress, Task
from olmkit.jobs.job_functions import implement
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.staging import Staging
from olmkit.jobs.state import Failed, Finished, JobState, Queued, Running
from olmkit.jobs.worker import Worker

__all__ = [
    "Failed",
    "Finished",
    "Job",
    "JobContext",
    "JobReason",
    "JobState",
    "Jobs",
    "Limits",
    "MemoryBudget",
    "Parse",
    "Progress",
    "Queued",
    "Running",
    "Sandbox",
    "Staging",
    "Task",
    "Worker",
    "implement",
]
