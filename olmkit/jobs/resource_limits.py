"""Limits of the resources of a child process: memory, CPU time, open files, size of files.

Set by the child itself before it runs anything; what it starts has them too. Never raises a limit that is there. The numbers
are those of Limits in olmkit.jobs.job.
"""

from __future__ import annotations

import math
import resource
import time
from contextlib import suppress

from olmkit.jobs.job import Limits

_mapped: list[int] = []
"""Bytes of address space that this process had at its start, once known; it can only be read outside of the sandbox."""


def limit_memory(size: int) -> None:
    """Limit the memory of a process that a job forked to `size` bytes, and to what the job itself may have."""
    if _mapped:
        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        limit = min(allowed, _mapped[0] + size) if allowed != resource.RLIM_INFINITY else _mapped[0] + size
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def set_limits(limits: Limits, *, many: bool) -> None:
    """Set the limits of this process; of one that runs `many` tasks, CPU time is limited for each of them."""
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    _mapped[:] = [mapped]
    wanted = {
        resource.RLIMIT_AS: (mapped + limits.memory_bytes + limits.reserved_bytes,) * 2,
        resource.RLIMIT_CPU: (limits.cpu_seconds, resource.RLIM_INFINITY if many else limits.cpu_seconds + 5),
        resource.RLIMIT_NOFILE: (limits.open_files,) * 2,
        resource.RLIMIT_FSIZE: (limits.file_bytes,) * 2,
        resource.RLIMIT_CORE: (0, 0),
    }
    if limits.reserved_bytes:  # the address space says nothing about the memory that is used
        wanted[resource.RLIMIT_DATA] = (mapped + limits.memory_bytes,) * 2
    for what, (soft, hard) in wanted.items():
        allowed = resource.getrlimit(what)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), allowed if hard == resource.RLIM_INFINITY else min(hard, allowed)
        resource.setrlimit(what, (soft, hard))
    # When the memory of the container runs out, the kernel is to kill the job, not the controller.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def limit_cpu(seconds: int) -> None:
    """Limit the CPU time of this process to that used until now and `seconds` more."""
    used = math.ceil(time.process_time())
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = used + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
