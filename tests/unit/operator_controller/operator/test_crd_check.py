"""The check of the bundle that waits, in the status of its Operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.api.operators import Operator
from olmkit.crd_safety.problem import Problem
from operator_controller.crd_checks.findings import BrokenRule, CrdCheckState, WaitingBundle
from operator_controller.operator.decide import decide
from operator_controller.operator.report import report
from operator_controller.operator.world import Done, Keep, World
from tests.unit.operator_controller.operator.report_rows import INSTALLED, READY
from tests.unit.operator_controller.operator.worlds import deployment, image, operator, world

BUNDLE = WaitingBundle("community", "p", "p.v1.1.0", image("1.1.0"))
BROKEN = BrokenRule("things", Problem("v1", "spec.size", Rule.TYPE_CHANGED, "a -> b"), "v1: spec.size: a -> b")
IF_USED = {
    "result": "IfUsed",
    "findings": [{"crd": "things", "rule": "type-changed", "refuses": "IfUsed", "message": "v1: spec.size: a -> b"}],
}
KNOWN = CrdCheckState(BUNDLE, (BROKEN,))


def observed(state: CrdCheckState | None, **spec: Any) -> World:
    """1.0.0 runs, and 1.1.0 waits for approval."""
    runs = deployment("1.0.0", (INSTALLED, READY), active="alpha-1.0.0")
    found = world(operator({"approval": "Manual", **spec}), runs="1.0.0", bundle_deployment=runs)
    return replace(found, crd_check=state)


def checked(given: World) -> Any:
    """status.available.crdCheck."""
    found = report(given, decide(given).evaluation, Done(Keep()))
    assert found is not None
    available = found.status.dump()["available"]
    assert available["version"] == "1.1.0"
    return available.get("crdCheck")


def after(before: World, state: CrdCheckState | None, **metadata: Any) -> World:
    """The World of the next pass."""
    first = report(before, decide(before).evaluation, Done(Keep()))
    assert first is not None
    raw = {**before.raw, "status": first.status.dump(), "metadata": {**before.raw["metadata"], **metadata}}
    return replace(before, raw=raw, operator=Operator.load(raw), crd_check=state)


OTHER = replace(BUNDLE, image=image("1.2.0"))


@pytest.mark.parametrize(
    ("state", "spec", "expected"),
    [
        pytest.param(None, {}, None, id="no pass has named it yet"),
        pytest.param(CrdCheckState(BUNDLE), {}, None, id="its image is being read"),
        pytest.param(CrdCheckState(BUNDLE, has_failed=True), {}, None, id="its image cannot be read"),
        pytest.param(CrdCheckState(BUNDLE, ()), {}, {"result": "NotRefused"}, id="it breaks no rule"),
        pytest.param(KNOWN, {}, IF_USED, id="custom resources decide"),
        pytest.param(replace(KNOWN, bundle=OTHER), {}, None, id="it is about another bundle"),
        pytest.param(
            KNOWN,
            {"install": {"crdUpgradeSafety": {"policy": "None"}}},
            {"result": "NotRefused"},
            id="the Operator has no check",
        ),
    ],
)
def test_what_is_known_of_the_bundle_that_waits(
    state: CrdCheckState | None, spec: dict[str, Any], expected: object
) -> None:
    assert checked(observed(state, **spec)) == expected


@pytest.mark.parametrize(
    ("state", "generation", "expected"),
    [
        pytest.param(None, 1, IF_USED, id="a new process knows nothing: the status stays"),
        pytest.param(CrdCheckState(BUNDLE), 1, IF_USED, id="while the image is read again, the status stays"),
        pytest.param(CrdCheckState(BUNDLE, has_failed=True), 1, None, id="it cannot be read any more: it is left out"),
        pytest.param(CrdCheckState(BUNDLE, ()), 1, {"result": "NotRefused"}, id="the cluster has changed"),
        pytest.param(None, 2, None, id="another spec may have other settings"),
    ],
)
def test_what_the_status_has_already(state: CrdCheckState | None, generation: int, expected: object) -> None:
    assert checked(after(observed(KNOWN), state, generation=generation)) == expected


def test_the_same_knowledge_writes_the_same_status() -> None:
    first = observed(KNOWN)
    second = after(first, KNOWN)
    found = report(second, decide(second).evaluation, Done(Keep()))
    assert found is not None
    assert found.status.dump() == second.raw["status"]
