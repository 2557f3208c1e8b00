"""`olm approve` looks at the custom resources on a real API server before it approves the image in a real registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devcluster.images import Registry
from tests.cluster.olmctl.conftest import OPERATORS, Desk
from tests.unit.olmkit.fbc.bundle_builders import dump

APPROVED = "operators.operatorframework.io/approved-version"
LOSES, REMOVED = "existing-object-loses-data", "field-removed"
PERMITTED = (
    "warning: 1 custom resource loses data by the new schema, as crdUpgradeSafety.ignoredRules permits: {}: v1: "
    f"{LOSES}: ark: spec.color"
)
COLOR = {"spec": {"type": "object", "properties": {"color": {"type": "string"}, "size": {"type": "string"}}}}
COLORLESS = {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}}


def waiting(desk: Desk, install: dict[str, Any]) -> str:
    """An Operator with version 1.1.0, without colors, waiting for its approval; returns its name."""
    body = dump(desk.definition_body("boats", **COLORLESS))
    Registry(desk.cluster.registry).push(f"approve/{desk.prefix}", "v1", {"manifests/crd.yaml": body}, {})
    image = f"{desk.cluster.registry}/approve/{desk.prefix}:v1"
    available = {
        **{"version": "1.1.0", "bundle": "a.v1.1.0", "image": image, "catalog": "c", "channel": "stable"},
        **{"reason": "ApprovalRequired", "message": "it waits"},
    }
    installed = {"name": "a.v1", "version": "1.0.0", "catalog": "c", "channel": "stable"}
    return desk.operator("a", {"installed": installed, "available": available}, approval="Manual", install=install)


@pytest.mark.parametrize(
    ("safety", "status", "says"),
    [
        pytest.param({}, 5, f"1 custom resource loses data by the new schema: {{}}: v1: {LOSES}: ark", id="by default"),
        pytest.param(
            {"ignoredRules": [LOSES]},
            0,
            PERMITTED,
            id="IfUsed, and the loss is permitted",
        ),
        pytest.param(
            {"policy": "Enforce", "ignoredRules": [LOSES, REMOVED]},
            0,
            PERMITTED,
            id="Enforce, and rule and loss are permitted",
        ),
        pytest.param({"ignoredRules": [REMOVED]}, 5, f"{{}}: v1: {LOSES}: ark", id="the rule alone permits no loss"),
        pytest.param({"policy": "None"}, 0, "", id="nothing is checked"),
    ],
)
def test_a_loss_of_data_is_refused_or_said_before_it_is_approved(
    safety: dict[str, Any], status: int, says: str, desk: Desk
) -> None:
    name = desk.definition("", "boats", **COLOR)
    boat = {"apiVersion": f"{desk.prefix}.example.com/v1", "kind": "Boats", "metadata": {"name": "ark"}}
    desk.cluster.kubectl("create", "-f", "-", input=json.dumps({**boat, "spec": {"color": "red", "size": "s"}}))
    operator = waiting(desk, {"crdUpgradeSafety": safety} if safety else {"certificates": "None"})
    registry = ["--registries-conf", str(desk.cluster.registries_conf), "--allow-source-cidr", "127.0.0.0/8"]
    found, out, err = desk.olm("approve", operator, *registry)
    text = says.format(f'validating upgrade for CRD "{name}"')
    assert (found, text in err, bool(text) or not err) == (status, True, True), err
    annotations = desk.get(OPERATORS, operator)["metadata"].get("annotations") or {}
    assert (annotations.get(APPROVED), "approved: version 1.1.0" in out) == (
        (None, False) if status else ("1.1.0", True)
    )
