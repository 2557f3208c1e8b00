"""Neither Argo CD, with the scripts of config/argocd, nor Flux, with the expressions of config/flux, shows an object of OLM v1 as
healthy before it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from devcluster.watch import Event, Object, Watch
from tests import argocd_scripts, flux_expressions
from tests.conditions import triple
from tests.e2e.stage import CLUSTER_CATALOGS, CLUSTER_EXTENSIONS
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene
from tests.e2e.v1.test_differences import NOWHERE
from tests.kstatus import KStatus

pytestmark = pytest.mark.v1

FIRST = (Entry("1.0.0"),)
SECOND = (*FIRST, Entry("1.1.0", replaces="1.0.0"))


def changes(watch: Watch, name: str) -> list[Event]:
    """All changes of the object of that name until now."""
    taken: list[Event] = []
    watch.until("it exists", lambda found: name in found, seen=taken.append)
    return [each for each in taken if each.name == name]


def is_healthy(event: Event) -> bool:
    """Whether both tools show this state as healthy."""
    assert event.object is not None
    argocd, flux = argocd_scripts.health(event.object)[0], flux_expressions.compute(event.object)
    assert argocd != "Degraded", event.object
    assert (argocd == "Healthy") == (flux == KStatus.CURRENT), event.object
    return argocd == "Healthy"


def test_an_extension_is_healthy_when_what_it_wants_is_available(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog(SECOND)
    paths = CLUSTER_EXTENSIONS, scene.objects["Deployment"].rpartition("/")[0]
    with Watch(scene.cluster, paths[0]) as extensions, Watch(scene.cluster, paths[1]) as deployments:
        for watch in (extensions, deployments):
            watch.until_listed()
        scene.apply(scene.extension(version="1.0.0", config=NOWHERE))
        scene.when("applied, and not available", is_applied_only)
        shown = changes(extensions, scene.name)
        assert not any(map(is_healthy, shown))
        scene.apply(scene.extension(version="1.0.0"))
        scene.rolled_out("1.0.0")
        scene.apply(scene.extension(version="1.1.0"))
        scene.rolled_out("1.1.0")
        shown += changes(extensions, scene.name)
        workload = changes(deployments, f"{scene.namespace}/{scene.package}")
    healthy = [each for each in shown if is_healthy(each)]
    for each in healthy:
        assert_available(each, workload)
    assert list(dict.fromkeys(requested(each.object) for each in healthy if each.object)) == ["1.0.0", "1.1.0"]
    assert healthy[-1] == shown[-1]


def is_applied_only(extension: Object) -> bool:
    """Whether the other two conditions would make it healthy."""
    succeeded = triple(extension, "Progressing")[1] == triple(extension, "Installed")[1] == "Succeeded"
    return succeeded and triple(extension, "Available")[0] != "True"


def requested(extension: Object) -> str:
    """The version that a ClusterExtension requests."""
    return str(extension["spec"]["source"]["catalog"]["version"])


def assert_available(shown: Event, workload: Sequence[Event]) -> None:
    """When the ClusterExtension was in this state, the Deployment was available with the version that it requests."""
    assert shown.object is not None
    deployment = [each for each in workload if each.version < shown.version][-1].object
    assert deployment is not None
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f":v{requested(shown.object)}"), (shown.object, deployment)
    status, wanted = deployment["status"], deployment["spec"]["replicas"]
    counts = [status.get(each) for each in ("availableReplicas", "updatedReplicas", "replicas")]
    assert counts == [wanted] * len(counts), (shown.object, deployment)
    assert status["observedGeneration"] == deployment["metadata"]["generation"]


def test_a_catalog_is_healthy_when_the_content_that_it_names_is_served(scene: Scene) -> None:
    with Watch(scene.cluster, CLUSTER_CATALOGS) as catalogs:
        catalogs.until_listed()
        name = scene.cluster_catalog(FIRST)
        shown = changes(catalogs, name)
        first = served(shown[-1])
        scene.refer(scene.push(SECOND, tag="v2"))
        scene.serving_catalog()
        shown += changes(catalogs, name)
    second = served(shown[-1])
    assert first != second
    for each in filter(is_healthy, shown):
        assert each.object is not None
        tag = each.object["spec"]["source"]["image"]["ref"].rpartition(":")[2]
        assert (tag, served(each)) in (("v1", first), ("v2", second))
    assert is_healthy(shown[-1])
    assert not is_healthy(shown[0])


def served(event: Event) -> str:
    """The digest of the content that a ClusterCatalog serves."""
    assert event.object is not None
    return str(event.object["status"]["resolvedSource"]["image"]["ref"]).rpartition("@")[2]
