"""The scenario of upstream's ha.feature: catalogs are served again after the leader of catalogd has ended."""

from __future__ import annotations

import pytest

from devcluster.suite import Suite
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene

pytestmark = pytest.mark.v1


def test_catalogd_resumes_serving_catalogs_after_leader_pod_failure(scene: Scene, suite: Suite) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0", "stable")])
    replica = suite.start_replica("catalogd")
    suite.kill("catalogd")
    try:
        # Only a leader reports on another reference.
        scene.refer(scene.push([Entry("1.0.0", "stable"), Entry("1.1.0", "stable", "1.0.0")], tag="v2"))
        scene.serving_catalog(seconds=120)
        assert suite.is_running(replica)
    finally:
        suite.start("catalogd")
        suite.stop(replica)
    scene.apply(scene.extension())
    scene.rolled_out("1.1.0")
