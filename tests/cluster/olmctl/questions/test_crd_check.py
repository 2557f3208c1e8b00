"""The rules that would refuse the version that waits, in each command that shows or requests it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.olmctl.conftest import Desk

RUNS = {"installed": {"name": "a.v1.0.0", "version": "1.0.0", "catalog": "c", "channel": "stable"}}
WAITS = {"version": "1.1.0", "bundle": "a.v1.1.0", "image": "i", "catalog": "c", "channel": "stable"}
FINDING = {"crd": "boats.example.com", "rule": "field-removed", "refuses": "Always", "message": "v1: spec.\u202ecolor"}
RULES = "boats.example.com: field-removed: v1: spec.\ufffdcolor; and 2 more"
REFUSED = f"it would be refused, because it breaks rules about CustomResourceDefinitions: {RULES}"


def status(check: Any) -> Any:
    return {**RUNS, "available": {**WAITS, "reason": "NotInstallable", "message": "m", "crdCheck": check}}


def test_each_command_names_the_rules_that_refuse_what_waits(desk: Desk) -> None:
    package = desk.package("a", "stable", versions="1.1.0,1.0.0")
    check = {"result": "Refused", "findings": [FINDING], "more": 2}
    name = desk.operator("a", status(check), packageName=package)
    assert f"CRD rules:   {REFUSED}\n" in desk.olm("why", name)[1]
    assert f"Waits:         1.1.0 (Operator {name}): {REFUSED}\n" in desk.olm("show", package)[1]
    assert "1.1.0 (refused)" in next(line for line in desk.olm("list")[1].splitlines() if line.startswith(name))
    code, out, err = desk.olm("upgrade", name, "--version", "1.1.0")
    assert (code, out) == (5, "")
    advice = f"olm diff {name} 1.1.0 shows everything, --force asks for it all the same"
    assert f"{name}: 1.1.0: {REFUSED}; {advice}\n" in err
    code, out, _ = desk.olm("upgrade", name, "--version", "1.1.0", "--crd-policy", "IfUsed")
    assert (code, "version 1.1.0" in out) == (0, True)


@pytest.mark.parametrize(
    ("check", "rules"),
    [
        pytest.param(None, "", id="it is not known"),
        pytest.param({"result": "NotRefused"}, "", id="no rule refuses it"),
        pytest.param(
            {"result": "IfUsed", "findings": [{**FINDING, "refuses": "IfUsed", "message": "m"}]},
            "custom resources decide whether it is refused (olm diff {}): boats.example.com: field-removed: m",
            id="custom resources decide",
        ),
    ],
)
def test_what_is_not_surely_refused_can_be_requested(desk: Desk, check: Any, rules: str) -> None:
    package = desk.package("a", "stable", versions="1.1.0,1.0.0")
    name = desk.operator("a", status(check), packageName=package)
    out = desk.olm("why", name)[1]
    assert ("CRD rules:" in out) == bool(rules)
    assert rules.format(name) in out
    assert "(refused)" not in desk.olm("list")[1]
    assert desk.olm("upgrade", name, "--version", "1.1.0")[:1] == (0,)
