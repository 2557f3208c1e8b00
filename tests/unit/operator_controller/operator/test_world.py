"""Values of the World as they are read out of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.api.bundledeployments import RECORDED_ANNOTATIONS
from olmkit.api.operators import Operator
from operator_controller.operator.world import ObservedBundleDeployment, PackageClaim, read_recorded, read_running
from tests.unit.operator_controller.operator.builders import bundle, deployment, image, operator, owner, world

PROPERTIES = "operators.operatorframework.io/properties"


def test_what_runs_is_read_from_the_bundle_itself() -> None:
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


def test_a_bundle_without_annotations_is_still_something() -> None:
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"] = {}
    running, installed = read_running(raw)
    assert (running.name, running.version, running.catalog) == ("alpha-1.1.0", None, "")
    assert installed.dump() == {"name": "alpha-1.1.0", "version": "", "apis": []}


def recorded(**changes: Any) -> dict[str, Any]:
    """The record of version 1.1.0 on a BundleDeployment whose active Bundle is alpha-1.1.0."""
    made = bundle("1.1.0")
    fields = {field: made["metadata"]["annotations"][name] for field, name in RECORDED_ANNOTATIONS.items()}
    return {"bundle": "alpha-1.1.0", "spec": made["spec"], **fields, **changes}


def with_record(record: Mapping[str, Any] | None) -> ObservedBundleDeployment:
    known = deployment("1.2.0", active="alpha-1.1.0")
    status = {**known.raw["status"], **({"installed": record} if record else {})}
    return ObservedBundleDeployment.load({**known.raw, "status": status})


def test_a_bundle_its_record_and_the_operator_that_reported_it_say_the_same() -> None:
    seen = read_running(bundle("1.1.0"))
    assert read_recorded(Operator.load(operator()), with_record(recorded())) == seen
    reported = {"installedBundleResource": image("1.1.0"), "installed": seen[1].dump()}
    asked = Operator.load(operator(status=reported))
    assert read_recorded(asked, with_record(None)) == seen
    assert read_recorded(asked, with_record(recorded(bundle="alpha-1.0.0", version="1.0.0"))) == seen
    assert read_recorded(Operator.load(operator()), with_record(None)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "3",
        "[3]",
        '[{"type":"olm.gvk","value":3}]',
        '[{"type":"olm.gvk","value":{"group":1}}]',
        '[{"type":"x"}]',
    ],
)
def test_properties_that_make_no_sense_are_no_apis(text: str) -> None:
    raw = bundle("1.1.0")
    raw["metadata"]["annotations"][PROPERTIES] = text
    assert read_running(raw)[1].apis == []


@pytest.mark.parametrize(
    ("references", "mine"),
    [
        pytest.param([owner()], True, id="ours"),
        pytest.param([], False, id="nobody's"),
        pytest.param([owner(uid="other")], False, id="of an earlier Operator"),
        pytest.param([owner(controller=False)], False, id="owned, but not controlled"),
        pytest.param([owner(kind="Widget")], False, id="of another kind"),
        pytest.param([owner(controller=False, uid="x"), owner()], True, id="among others"),
    ],
)
def test_whose_a_deployment_is(references: list[dict[str, object]], mine: bool) -> None:
    seen = world(bundle_deployment=deployment("1.0.0", owners=references))
    assert (seen.owned_bundle_deployment is not None) is mine


def test_there_is_nothing_of_ours_without_a_deployment() -> None:
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
