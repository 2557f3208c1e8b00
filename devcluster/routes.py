"""Unreachable routes for the addresses of simulated pods and Services, so that connections to them fail immediately.

Needs root and `ip`; without them connections go to the default gateway and time out.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable


def add(ranges: Iterable[str]) -> str | None:
    """Make the ranges unreachable. Returns None, or a message with the reason why this was not possible."""
    tool = shutil.which("ip")
    if tool is None or os.geteuid() != 0:
        lacking = "`ip` is not installed" if tool is None else "not root"
        return f"Calls to pod and Service addresses will time out instead of failing at once ({lacking}: no unreachable routes)."
    for range_ in ranges:
        done = subprocess.run(
            [tool, "route", "replace", "unreachable", range_], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return (
                f"Calls to pod and Service addresses will time out instead of failing at once ({done.stderr.strip()})."
            )
    return None


def remove(ranges: Iterable[str]) -> None:
    """Remove the routes; missing ones are ignored."""
    tool = shutil.which("ip")
    if tool is None or os.geteuid() != 0:
        return
    for range_ in ranges:
        subprocess.run([tool, "route", "del", "unreachable", range_], capture_output=True, check=False)
