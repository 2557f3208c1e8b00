"""Finds Chromium, or installs it from Debian: tests of the console look at its pages with it.

Clusters start without it.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from devcluster import debian
from devcluster.errors import exit_status

_HINT = "Install chromium (on Debian: `make chromium` as root)."


def find_or_install(report: Callable[[str], None]) -> Path:
    """Return the path of chromium; install it with apt-get, which needs root, if it is missing. Raises DevclusterError."""
    return debian.find_or_install("chromium", report, _HINT)


def main() -> int:
    """Install chromium if it is missing. Returns the exit code: 0, or 1 with a message on standard error."""
    return exit_status(lambda: print(find_or_install(print)))


if __name__ == "__main__":
    sys.exit(main())
