"""Refusals that wait on the real API server with the real catalogd. The rules are in tests/cases/components/waiting.yaml."""

from collections.abc import Mapping

from devcluster.watch import CATALOGS, Object, condition, is_true
from tests.bundle_properties import package_required
from tests.cluster.operator_controller.conftest import Scene, blobs
from tests.conditions import triple
from tests.e2e.packages import catalog_file


def test_a_missing_dependency_is_waited_for_until_every_catalog_is_served(scene: Scene) -> None:
    required, other = f"{scene.name}-r", f"{scene.name}-b"
    scene.ready_catalog(scene.catalog_of("1.0.0", properties={"1.0.0": [package_required(required)]}))
    scene.catalog(scene.repository("-b").reference, other)
    name = scene.operator(scene.name)

    def cannot_be_read(catalogs: Mapping[str, Object]) -> Object | None:
        return catalogs[other] if triple(catalogs.get(other), "Unpacked")[1] == "UnpackFailed" else None

    error = triple(scene.until(CATALOGS, "it cannot be read", cannot_be_read), "Unpacked")[2]
    assert scene.repository("-b").reference in error
    waiting = scene.condition_when(name, "Reconciling", "True", f'catalog "{other}" is not served yet: {error}')
    assert condition(waiting, "Reconciling")["reason"] == "WaitingForCatalog"
    assert not is_true(waiting, "Stalled")
    message = f'Unable to resolve because {scene.name} latest requires {required} ">=1.0.0", which no catalog offers'
    assert triple(waiting, "Resolved") == ("False", "ResolutionFailed", message)

    scene.repository("-b").push_files(catalog_file(blobs(f"{scene.name}-x", ["1.0.0"], {})))
    stalled = scene.condition_when(name, "Stalled", "True")
    assert triple(stalled, "Resolved") == ("False", "ResolutionFailed", message)
