"""A process without file descriptors. For programs that tests start: a test itself would take those of all others away.

Threads need none, and opening a file does.
"""

from __future__ import annotations

import os
import resource


def use_up() -> None:
    """All that this process may have, until they are given back."""
    highest = max(int(each) for each in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    while True:
        try:
            os.dup(0)
        except OSError:
            return


def give_back() -> None:
    """There are more again."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
