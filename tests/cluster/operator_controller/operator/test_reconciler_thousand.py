"""A thousand Operators that are applied at once: each gets a true status with few writes, and an installed one is not written."""

import json
import time
from collections import Counter
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import operator_object
from devcluster.suite import Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, OPERATORS, Event, Object, condition
from tests.bundle_properties import package_required
from tests.cluster.operator_controller.conftest import Scene, blobs, image_of
from tests.cluster.operator_controller.operator.bystander import bystander
from tests.conditions import triple
from tests.e2e.packages import catalog_file
from tests.e2e.stage import is_observed
from tests.forked_programs import restart_unforked

pytestmark = pytest.mark.scale

COUNT = 1_000
MAX_OPERATOR_WRITES = 4
"""Creation, finalizer, and at most two statuses: while resolution is in progress, and its result."""
MAX_DEPLOYMENT_WRITES = 1
MAX_MEMORY_BYTES = 300_000_000
WAIT_SECONDS = 400.0
LABEL = "test.example.com/scene"


@pytest.fixture
def packages(scene: Scene) -> list[str]:
    """The packages of one catalog that is served. Every tenth requires a package that does not exist."""
    names = [f"{scene.name}-{number:04}" for number in range(COUNT)]
    contents = [
        blobs(name, ["1.0.0"], {} if place % 10 else {"1.0.0": [package_required("absent")]})
        for place, name in enumerate(names)
    ]
    scene.repository().push_files(catalog_file(*contents))
    scene.ready_catalog(scene.repository().reference, seconds=240.0)
    return names


@pytest.mark.timeout(1200)
def test_a_thousand_operators_get_their_status_with_few_writes(
    cluster: Cluster, suite: Suite, scene: Scene, packages: list[str], record_property: Any
) -> None:
    restart_unforked(suite, "operator-controller")
    with bystander(cluster, suite, f"{scene.name}-other") as other:
        operators, deployments = scene.watch(OPERATORS), scene.watch(BUNDLE_DEPLOYMENTS)
        writes: Counter[str] = Counter()
        items = [_labelled(operator_object(package), scene) for package in packages]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        started = time.perf_counter()
        cluster.kubectl("create", "-f", "-", input=json.dumps(listed))
        try:
            operators.until(
                f"{COUNT} Operators are decided",
                lambda o: all(package in o and _is_decided(o[package]) for package in packages),
                WAIT_SECONDS,
                seen=lambda event: _count(writes, event),
            )
            taken = time.perf_counter() - started
            created: Counter[str] = Counter()
            wanted = {package for place, package in enumerate(packages) if place % 10}
            deployments.until(
                "the BundleDeployments exist", lambda o: wanted <= o.keys(), seen=lambda event: _count(created, event)
            )
            for place, package in enumerate(packages):
                _assert_true_status(operators.objects[package], package, is_offered=bool(place % 10))
            own = {package: writes[package] for package in packages}
            memory = suite.memory("operator-controller")
            record_property("seconds", round(taken, 1))
            record_property("writes per Operator", sum(own.values()) / COUNT)
            record_property("bytes of memory", memory)
            print(f"{taken:.1f} s, {Counter(own.values())} writes, {memory:,} bytes")
            assert max(own.values()) <= MAX_OPERATOR_WRITES
            assert all(created[package] <= MAX_DEPLOYMENT_WRITES for package in wanted)
            assert not (deployments.objects.keys() & packages) - wanted
            assert memory < MAX_MEMORY_BYTES
            other.check()
        finally:
            cluster.kubectl(
                "delete", "operators.operators.operatorframework.io", f"--selector={LABEL}={scene.name}", "--wait=false"
            )
            scene.until(BUNDLE_DEPLOYMENTS, "all are deleted", lambda o: not o.keys() & set(packages), WAIT_SECONDS)


def _labelled(operator: Object, scene: Scene) -> Object:
    """The Operator with a label by which all are deleted in one command."""
    return {**operator, "metadata": {**operator["metadata"], "labels": {LABEL: scene.name}}}


def _count(writes: Counter[str], event: Event) -> None:
    if event.object is not None:
        writes[event.name] += 1


def _is_decided(operator: Object) -> bool:
    conditions = {one["type"]: one for one in (operator.get("status") or {}).get("conditions", ())}
    if not is_observed(operator) or "Ready" not in conditions:
        return False
    return "Stalled" in conditions or bool(conditions["Resolved"]["status"] == "True")


def _assert_true_status(operator: Object, package: str, *, is_offered: bool) -> None:
    if is_offered:
        assert triple(operator, "Resolved") == ("True", "Success", f'resolved to "{image_of(package, "1.0.0")}"')
        assert condition(operator, "Ready")["reason"] == "Installing"
    else:
        message = f'Unable to resolve because {package} latest requires absent ">=1.0.0", which no catalog offers'
        assert triple(operator, "Resolved") == ("False", "ResolutionFailed", message)
