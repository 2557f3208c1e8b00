"""What a user sees here where the scenarios of OLM v1 look at ClusterObjectSets."""

from __future__ import annotations

import json

import pytest

from tests.conditions import triple
from tests.e2e.stage import CLUSTER_EXTENSIONS, CRDS
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene, retried

pytestmark = pytest.mark.v1

CRD = "clusterextensions.olm.operatorframework.io"
MINIMUM = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/progressDeadlineMinutes/minimum"
NOWHERE = {"deploymentConfig": {"nodeSelector": {"example.com/none": "true"}}}
"""Pods that no node can run."""


@pytest.fixture(autouse=True)
def offered(scene: Scene) -> None:
    """The package is in a catalog."""
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.0.0")])


def test_a_second_extension_of_a_package_is_refused_and_the_first_one_stays(scene: Scene) -> None:
    scene.install()
    second = scene.extension()
    second["metadata"]["name"] = f"{scene.name}-dup"
    scene.apply(second)
    found = scene.until(
        CLUSTER_EXTENSIONS,
        "the second one is refused",
        lambda objects: (
            one
            if (one := objects.get(f"{scene.name}-dup")) and triple(one, "Progressing")[:2] == ("True", "Retrying")
            else None
        ),
    )
    assert scene.name in triple(found, "Progressing")[2], "it names who has the package"
    assert triple(found, "Installed") == ("False", "Failed", "No bundle installed")
    scene.rolled_out("1.0.0")


def test_what_is_not_healthy_within_its_deadline_is_not_progressing_and_recovers(scene: Scene) -> None:
    path = f"{CRDS}/{CRD}"
    before = scene.cluster.api.call("GET", path)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    minimum = before["properties"]["spec"]["properties"]["progressDeadlineMinutes"]["minimum"]
    try:
        lower_minimum(scene, 1)
        extension = scene.extension(config=NOWHERE, progressDeadlineMinutes=1)
        retried(lambda: scene.kubectl_apply(extension).stderr, lambda printed: not printed)
        message = scene.reports("Progressing", "False", "ProgressDeadlineExceeded", 150)
        assert message.startswith("Revision has not rolled out for 1 minute(s). Last status: ")
        assert scene.reports("Available", "False", "ProbeFailure")
        scene.kubectl_apply(scene.extension(progressDeadlineMinutes=1))
        scene.rolled_out("1.0.0")
        scene.delete("ClusterExtension", scene.name)
    finally:
        lower_minimum(scene, minimum)


def lower_minimum(scene: Scene, minutes: int) -> None:
    """Change the least number of minutes that the CRD accepts."""
    change = json.dumps([{"op": "replace", "path": MINIMUM, "value": minutes}])
    scene.cluster.kubectl("patch", "crd", CRD, "--type=json", "-p", change)
