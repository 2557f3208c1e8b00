"""status.available on the real API server: the upgrade that is not installed, and what keeps it out."""

from typing import Any

from devcluster.watch import Object
from tests.bundle_properties import package_required
from tests.cluster.operator_controller.conftest import Scene, blobs, image_of
from tests.conditions import triple
from tests.e2e.packages import catalog_file


def test_what_keeps_an_upgrade_out_is_reported_until_it_is_installed(scene: Scene) -> None:
    _push(scene, {"minKubeVersion": "1.99.0"})
    scene.ready_catalog(scene.repository().reference)
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    old = _waits(
        scene, name, "NotInstallable", "1.1.0 is available too, but it cannot be installed: it requires Kubernetes"
    )
    assert triple(old, "Ready")[:2] == ("True", "Succeeded")

    served = {"group": "apps", "version": "v1", "kind": "Deployment"}
    _push(scene, {"nativeAPIs": [served, {"group": "absent.example.com", "version": "v1", "kind": "Absent"}]})
    why = "it requires the native API absent.example.com/v1 Absent, which the cluster does not serve"
    _waits(scene, name, "NotInstallable", f"1.1.0 is available too, but it cannot be installed: {why}")

    _push(scene, {}, [package_required("absent")])
    why = f'1.1.0 is available too, but {scene.name} v1.1.0 requires absent ">=1.0.0", which no catalog offers'
    _waits(scene, name, "RequirementsNotSatisfied", why)

    scene.patch_operator(name, {"version": "1.0.0"})
    pinned = _waits(scene, name, "VersionExcluded", '1.1.0 is available too, but spec.version is "1.0.0"')
    assert triple(pinned, "Ready")[:2] == ("True", "Succeeded")
    assert pinned["status"]["wantedVersion"] == "1.0.0"

    _push(scene, {"nativeAPIs": [served], "minKubeVersion": "1.20.0"})
    scene.patch_operator(name, {"version": None})
    _exclude(scene, name)
    scene.patch_operator(name, {"excludedVersions": None, "paused": None, "approval": "Manual"})
    _waits(scene, name, "ApprovalRequired", "1.1.0 waits for approval")
    scene.patch_operator(name, {"approval": None, "paused": True})
    _waits(scene, name, "Paused", "the Operator is paused")
    scene.patch_operator(name, {"paused": None})
    scene.install(name, "1.1.0")
    assert "available" not in scene.ready_operator(name, "1.1.0")["status"]


def test_a_version_that_another_operator_excludes_names_that_operator(scene: Scene) -> None:
    """The requirement of what is installed keeps the upgrade of its dependency out, and nobody else is written."""
    needing = f"{scene.name}-needing"
    content = [
        blobs(scene.name, ["1.0.0"], {}),
        blobs(needing, ["1.0.0"], {"1.0.0": [package_required(scene.name, "<1.1.0")]}),
    ]
    scene.repository().push_files(catalog_file(*content))
    scene.ready_catalog(scene.repository().reference)
    name = scene.operator(scene.name)
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    scene.operator(needing, needing[:45])
    scene.install(needing[:45], "1.0.0")
    before = scene.ready_operator(needing[:45], "1.0.0")
    scene.repository().push_files(catalog_file(blobs(scene.name, ["1.0.0", "1.1.0"], {}), content[1]))
    why = f'1.1.0 is available too, but {needing} v1.0.0 requires {scene.name} "<1.1.0"'
    waiting = _waits(scene, name, "RequirementsNotSatisfied", why)
    assert triple(waiting, "Ready")[:2] == ("True", "Succeeded")
    assert scene.get("Operator", needing[:45])["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def _push(scene: Scene, metadata: dict[str, Any], properties: list[Any] | None = None) -> None:
    """Versions 1.0.0 and 1.1.0; the newer one with this olm.csv.metadata and these properties."""
    found = [{"type": "olm.csv.metadata", "value": metadata}] if metadata else []
    content = blobs(scene.name, ["1.0.0", "1.1.0"], {"1.1.0": [*found, *(properties or [])]})
    scene.repository().push_files(catalog_file(content))


def _exclude(scene: Scene, name: str) -> None:
    """Exclude the upgrade, then what runs too, then what runs alone while nothing may be changed."""
    scene.patch_operator(name, {"excludedVersions": ["1.1.0+build"]})
    excluded = _waits(scene, name, "VersionExcluded", "1.1.0 is available too, but spec.excludedVersions has it")
    assert triple(excluded, "Ready")[:2] == ("True", "Succeeded")
    scene.patch_operator(name, {"excludedVersions": ["1.0.0", "1.1.0"]})
    stuck = scene.operator_when(name, "Stalled", lambda found: triple(found, "Stalled")[0] == "True")
    left = f'no version of package "{scene.name}" is left: spec.excludedVersions has 1.0.0 and 1.1.0'
    assert triple(stuck, "Ready")[2] == f"runs 1.0.0, which spec.excludedVersions excludes; {left}"
    assert triple(stuck, "Installed")[0] == "True"
    scene.patch_operator(name, {"excludedVersions": ["1.0.0"], "paused": True})
    paused = _waits(scene, name, "Paused", "the Operator is paused (spec.paused); meanwhile 1.0.0 runs")
    assert triple(paused, "Ready")[0] == "False"


def _waits(scene: Scene, name: str, reason: str, message: str) -> Object:
    """The Operator as soon as 1.1.0 waits for this reason, with a message that begins so."""

    def holds(operator: Object) -> bool:
        available = operator["status"].get("available") or {}
        return bool(available.get("reason") == reason and available["message"].startswith(message))

    found = scene.operator_when(name, f"{reason}: {message}", holds)
    available = found["status"]["available"]
    assert {key: available[key] for key in ("version", "bundle", "image", "catalog", "channel")} == {
        "version": "1.1.0",
        "bundle": f"{scene.name}.v1.1.0",
        "image": image_of(scene.name, "1.1.0"),
        "catalog": scene.name,
        "channel": "stable",
    }
    return found
