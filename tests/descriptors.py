"""A process without free file descriptors, for programs that tests start: a test itself would affect all other tests.

Opening a file needs a descriptor; starting a thread does not.
"""

from __future__ import annotations

import os
import resource


def use_up() -> None:
    """Use all file descriptors of this process until they are released."""
    highest = max(int(each) for each in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    while True:
        try:
            os.dup(0)
        except OSError:
            return


def give_back() -> None:
    """Release them."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
