"""The upgrade of an installed bundle that is kept out, and by what."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.resolve.answers.answer import AvailableUpgrade, KeptOutBy
from operator_controller.resolve.answers.component_solver import solve_components
from operator_controller.resolve.requirements.cluster_facts import ClusterFacts
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource, ClusterSnapshot, RecordedBundle
from tests.bundle_properties import package_required
from tests.unit.operator_controller.resolve.answers.test_component_solver import document, operator
from tests.unit.operator_controller.resolve.documents.in_memory import DocumentsInMemory

RUNS = RecordedBundle("a.v1.0.0", "registry/a:1.0.0", "a", "1.0.0", "community", "stable", "[]")


def available(package: dict[str, Any], **spec: Any) -> AvailableUpgrade | None:
    documents = DocumentsInMemory()
    source = CatalogSource("community", content=documents.add({"a": package}), package_names=("a",))
    request = operator("a", **{"running": RUNS, **spec})
    (answer,) = solve_components(ClusterSnapshot((request,), (source,), ClusterFacts("1.30.0")), documents)
    return answer.available


def with_newest(**fields: Any) -> dict[str, Any]:
    """Versions 1.0.0 and 1.1.0, the newer one with these fields."""
    package = document("a", "1.0.0", "1.1.0")
    package["bundles"][1] |= fields
    return package


def without_edge() -> dict[str, Any]:
    """Versions 1.0.0 and 1.1.0, and no upgrade between them."""
    package = document("a", "1.0.0", "1.1.0")
    package["channels"][0]["entries"] = [{"name": each["name"]} for each in package["bundles"]]
    return package


def kept_out(by: KeptOutBy, reason: str) -> AvailableUpgrade:
    return AvailableUpgrade("1.1.0", "a.v1.1.0", "registry/a:1.1.0", "community", "stable", by, reason)


@pytest.mark.parametrize(
    ("package", "spec", "expected"),
    [
        pytest.param(with_newest(), {}, None, id="the upgrade is selected"),
        pytest.param(
            with_newest(properties=[package_required("b")]),
            {},
            kept_out(
                KeptOutBy.CONFLICT,
                '1.1.0 is available too, but a v1.1.0 requires b ">=1.0.0", which no catalog offers',
            ),
            id="its requirement cannot be satisfied",
        ),
        pytest.param(
            with_newest(minKubeVersion="1.40.0"),
            {},
            kept_out(
                KeptOutBy.CLUSTER,
                "1.1.0 is available too, but it cannot be installed: it requires Kubernetes 1.40.0 or newer, and the cluster "
                "runs 1.30.0",
            ),
            id="the cluster is too old",
        ),
        pytest.param(
            with_newest(),
            {"version": "1.0.0"},
            kept_out(KeptOutBy.VERSION, '1.1.0 is available too, but spec.version is "1.0.0"'),
            id="the version is pinned",
        ),
        pytest.param(
            with_newest(),
            {"version": "<1.1.0", "channels": ("stable",)},
            kept_out(KeptOutBy.VERSION, '1.1.0 is available too, but spec.version is "<1.1.0"'),
            id="a range excludes it",
        ),
        pytest.param(
            with_newest(),
            {"excluded_versions": ("1.1.0",)},
            kept_out(KeptOutBy.VERSION, "1.1.0 is available too, but spec.excludedVersions has it"),
            id="it is excluded",
        ),
        pytest.param(
            document("a", "1.0.0", "1.1.0", "2.0.0"),
            {"excluded_versions": ("1.1.0",), "version": "1.x"},
            kept_out(KeptOutBy.VERSION, "1.1.0 is available too, but spec.excludedVersions has it"),
            id="it is excluded, and a newer one is not in the range",
        ),
        pytest.param(
            with_newest(minKubeVersion="1.40.0"),
            {"excluded_versions": ("1.1.0",)},
            kept_out(KeptOutBy.VERSION, "1.1.0 is available too, but spec.excludedVersions has it"),
            id="it is excluded, and the cluster is too old",
        ),
        pytest.param(
            with_newest(), {"excluded_versions": ("1.0.0",)}, None, id="what runs is excluded, and is replaced"
        ),
        pytest.param(
            without_edge(),
            {},
            kept_out(
                KeptOutBy.EDGE,
                '1.1.0 is available too, but no upgrade edge leads to it from 1.0.0: bundle "a.v1.1.0" neither replaces nor '
                'skips "a.v1.0.0"; with spec.upgradeConstraintPolicy Ignore, 1.1.0 would be installed without an upgrade edge, '
                "which publishers do not test",
            ),
            id="no upgrade edge leads to it",
        ),
        pytest.param(without_edge(), {"ignores_upgrade_edges": True}, None, id="no upgrade edge is required"),
        pytest.param(document("a", "1.0.0", "1.0.1", "1.1.0"), {}, None, id="it is reached in two steps"),
        pytest.param(with_newest(), {"version": "1.0.0", "running": None}, None, id="nothing is installed"),
        pytest.param(
            with_newest()
            | {"deprecations": [{"reference": {"schema": "olm.bundle", "name": "a.v1.1.0"}, "message": "m"}]},
            {"version": "1.0.0"},
            None,
            id="it is deprecated",
        ),
    ],
)
def test_what_is_kept_out(package: dict[str, Any], spec: dict[str, Any], expected: AvailableUpgrade | None) -> None:
    assert available(package, **spec) == expected
