"""The fixture `suite` of tests in which the three controllers run, and what a test of them is called and reports.

Imported by the conftest.py of each tier that uses it, so that each has a suite of its own, and may override `suite_arguments`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pytest

from devcluster.cluster import Cluster
from devcluster.suite import COMPONENTS, Suite

__all__ = ["add_logs", "prefix_of", "suite", "suite_arguments"]

_LOG_LINES = 25


@pytest.fixture(scope="package")
def suite_arguments() -> Mapping[str, Sequence[str]]:
    """Additional flags by name of the controller: none."""
    return {}


@pytest.fixture(scope="package")
def suite(cluster: Cluster, suite_arguments: Mapping[str, Sequence[str]]) -> Iterator[Suite]:
    """catalogd, rukpak and operator-controller as processes, each under its own ServiceAccount."""
    with Suite(cluster, arguments=suite_arguments) as running:
        running.install()
        running.start()
        yield running


def prefix_of(request: pytest.FixtureRequest, length: int) -> str:
    """The name of the test as a name of objects, with at most so many characters."""
    name = request.node.name.removeprefix("test_").lower()
    return re.sub(r"[^a-z0-9]+", "-", name)[:length].strip("-")


class Logs(Protocol):
    """What has logs by name of a process."""

    def log_tail(self, name: str, lines: int) -> str:
        """The last lines of a log."""


def add_logs(request: pytest.FixtureRequest, services: Logs, names: Sequence[str] = tuple(COMPONENTS)) -> None:
    """Add the last lines of these logs to the report of the test, which shows them if it fails."""
    for name in names:
        request.node.add_report_section("call", f"log of {name}", services.log_tail(name, _LOG_LINES))
