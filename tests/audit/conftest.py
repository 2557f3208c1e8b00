"""The audit logs of a run of the tests."""

from __future__ import annotations

import pytest

from devcluster.cluster import audit_directory
from tests.audit.requests import AuditLogs, read_logs


@pytest.fixture(scope="session")
def logs() -> AuditLogs:
    """The logs of the run; skips if nothing was logged."""
    directory = audit_directory()
    if directory is None or not any(directory.glob("*.log")):
        pytest.skip("OLM_AUDIT_DIRECTORY names no directory with audit logs: run tests with it first")
    return read_logs(directory)
