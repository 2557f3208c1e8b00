"""Values of the World, read from the API server's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.api.bundledeployments import RECORDED_ANNOTATIONS
from olmkit.api.operators import Operator
from operator_controller.operator.world import ObservedBundleDeployment, PackageClaim, read_recorded, read_running
from tests.unit.operator_controller.operator.worlds import bundle, deployment, image, operator, owner, world

PROPERTIES = "operators.operatorframework.io/properties"


def test_the_running_bundle_is_read_from_its_bundle() -> None:
    running, installed = read_running(bundle("1.1.0"))
    assert (running.name, running.package, running.catalog, running.channel) == ("p.v1.1.0", "p", "community", "stable")
    assert (running.image, str(running.version)) == (image("1.1.0"), "1.1.0")
    assert installed.dump() == {
        "name": "p.v1.1.0",
        "version": "1.1.0",
        "catalog": "community",
        "channel": "stable",
        "apis": [{"group": "g.example.com", "version": "v1", "kind": "Thing"}],
    }


def test_a_bundle_without_annotations() -> None:
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"] = {}
    running, installed = read_running(raw)
    assert (running.name, running.version, running.catalog) == ("alpha-1.1.0", None, "")
    assert installed.dump() == {"name": "alpha-1.1.0", "version": "", "apis": []}


def recorded(**changes: Any) -> dict[str, Any]:
    """The record of version 1.1.0 on a BundleDeployment whose active Bundle is alpha-1.1.0."""
    raw = bundle("1.1.0")
    fields = {field: raw["metadata"]["annotations"][name] for field, name in RECORDED_ANNOTATIONS.items()}
    return {"bundle": "alpha-1.1.0", "spec": raw["spec"], **fields, **changes}


def with_record(record: Mapping[str, Any] | None) -> ObservedBundleDeployment:
    known = deployment("1.2.0", active="alpha-1.1.0")
    status = {**known.raw["status"], **({"installed": record} if record else {})}
    return ObservedBundleDeployment.load({**known.raw, "status": status})


def test_a_bundle_its_record_and_the_status_of_the_operator_are_read_as_the_same() -> None:
    running = read_running(bundle("1.1.0"))
    assert read_recorded(Operator.load(operator()), with_record(recorded())) == running
    reported = {"installedBundleResource": image("1.1.0"), "installed": running[1].dump()}
    reporting = Operator.load(operator(status=reported))
    assert read_recorded(reporting, with_record(None)) == running
    assert read_recorded(reporting, with_record(recorded(bundle="alpha-1.0.0", version="1.0.0"))) == running
    assert read_recorded(Operator.load(operator()), with_record(None)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "3",
        "[3]",
        '[{"type":"olm.gvk","value":3}]',
        '[{"type":"olm.gvk","value":{"group":1}}]',
        '[{"type":"x"}]',
    ],
)
def test_invalid_properties_are_no_apis(text: str) -> None:
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"][PROPERTIES] = text
    assert read_running(raw)[1].apis == []


@pytest.mark.parametrize(
    ("references", "is_owned"),
    [
        pytest.param([owner()], True, id="controlled"),
        pytest.param([], False, id="without an owner"),
        pytest.param([owner(uid="other")], False, id="controlled by an earlier Operator"),
        pytest.param([owner(controller=False)], False, id="owned and not controlled"),
        pytest.param([owner(kind="Widget")], False, id="controlled by another kind"),
        pytest.param([owner(controller=False, uid="x"), owner()], True, id="controlled, with other owners"),
    ],
)
def test_ownership_of_a_bundle_deployment(references: list[dict[str, object]], is_owned: bool) -> None:
    seen = world(bundle_deployment=deployment("1.0.0", owners=references))
    assert (seen.owned_bundle_deployment is not None) is is_owned


def test_nothing_is_owned_without_a_bundle_deployment() -> None:
    assert world(operator()).owned_bundle_deployment is None


def test_conditions_of_another_generation_do_not_count() -> None:
    ready = [("Ready", "True", "Succeeded", "")]
    assert deployment("1.0.0", ready).is_true("Ready")
    late = deployment("1.0.0", ready, generation=2, observed=1)
    assert not late.is_current
    assert not late.is_true("Ready")
    assert late.condition("Ready") is None


def test_seniority_is_a_total_order() -> None:
    installed = PackageClaim(is_new=False, is_idle=False, created="2026-02-01T00:00:00Z", name="z")
    begun = PackageClaim(is_new=True, is_idle=False, created="2026-02-01T00:00:00Z", name="y")
    old = PackageClaim(is_new=True, is_idle=True, created="2026-01-01T00:00:00Z", name="x")
    young = PackageClaim(is_new=True, is_idle=True, created="2026-01-02T00:00:00Z", name="a")
    twin = PackageClaim(is_new=True, is_idle=True, created="2026-01-02T00:00:00Z", name="b")
    assert sorted([twin, young, old, begun, installed], key=lambda one: one.seniority) == [
        installed,
        begun,
        old,
        young,
        twin,
    ]
