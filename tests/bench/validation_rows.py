"""Rows of `olm bundle validate`: CPU per bundle, all bundles of the corpus in one run, and the start of the command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.figures import Figure

SUITE = ("--select-optional", "suite=operatorframework")
STARTS = 5


def rows(directory: Path) -> Iterator[Figure]:
    """Every bundle of the corpus, with upstream's checks, with the suite's beyond them, and with the optional ones."""
    bundles = sorted(map(str, (directory / "bundles").glob("*/*")))
    for what, options, aim in (
        ("upstream's default checks", ("--upstream",), ""),
        ("all default checks", (), "50 ms"),
        ("and the optional ones of the suite operatorframework", SUITE, ""),
    ):
        seconds, cpu = _measured(bundles, options)
        cores = len(os.sched_getaffinity(0))
        yield Figure(
            f"olm bundle validate, {what}, {len(bundles)} bundles in one run on {cores} cores",
            f"{cpu / len(bundles) * 1000:.1f} ms of CPU each; {seconds:.1f} s for all",
            aim,
        )
    found = [_measured(bundles[:1], ()) for _ in range(STARTS)]
    seconds, cpu = min(found)
    yield Figure("olm bundle validate of one bundle, start of the process included", f"{seconds:.2f} s", "0.3 s")


def _measured(bundles: Sequence[str], options: Sequence[str]) -> tuple[float, float]:
    """The time and the CPU time of a process and its children."""
    command = [str(Path(sys.executable).with_name("olm")), "bundle", "validate", "-o", "json", *options, *bundles]
    before, started = os.times(), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return time.monotonic() - started, cpu
