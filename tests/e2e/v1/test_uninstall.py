"""The scenario of upstream's uninstall.feature: nothing of a removed ClusterExtension stays."""

from __future__ import annotations

import pytest

from tests.e2e.stage import CRDS
from tests.e2e.v1.bundles import Entry
from tests.e2e.v1.scene import Scene

pytestmark = pytest.mark.v1


def test_removing_clusterextension_triggers_the_extension_uninstall_eventually_removing_all_installed_resources(
    scene: Scene,
) -> None:
    scene.create_namespace()
    scene.cluster_catalog([Entry("1.2.0")])
    scene.install()
    owner = f"olm.operatorframework.io/owner-kind=ClusterExtension,olm.operatorframework.io/owner-name={scene.name}"
    collections = (
        *dict.fromkeys(path.rpartition("/")[0] for path in scene.objects.values()),
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    )

    def owned() -> dict[str, int]:
        """How many objects of the ClusterExtension there are, by collection."""
        selected = {each: scene.read(f"{each}?labelSelector={owner}") for each in collections}
        return {each: len(found["items"]) for each, found in selected.items() if found is not None}

    assert set(owned().values()) == {1}, "each has the two labels that the tutorials select by"
    scene.delete("ClusterExtension", scene.name)
    # The finalizer has waited for what is installed.
    assert [path for path in scene.objects.values() if path.startswith(CRDS) and scene.read(path) is not None] == []
    assert set(owned().values()) == {0}
    assert scene.read(f"/api/v1/namespaces/{scene.namespace}") is not None
