"""Values of the World: ownership, conditions and seniority."""

from __future__ import annotations

import pytest

from operator_controller.operator.world import PackageClaim
from tests.unit.operator_controller.operator.worlds import deployment, operator, owner, world


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
    observed = world(bundle_deployment=deployment("1.0.0", owners=references))
    assert (observed.owned_bundle_deployment is not None) is is_owned


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
