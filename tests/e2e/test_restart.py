"""A restart of the controllers with everything installed writes nothing but their leases, and dry-runs nothing."""

from __future__ import annotations

import re
import time

import pytest

from devcluster.suite import COMPONENTS
from devcluster.watch import BUNDLE_DEPLOYMENTS
from tests.bench.api_requests import metrics, work
from tests.controller_metrics import is_idle
from tests.e2e.packages import catalog_file, package_blobs, push_bundle, registry_bundle
from tests.e2e.stage import Stage

QUIET_SECONDS = 3.0
"""More than a status that reports progress is held back."""
POLL_SECONDS = 0.2
TIMEOUT_SECONDS = 120.0
_LEADS = re.compile(r"^leader_election_master_status\{.*\} 1\b", re.MULTILINE)
_PASSES = re.compile(r"^controller_runtime_reconcile_total\{", re.MULTILINE)
_POSTS = re.compile(r'^rest_client_requests_total\{code="201",.*method="POST"\} (\S+)$')
_WRITES = re.compile(r'^rest_client_requests_total\{.*method="(?:POST|PATCH|DELETE)".*$', re.MULTILINE)


def test_a_restart_with_everything_installed_writes_nothing(stage: Stage) -> None:
    if not stage.cluster.is_managed:
        pytest.skip("the API server of a cluster elsewhere counts the dry runs of others too")
    package = stage.name
    blobs = package_blobs(package, {"1.0.0": push_bundle(stage, package, registry_bundle(package))})
    repository = stage.repository()
    digest = repository.push_files(catalog_file(blobs))
    stage.ready_catalog(f"{repository.reference.rpartition(':')[0]}@{digest}")  # which is not polled
    stage.operator(package, package)
    stage.ready_operator(package, "1.0.0", seconds=120)
    stage.until(BUNDLE_DEPLOYMENTS, "what was applied is recorded", lambda o: o[package]["status"].get("appliedDigest"))
    _until_quiet(stage)
    before = work(stage.cluster, stage.suite)
    stage.suite.stop(*COMPONENTS)
    stage.suite.start()
    _until_quiet(stage)
    writes = [line for name in COMPONENTS for line in _WRITES.findall(metrics(stage.suite, name))]
    done = work(stage.cluster, stage.suite) - before
    assert [line for line in writes if not _POSTS.match(line)] == []
    posts = sum(float(match[1]) for line in writes if (match := _POSTS.match(line)))
    assert posts <= done.reviews, writes
    assert done.dry_runs == 0


def _until_quiet(stage: Stage) -> None:
    """Until each controller leads, has nothing to do after its first pass, and makes no other one for a while."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    seen: list[str] = []
    since = time.monotonic()
    while (now := time.monotonic()) - since < QUIET_SECONDS:
        assert now < deadline, f"the controllers are not quiet: {seen}"
        time.sleep(POLL_SECONDS)
        texts = [metrics(stage.suite, name) for name in COMPONENTS]
        passes = [line for text in texts for line in text.splitlines() if _PASSES.match(line)]
        if passes != seen or not all(_LEADS.search(text) and _PASSES.search(text) and is_idle(text) for text in texts):
            seen, since = passes, now
