"""Work that may be slow, hungry or hostile (pull, unpack, parse, solve), each piece in a child process with limits.

Controllers name a job by key and identity in their Plan, `Jobs.ensure` starts or keeps it, the World shows its state, and its
end enqueues the key. Nothing here knows what a job does, and no big content crosses the pipe: that goes through the disk.

    Jobs (scheduler.py) --fork request--> fork server (server.py) --fork--> child (child.py): limits, then the function
      ^------------- progress, result or error over a socket of its own (wire.py) -------------'
"""

from olmkit.jobs.job import JobReason, Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.parser import Parse
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Failed, Finished, Jobs, JobState, Running
from olmkit.jobs.staging import Staging

__all__ = [
    "Failed",
    "Finished",
    "JobReason",
    "JobState",
    "Jobs",
    "Limits",
    "MemoryBudget",
    "Parse",
    "Running",
    "Sandbox",
    "Staging",
    "Task",
]
