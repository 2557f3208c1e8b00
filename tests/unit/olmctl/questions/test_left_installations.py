"""What is said about a BundleDeployment that has no Operator."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.left_installations import LeftInstallation
from tests.unit.olmctl.bundle.installations import deployment


def test_what_is_being_deleted_is_not_to_be_taken_over() -> None:
    found = deployment("w")
    ways = "`olm bundle cleanup w` removes it, and `olm install widgets --name w --adopt` takes it over"
    assert LeftInstallation(found).sentence == f"BundleDeployment w of package widgets has no Operator: {ways}"
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    text = "BundleDeployment w of package widgets has no Operator: it is being deleted"
    assert LeftInstallation(found).sentence == text


def test_while_an_upgrade_is_refused_the_way_back_is_named_and_not_the_removal() -> None:
    def source(tag: str) -> dict[str, Any]:
        return {"source": {"type": "image", "image": {"ref": f"registry.example.com/widgets:{tag}"}}}

    found = deployment("w", installed={"name": "widgets.v1", "version": "1.0.0", "spec": source("v1")})
    found["spec"]["template"]["spec"] = source("v2")
    found["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "Blocked", "message": "refused"}]
    back = "`olm bundle upgrade registry.example.com/widgets:v1 --name w` returns to widgets.v1"
    assert f"without an Operator: {back}, and `olm install widgets" in LeftInstallation(found).sentence
    found["status"]["conditions"][0]["status"] = "True"
    assert "`olm bundle cleanup w` removes it" in LeftInstallation(found).sentence


OLD, NEW = (
    {"source": {"type": "image", "image": {"ref": f"registry.example.com/widgets:{tag}"}}} for tag in ("v1", "v2")
)
AGAIN = "`olm bundle run` with another bundle or other options changes it, and `olm bundle cleanup w` removes it"
SENTENCE = "`olm bundle cleanup w` removes it, and `olm install widgets --name w --adopt` takes it over"


@pytest.mark.parametrize(
    ("installed", "is_stalled", "text"),
    [
        pytest.param(
            OLD,
            False,
            "`olm bundle upgrade registry.example.com/widgets:v1 --name w` returns to widgets.v1, and "
            "`olm install widgets --name w --adopt` takes it over",
            id="an upgrade goes on",
        ),
        pytest.param(NEW, False, SENTENCE, id="what is asked for is installed"),
        pytest.param(
            OLD,
            True,
            "`olm bundle upgrade registry.example.com/widgets:v1 --name w` returns to widgets.v1",
            id="an upgrade is refused",
        ),
        pytest.param(
            None,
            True,
            AGAIN,
            id="the installation is refused",
        ),
        pytest.param(
            NEW,
            True,
            AGAIN,
            id="what is installed fails",
        ),
    ],
)
def test_the_next_steps(installed: dict[str, Any] | None, is_stalled: bool, text: str) -> None:
    found = deployment("w", installed={"name": "widgets.v1", "spec": installed} if installed else None)
    found["spec"]["template"]["spec"] = NEW
    found["status"]["conditions"] = [{"type": "Stalled", "status": "True"}] if is_stalled else []
    assert LeftInstallation(found).next_steps == text
    others = deployment("w", manager="operator-controller")
    others["status"] = found["status"]
    assert LeftInstallation(others).next_steps == "`olm install widgets --name w` takes it over"


@pytest.mark.parametrize("is_stalled", [True, False])
def test_after_an_upgrade_that_is_not_healthy_the_last_bundle_that_was_is_named(is_stalled: bool) -> None:
    found = deployment("w", installed={"name": "widgets.v2", "spec": NEW})
    found["spec"]["template"]["spec"] = NEW
    found["status"]["conditions"] = [{"type": "Stalled", "status": "True"}] if is_stalled else []
    found["status"]["history"] = [
        {"name": "widgets.v2", "outcome": "Failed", "spec": NEW},
        {"name": "widgets.v1", "outcome": "Succeeded", "spec": OLD},
    ]
    back = "`olm bundle upgrade registry.example.com/widgets:v1 --name w --force` returns to widgets.v1"
    taken = "" if is_stalled else ", and `olm install widgets --name w --adopt` takes it over"
    assert LeftInstallation(found).next_steps == f"{back}{taken}"
    assert LeftInstallation(found, is_offered=False).next_steps == back
    assert "olm install" not in LeftInstallation(found, is_offered=False).sentence
    found["status"]["history"].pop()
    assert LeftInstallation(found, is_offered=False).next_steps.endswith("`olm bundle cleanup w` removes it")


@pytest.mark.parametrize(
    ("fields", "installed", "text"),
    [
        pytest.param(
            ["adoptionPolicy"],
            None,
            "`olm bundle upgrade registry.example.com/widgets:v2 --name w --adoption-policy IfUnowned` permits what is refused, "
            "and `olm bundle cleanup w` removes it",
            id="an object that exists",
        ),
        pytest.param(
            ["adoptionPolicy", "crdUpgradeSafety.ignoredRules"],
            {"name": "widgets.v1", "spec": OLD},
            "`olm bundle upgrade registry.example.com/widgets:v2 --name w --adoption-policy IfUnowned --ignore-crd-rule RULE` "
            "permits what is refused, and `olm bundle upgrade registry.example.com/widgets:v1 --name w` returns to widgets.v1",
            id="also a rule about definitions, in an upgrade",
        ),
        pytest.param(["another"], None, AGAIN, id="a field that is not known"),
    ],
)
def test_options_that_permit_what_is_refused_are_named(fields: list[str], installed: Any, text: str) -> None:
    found = deployment("w", installed=installed)
    found["spec"]["template"]["spec"] = NEW
    found["status"] |= {"conditions": [{"type": "Stalled", "status": "True"}], "permittedBy": fields}
    assert LeftInstallation(found).next_steps == text


UPLOADED: dict[str, Any] = {"source": {"type": "upload", "upload": {"digest": "sha256:0"}}}
FILES = "`olm bundle upgrade DIRECTORY --name w` returns to widgets.v1, with its files in DIRECTORY"


@pytest.mark.parametrize(
    ("asked", "reason", "text"),
    [
        pytest.param(
            NEW, "Blocked", f"{FILES} (olm bundle content w-1 -o DIRECTORY)", id="an upgrade of a directory is refused"
        ),
        pytest.param(
            NEW,
            "RolledBack",
            "`olm bundle upgrade registry.example.com/widgets:v2 --name w --rollback Never` tries the failed bundle again "
            f"without a rollback, and {FILES} (olm bundle content w-1 -o DIRECTORY)",
            id="an upgrade to an image was rolled back",
        ),
        pytest.param(
            {"source": {"type": "upload", "upload": {"digest": "sha256:1"}}},
            "RolledBack",
            "`olm bundle upgrade DIRECTORY --name w --rollback Never` tries the failed bundle again without a rollback, and "
            f"{FILES} (olm bundle content w-1 -o DIRECTORY)",
            id="an upgrade to a directory was rolled back",
        ),
    ],
)
def test_the_files_of_a_directory_that_may_have_changed_since(asked: dict[str, Any], reason: str, text: str) -> None:
    found = deployment("w", installed={"name": "widgets.v1", "bundle": "w-1", "spec": UPLOADED})
    found["spec"]["template"]["spec"] = asked
    found["status"]["conditions"] = [
        {"type": "Stalled", "status": "True", "reason": reason},
        {"type": "Ready", "status": "False", "reason": reason},
    ]
    assert LeftInstallation(found).next_steps == text


def test_settings_with_which_the_same_bundle_fails_are_set_anew() -> None:
    found = deployment("w", installed={"name": "widgets.v2", "spec": NEW})
    found["spec"]["template"]["spec"] = NEW
    found["status"]["history"] = [
        {"name": "widgets.v2", "outcome": "Succeeded", "spec": NEW},
        {"name": "widgets.v1", "outcome": "Succeeded", "spec": OLD},
    ]
    found["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "Unhealthy"}]
    run = "`olm bundle run registry.example.com/widgets:v2 --name w` with the earlier options returns to widgets.v2"
    assert LeftInstallation(found, is_offered=False).next_steps == run


@pytest.mark.parametrize(
    ("spec", "ready", "text"),
    [
        pytest.param(
            {"rollback": "OnFailure", "progressDeadline": "90s"},
            {"reason": "Upgrading"},
            "rukpak returns to widgets.v1 by itself unless it is healthy within 90s",
            id="a rollback follows an upgrade that does not become healthy",
        ),
        pytest.param(
            {"rollback": "OnFailure"},
            {"reason": "Upgrading"},
            "rukpak returns to widgets.v1 by itself unless it is healthy within the deadline of its kinds, 10m for most "
            "(--progress-deadline sets another one)",
            id="a rollback follows after the deadline of the kinds",
        ),
        pytest.param(
            {},
            {"reason": "OperatorConditionNotUpgradeable"},
            "`olm bundle upgrade registry.example.com/widgets:v2 --name w --force` overrides the OperatorCondition, and "
            "`olm bundle upgrade registry.example.com/widgets:v1 --name w` returns to widgets.v1",
            id="an OperatorCondition holds the upgrade",
        ),
    ],
)
def test_the_next_steps_of_an_upgrade_that_is_not_over(spec: dict[str, Any], ready: dict[str, str], text: str) -> None:
    found = deployment("w", installed={"name": "widgets.v1", "spec": OLD})
    found["spec"] |= spec
    found["spec"]["template"]["spec"] = NEW
    found["status"]["conditions"] = [{"type": "Ready", "status": "False", **ready}]
    found["status"]["history"] = [
        {"name": "widgets.v2", "outcome": "InProgress", "spec": NEW},
        {"name": "widgets.v1", "outcome": "Succeeded", "spec": OLD},
    ]
    assert LeftInstallation(found).next_steps == text
