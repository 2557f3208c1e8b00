"""`olm upgrade` and `olm approve` against a real API server, without controllers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.olmctl.conftest import OPERATORS, Desk, condition

RUNS = {"installed": {"name": "a.v1", "version": "1.0.0", "catalog": "c", "channel": "stable"}}


def spec(desk: Desk, name: str) -> Any:
    return desk.get(OPERATORS, name)["spec"]


def test_a_version_and_a_channel_are_set_and_removed(desk: Desk) -> None:
    name = f"{desk.prefix}-a"
    try:
        assert desk.olm("install", name, "--channel", "beta", "--force")[0] == 0
        assert desk.olm("upgrade", name, "--version", "1.1.0")[1].endswith(" configured: version 1.1.0\n")
        assert spec(desk, name) == {"packageName": name, "channel": "beta", "version": "1.1.0"}
        assert desk.olm("upgrade", name, "--version", "", "--channel", "")[1].endswith(
            " configured: version removed (before: 1.1.0), channel removed (before: beta)\n"
        )
        assert spec(desk, name) == {"packageName": name}
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_several_channels_take_the_place_of_one_and_one_that_of_several(desk: Desk) -> None:
    name = f"{desk.prefix}-a"
    both = ("--channel", "candidate", "--channel", "beta")
    try:
        assert desk.olm("install", name, "--channel", "beta", "--force")[0] == 0
        out = desk.olm("upgrade", name, *both)[1]
        assert out.endswith(" configured: channel removed (before: beta), channels candidate, beta\n")
        assert spec(desk, name) == {"packageName": name, "channels": ["candidate", "beta"]}
        assert "channels beta and candidate" in desk.olm("why", name)[1]
        out = desk.olm("upgrade", name, "--channel", "*")[1]
        assert out.endswith(" configured: channels * (before: candidate, beta)\n")
        out = desk.olm("upgrade", name, "--channel", "beta")[1]
        assert out.endswith(" configured: channels removed (before: *), channel beta\n")
        assert spec(desk, name) == {"packageName": name, "channel": "beta"}
    finally:
        desk.cluster.kubectl("delete", OPERATORS, name, "--ignore-not-found")


def test_a_field_that_others_manage_is_changed_only_by_force(desk: Desk) -> None:
    name = desk.operator("a", channel="beta")
    for value in ("stable", ""):
        status, _, err = desk.olm("upgrade", name, "--channel", value)
        assert (status, "--force" in err, spec(desk, name)["channel"]) == (5, True, "beta")
    assert desk.olm("upgrade", name, "--channel", "", "--force")[0] == 0
    assert spec(desk, name) == {"packageName": "a"}


def test_what_is_pinned_says_so(desk: Desk) -> None:
    name = desk.operator("a", RUNS, version="1.0.0")
    assert "unchanged: it is pinned to 1.0.0; choose another version" in desk.olm("upgrade", name)[1]
    assert "unchanged: it is pinned" in desk.olm("upgrade", name, "--version", "1.0.0")[1]


def test_how_it_is_installed_is_set_beside_what_others_manage(desk: Desk) -> None:
    name = desk.operator("a", install={"certificates": "None"})
    rules = ["--ignore-crd-rule", "field-removed", "--ignore-crd-rule", "enum-added"]
    out = desk.olm("upgrade", name, "--crd-policy", "Enforce", *rules)[1]
    said = "crdUpgradeSafety.policy Enforce, crdUpgradeSafety.ignoredRules field-removed, enum-added"
    assert out.endswith(f" configured: {said}\n")
    safety = {"policy": "Enforce", "ignoredRules": ["field-removed", "enum-added"]}
    assert spec(desk, name)["install"] == {"certificates": "None", "crdUpgradeSafety": safety}
    assert " unchanged: " in desk.olm("upgrade", name, "--crd-policy", "Enforce", *rules)[1]
    removed = " crdUpgradeSafety.ignoredRules removed (before: field-removed, enum-added)\n"
    assert desk.olm("upgrade", name, "--ignore-crd-rule", "")[1].endswith(removed)
    assert spec(desk, name)["install"]["crdUpgradeSafety"] == {"policy": "Enforce", "ignoredRules": []}
    assert desk.olm("upgrade", name, "--channel", "beta", "--force")[0] == 0
    assert spec(desk, name)["install"]["crdUpgradeSafety"]["policy"] == "Enforce"
    with pytest.raises(SystemExit, match="2"):
        desk.olm("upgrade", name, "--ignore-crd-rule", "no-rule")
    out = desk.olm("upgrade", name, "--adoption-policy", "IfUnowned", "--crd-policy", "IfUsed")[1]
    assert out.endswith(" configured: adoptionPolicy IfUnowned, crdUpgradeSafety.policy IfUsed (before: Enforce)\n")
    settings = {"adoptionPolicy": "IfUnowned", "crdUpgradeSafety": {"policy": "IfUsed", "ignoredRules": []}}
    assert spec(desk, name)["install"] == {"certificates": "None", **settings}
    out = desk.olm("upgrade", name, "--adoption-policy", "Never")[1]
    assert out.endswith(" configured: adoptionPolicy Never (before: IfUnowned)\n")
    assert spec(desk, name)["install"] == {"certificates": "None", **settings, "adoptionPolicy": "Never"}
    out = desk.olm("upgrade", name, "--rollback", "OnFailure", "--upgrade-constraint-policy", "Ignore")[1]
    assert out.endswith(" configured: upgradeConstraintPolicy Ignore, rollback OnFailure\n")
    assert spec(desk, name)["install"]["rollback"] == "OnFailure"
    assert spec(desk, name)["upgradeConstraintPolicy"] == "Ignore"
    out = desk.olm("upgrade", name, "--rollback", "Never")[1]
    assert out.endswith(" configured: rollback Never (before: OnFailure)\n")


REFUSED = {**RUNS, "conditions": [condition("Resolved", "False", "ResolutionFailed", "no upgrade edge leads there")]}
STALLED = {**RUNS, "conditions": [condition("Stalled", "True", "Blocked", "it has webhooks")]}


@pytest.mark.parametrize(
    ("status", "version", "text"),
    [
        pytest.param(
            REFUSED,
            "2.0.0",
            "unchanged: it is pinned to 2.0.0 and is refused: no upgrade edge leads there (choose another version with "
            "--version, or '' to follow the channel)\n",
            id="a pin is refused",
        ),
        pytest.param(
            STALLED,
            "2.0.0",
            "unchanged: it is pinned to 2.0.0 and is stalled: it has webhooks (choose another version with --version, or "
            "'' to follow the channel)\n",
            id="a pin is stalled",
        ),
        pytest.param(
            REFUSED,
            "2.x",
            "unchanged: it follows versions 2.x, has 1.0.0 from catalog c, channel stable and is refused: no upgrade edge "
            "leads there (olm why {name})\n",
            id="a range is refused",
        ),
    ],
)
def test_what_is_refused_says_so_and_fails(status: Any, version: str, text: str, desk: Desk) -> None:
    name = desk.operator("a", status, version=version)
    for options in ([], ["--version", version]):
        assert desk.olm("upgrade", name, *options) == (1, "", f"{name} {text.format(name=name)}")


def test_what_upgrades_itself_says_so(desk: Desk) -> None:
    name = desk.operator("a", RUNS)
    text = "it follows its channel automatically, and has 1.0.0 from catalog c, channel stable\n"
    status, out, _ = desk.olm("upgrade", name)
    assert (status, out.endswith(text)) == (0, True)


def test_nothing_waits_for_approval(desk: Desk) -> None:
    name = desk.operator("a", RUNS)
    status, out, _ = desk.olm("approve", name)
    assert (status, out.endswith(" has no version that waits for approval\n")) == (0, True)
    status, _, err = desk.olm("approve", name, "--version", "2.0.0")
    assert (status, err) == (1, "version 2.0.0 does not wait for approval: no version does\n")


def test_an_upgrade_that_is_refused_and_waits_for_no_approval_says_so_and_fails(desk: Desk) -> None:
    name = desk.operator("a", STALLED, approval="Manual")
    text = f"{name} has no version that waits for approval: it is stalled: it has webhooks\n"
    for options in ([], ["--wait"]):
        assert desk.olm("approve", name, *options) == (1, "", text)
    text = "version 2.0.0 does not wait for approval: no version does: it is stalled: it has webhooks\n"
    assert desk.olm("approve", name, "--version", "2.0.0") == (1, "", text)


def test_a_version_that_is_approved_already_is_not_approved_twice(desk: Desk) -> None:
    name = desk.operator("a", available("ApprovalRequired"), approval="Manual")
    assert desk.olm("approve", name, "--force")[0] == 0
    for command, text in (
        ("approve", "is approved already: version 1.1.0"),
        ("upgrade", "unchanged: version 1.1.0 is"),
    ):
        status, out, _ = desk.olm(command, name)
        assert (status, f"/{name} {text}" in out) == (0, True)
    status, _, err = desk.olm("approve", name, "--wait", "--timeout", "2s")  # no controller reports on it
    assert (status, "waiting for operator-controller" in err, "waits for approval" in err) == (4, True, False)


def available(reason: str) -> Any:
    offered = {"version": "1.1.0", "bundle": "a", "image": "127.0.0.1:1/a:v1", "catalog": "c", "channel": "stable"}
    return {**RUNS, "available": {**offered, "reason": reason, "message": "for a reason"}}


@pytest.mark.parametrize("command", ["approve", "upgrade"])
def test_the_version_that_waits_is_approved(command: str, desk: Desk) -> None:
    name = desk.operator("a", available("ApprovalRequired"), approval="Manual")
    status, out, err = desk.olm(command, name)
    assert (status, out.endswith(f"/{name} approved: version 1.1.0\n")) == (0, True)
    assert "whether the upgrade would be refused is not known: " in err  # its image cannot be pulled
    annotations = desk.get(OPERATORS, name)["metadata"]["annotations"]
    assert annotations["operators.operatorframework.io/approved-version"] == "1.1.0"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        pytest.param("Paused", 5, id="the Operator is paused"),
        pytest.param("RequirementsNotSatisfied", 1, id="its requirements conflict"),
        pytest.param("NoUpgradeEdge", 1, id="no edge leads to it"),
    ],
)
def test_a_version_that_waits_for_something_else_is_not_approved(reason: str, status: int, desk: Desk) -> None:
    name = desk.operator("a", available(reason), paused=reason == "Paused")
    text = f"{name} needs no approval: version 1.1.0: for a reason\n"
    assert desk.olm("approve", name) == (status, "", text)
    text = f"{name} unchanged: 1.1.0 is available and not installed: for a reason\n"
    assert desk.olm("upgrade", name) == (status, "", text)
    annotations = desk.get(OPERATORS, name)["metadata"].get("annotations", {})
    assert "operators.operatorframework.io/approved-version" not in annotations


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (
            "1.0.0",
            "it is pinned to 1.0.0, which keeps out 1.1.0; choose another version with --version, or '' to follow",
        ),
        (
            "<1.1.0",
            "it follows versions <1.1.0, which keeps out 1.1.0; choose another version with --version, or '' to",
        ),
    ],
)
def test_a_pin_that_keeps_out_an_upgrade_says_so(version: str, text: str, desk: Desk) -> None:
    name = desk.operator("a", available("VersionExcluded"), version=version)
    status, _, err = desk.olm("upgrade", name)
    assert (status, f"unchanged: {text}" in err) == (5, True)
    status, out, _ = desk.olm("upgrade", name, "--version", version)
    assert (status, f"unchanged: {text}" in out) == (0, True), "it has what is asked for"


def test_an_operator_whose_catalog_was_deleted_says_so(desk: Desk) -> None:
    gone = condition("Ready", "True", "CatalogDeleted", 'catalog "c" was deleted: create it again')
    name = desk.operator("a", {**RUNS, "conditions": [gone]})
    text = (
        'unchanged: it has 1.0.0 from catalog c, channel stable, and no upgrade can be found: catalog "c" was deleted: '
    )
    assert desk.olm("upgrade", name) == (1, "", f"{name} {text}create it again\n")


def test_a_channel_or_version_that_the_package_does_not_have_is_set_only_by_force(desk: Desk) -> None:
    package = desk.package("b", "stable", versions="1.0.0")
    resource = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator"}
    name = desk.apply({**resource, "metadata": {"name": package}, "spec": {"packageName": package}})
    text = f"package {package} has no channel nope: it has stable\n"
    assert desk.olm("upgrade", name, "--channel", "nope") == (3, "", text)
    text = f"package {package} has no version 2.0.0: it has 1.0.0\n"
    assert desk.olm("upgrade", name, "--version", "2.0.0") == (3, "", text)
    assert spec(desk, name) == {"packageName": package}
    assert desk.olm("upgrade", name, "--channel", "nope", "--force")[0] == 0
    assert spec(desk, name) == {"packageName": package, "channel": "nope"}


def test_each_command_says_that_the_catalog_was_deleted(desk: Desk) -> None:
    why = 'catalog "c" was deleted, and no other catalog has the package'
    name = desk.operator("a", {**RUNS, "conditions": [condition("Ready", "True", "CatalogDeleted", why)]})
    for arguments in (("upgrade", name, "--version", "1.1.0"), ("show", "a"), ("graph", name)):
        status, out, err = desk.olm(*arguments)
        assert (status, out) == (3, ""), arguments
        assert f"Operator {name}: {why}" in err
    assert desk.olm("upgrade", name, "--version", "1.1.0", "--force")[0] == 0
