"""`olm exclude` against a real API server, without controllers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmkit.api.ownership import is_dependency
from tests.cluster.olmctl.conftest import OPERATORS, Desk, condition

RUNS = {"installed": {"name": "a.v1", "version": "1.0.0", "catalog": "c", "channel": "stable"}}


def excluded(desk: Desk, name: str) -> Any:
    return desk.get(OPERATORS, name)["spec"].get("excludedVersions")


def test_a_version_is_excluded_and_permitted_again(desk: Desk) -> None:
    name = desk.operator("a", RUNS)
    assert desk.olm("exclude", name, "1.1.0")[1].endswith(f"/{name} configured: excludes 1.1.0\n")
    assert desk.olm("exclude", name, "1.1.0+build")[1].endswith(" unchanged: excludes 1.1.0\n")
    until = "the Operator is not Ready until another version replaces it (--undo permits it again)"
    stays = f"it runs 1.0.0, which stays, and {until}"
    text = f" configured: excludes 1.0.0; {stays}\n"
    assert desk.olm("exclude", name, "1.0.0")[1].endswith(text)
    assert excluded(desk, name) == ["1.1.0", "1.0.0"]
    assert "Asked for:   package a, without 1.1.0, 1.0.0\n" in desk.olm("why", name)[1]
    assert desk.olm("exclude", name, "1.1.0", "--undo")[1].endswith(" configured: permits 1.1.0\n")
    assert desk.olm("exclude", name, "1.1.0", "--undo")[1].endswith(" unchanged: permits 1.1.0\n")
    assert excluded(desk, name) == ["1.0.0"]
    assert desk.olm("exclude", name, "1.0.0", "--undo")[0] == 0
    assert excluded(desk, name) is None


def test_a_text_that_is_no_exact_version_is_refused_before_anything_is_asked(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.x", "v1.0.0", ">=1.0.0", "", "1.0.0\x1b[2J"):
        with pytest.raises(SystemExit, match="2"):
            desk.olm("exclude", "absent", version)
        err = capsys.readouterr().err
        assert ("is not one exact version" in err, "\x1b" in err) == (True, False)
    assert desk.olm("exclude", "absent", "1.0.0")[0] == 3


def test_versions_that_others_exclude_stay_theirs(desk: Desk) -> None:
    """Those of a GitOps tool and those of `olm` are one set, and neither takes out what the other has."""
    name = f"{desk.prefix}-a"
    resource = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": {"name": name}}
    manifest = {**resource, "spec": {"packageName": "a", "excludedVersions": ["1.1.0"]}}
    desk.apply(manifest, manager="gitops")
    assert desk.olm("exclude", name, "1.2.0")[0] == 0
    assert desk.olm("upgrade", name, "--channel", "beta", "--force")[0] == 0
    assert excluded(desk, name) == ["1.1.0", "1.2.0"]
    refused = f"{name}: 1.1.0 is excluded by gitops: permit it there, or use --force to take it out here\n"
    assert desk.olm("exclude", name, "1.1.0", "--undo") == (5, "", refused)
    without = {**manifest, "spec": {"packageName": "a"}}
    desk.cluster.kubectl("apply", "--server-side", "--field-manager=gitops", "-f", "-", input=json.dumps(without))
    assert excluded(desk, name) == ["1.2.0"], "olm has not taken over what it did not set"
    desk.cluster.kubectl("apply", "--server-side", "--field-manager=gitops", "-f", "-", input=json.dumps(manifest))
    assert desk.olm("exclude", name, "1.1.0", "--undo", "--force")[1].endswith(" configured: permits 1.1.0\n")
    assert excluded(desk, name) == ["1.2.0"]


def test_a_dependency_of_which_versions_are_excluded_stays_one(desk: Desk) -> None:
    name = desk.operator("a", is_dependency=True)
    assert desk.olm("exclude", name, "1.1.0")[0] == 0
    assert excluded(desk, name) == ["1.1.0"]
    found = desk.cluster.kubectl("get", OPERATORS, name, "-o", "json", "--show-managed-fields")
    assert is_dependency(json.loads(found))


def test_an_upgrade_says_which_exclusion_keeps_it_out(desk: Desk) -> None:
    waits = {
        "available": {
            **{"version": "1.1.0", "bundle": "a.v1.1.0", "image": "r/a:1.1.0", "catalog": "c", "channel": "stable"},
            **{"reason": "VersionExcluded", "message": "1.1.0 is available too, but spec.excludedVersions has it"},
        },
        "conditions": [condition("Ready", "True", "Succeeded")],
    }
    name = desk.operator("a", {**RUNS, **waits}, excludedVersions=["1.1.0"])
    hint = f"spec.excludedVersions has 1.1.0; `olm exclude {name} 1.1.0 --undo` permits it\n"
    assert desk.olm("upgrade", name) == (5, "", f"{name} unchanged: {hint}")
    status, _, err = desk.olm("upgrade", name, "--version", "1.1.0")
    assert (status, f"{name}: spec.excludedVersions has 1.1.0: `olm exclude" in err) == (5, True)


@pytest.mark.parametrize("command", ["install", "upgrade"])
def test_an_excluded_version_that_is_asked_for_is_refused_without_waiting_for_it(desk: Desk, command: str) -> None:
    package = desk.package("a", "stable", versions="1.1.0,1.0.0")
    name = desk.operator("a", RUNS, packageName=package)
    assert desk.olm("exclude", name, "1.1.0+build")[0] == 0
    subject = (package, "--name", name) if command == "install" else (name,)
    status, out, err = desk.olm(command, *subject, "--version", "1.1.0")
    assert (status, out) == (5, "")
    assert f"{name}: spec.excludedVersions has 1.1.0+build: `olm exclude {name} 1.1.0+build --undo` permits it" in err
    assert desk.olm(command, *subject, "--version", "1.1.0", "--force") == (status, out, err), "it is never chosen"
    assert "version" not in desk.get(OPERATORS, name)["spec"]
    desk.cluster.kubectl("patch", OPERATORS, name, "--type=merge", "-p", '{"spec": {"version": "1.1.0"}}')
    assert desk.olm(command, *subject, "--version", "1.1.0") == (status, out, err), "the spec asks for it already"
