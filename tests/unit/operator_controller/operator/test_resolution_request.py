"""What of an Operator resolution depends on, while its BundleDeployment requests another bundle than the one that runs, or the
first one."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.operator.resolution_request import make_request
from operator_controller.resolve.snapshot.cluster_snapshot import package_request
from tests.unit.operator_controller.operator.worlds import deployment, operator, world

UPGRADING = ("Reconciling", "True", "Upgrading", "phase 2 of 7")
INSTALLING = ("Reconciling", "True", "Installing", "phase 2 of 4")
PENDING = ("Reconciling", "True", "UnpackPending", "waiting for its Bundle")


@pytest.mark.parametrize(
    ("runs", "requested", "condition", "installing", "next_"),
    [
        pytest.param("1.0.0", "1.1.0", UPGRADING, "p.v1.1.0", None, id="a part of it is installed"),
        pytest.param(
            "1.0.0",
            "1.1.0",
            PENDING,
            None,
            "p.v1.1.0",
            id="its Bundle is unpacked, or was deleted in the middle of the upgrade",
        ),
        pytest.param("1.0.0", "1.0.0", PENDING, None, None, id="it runs already"),
        pytest.param(
            "",
            "1.0.0",
            INSTALLING,
            None,
            "p.v1.0.0",
            id="it is the first, of which the cluster may have the kinds already",
        ),
    ],
)
def test_the_bundle_of_the_template_counts(
    runs: str, requested: str, condition: tuple[str, str, str, str], installing: str | None, next_: str | None
) -> None:
    request = make_request(world(runs=runs, bundle_deployment=deployment(requested, [condition])))
    assert request is not None
    assert (request.installing.name if request.installing else None) == installing
    assert (request.requested.name if request.requested else None) == next_


@pytest.mark.parametrize(
    ("owner", "is_of_extension"),
    [
        pytest.param({}, False, id="nobody owns it"),
        pytest.param({"kind": "ClusterExtension"}, True, id="a ClusterExtension"),
        pytest.param({"kind": "Platform"}, False, id="an object of another kind"),
        pytest.param({"kind": "ClusterExtension", "apiVersion": "example.com/v1"}, False, id="of another group"),
        pytest.param({"kind": "ClusterExtension", "controller": False}, False, id="an owner that does not control it"),
    ],
)
def test_the_terms_of_messages_are_those_of_the_owner(owner: dict[str, Any], is_of_extension: bool) -> None:
    raw = operator()
    reference = {"apiVersion": "olm.operatorframework.io/v1", "name": "argo", "uid": "u", "controller": True, **owner}
    raw["metadata"]["ownerReferences"] = [reference] if owner else []
    request = make_request(world(raw))
    assert request is not None
    assert request.is_of_extension is is_of_extension
    assert package_request(request).terms == request.terms == world(raw).terms


def test_the_order_of_excluded_versions_changes_no_request() -> None:
    """Field managers apply the members of a set in any order."""
    one, other = (
        make_request(world(operator({"excludedVersions": each}))) for each in (["2.0.0", "1.0.0"], ["1.0.0", "2.0.0"])
    )
    assert one is not None
    assert one == other
    assert one.excluded_versions == ("1.0.0", "2.0.0")


@pytest.mark.parametrize(
    ("spec", "channels"),
    [
        pytest.param({}, (), id="none"),
        pytest.param({"channel": "beta"}, ("beta",), id="one"),
        pytest.param({"channels": ["stable", "beta"]}, ("beta", "stable"), id="two, in any order"),
        pytest.param({"channels": ["beta", "beta"]}, ("beta",), id="one in the list, twice"),
        pytest.param({"channels": ["*"]}, ("*",), id="every channel"),
    ],
)
def test_the_channels_of_the_spec_are_requested(spec: dict[str, Any], channels: tuple[str, ...]) -> None:
    request = make_request(world(operator(spec)))
    assert request is not None
    assert request.channels == channels
