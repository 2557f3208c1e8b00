"""Unreachable routes for the addresses of fake pods and Services, so that a call to one fails at once and stays here.

Used by the supervisor alone. Needs root and `ip`; without them such calls go to the default gateway and time out there.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable


def add(ranges: Iterable[str]) -> str | None:
    """Route the ranges to nowhere. Returns None, or one line for people saying why it was not done."""
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
    """Take the routes away again; one that is not there is fine."""
    tool = shutil.which("ip")
    if tool is None or os.geteuid() != 0:
        return
    for range_ in ranges:
        subprocess.run([tool, "route", "del", "unreachable", range_], capture_output=True, check=False)
