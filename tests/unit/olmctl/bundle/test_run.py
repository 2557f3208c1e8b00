"""What `olm bundle run` says about saves, and the name of a BundleDeployment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from olmctl.bundle.run import changed_files, deployment_name, install_settings
from olmctl.bundle.source import BundleSource
from olmctl.commands import CommandError
from olmctl.questions.session import Session
from olmkit.runtime.client import Client
from tests.unit.olmctl.bundle.bundles import widgets

SESSION = Session(Client("unused"), "olm-suite-system")
OWN = widgets(modes=("OwnNamespace",), annotations={"operatorframework.io/suggested-namespace": "tools"})


def test_each_file_that_differs_has_a_line() -> None:
    old = {"manifests/a": "1", "manifests/b": "1", "manifests/c": "1"}
    new = {"manifests/a": "1", "manifests/b": "2", "manifests/d": "1", "manifests/\x1b[2J": "1"}
    expected = ["+ manifests/�[2J", "~ manifests/b", "- manifests/c", "+ manifests/d"]
    assert list(changed_files(old, new)) == expected


def test_a_directory_without_a_name() -> None:
    source = BundleSource("/bundles/___", "", "plain", None, None)
    assert deployment_name(source, "a") == "a"
    with pytest.raises(CommandError, match="/bundles/___ gives no name for a BundleDeployment: choose one with --name"):
        deployment_name(source, None)


def options(**given: Any) -> dict[str, Any]:
    """The options of the command that say how a bundle is installed, as click gives them."""
    names = ("install_namespace", "install_mode", "config", "certificates", "service_account")
    return {
        **dict.fromkeys((*names, "adoption_policy", "crd_policy", "rollback", "progress_deadline")),
        "crd_rules": (),
        **given,
    }


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"install_namespace": "a"}, {"installNamespace": "a"}, id="the namespace"),
        pytest.param(
            {"install_mode": ("OwnNamespace", ())},
            {"installNamespace": "tools", "watchNamespaces": ["tools"]},
            id="the namespace that the bundle suggests is watched, and stays so in the next version",
        ),
        pytest.param(
            {"install_mode": ("OwnNamespace", ()), "install_namespace": "a"},
            {"installNamespace": "a", "watchNamespaces": ["a"]},
            id="the namespace that is given is watched",
        ),
        pytest.param({"certificates": "cert-manager"}, {"certificates": "CertManager"}, id="the certificates"),
        pytest.param(
            {"adoption_policy": "IfUnowned", "crd_policy": "Enforce", "crd_rules": ("enum-added", "", "enum-added")},
            {
                "adoptionPolicy": "IfUnowned",
                "crdUpgradeSafety": {"policy": "Enforce", "ignoredRules": ["enum-added"]},
            },
            id="what is taken over, and which definitions are refused",
        ),
        pytest.param({"rollback": "OnFailure"}, {"rollback": "OnFailure"}, id="that a failed upgrade is rolled back"),
        pytest.param({"progress_deadline": "90s"}, {"progressDeadline": "90s"}, id="the time to become healthy"),
        pytest.param({"service_account": "a/b"}, {"serviceAccount": {"name": "b", "namespace": "a"}}, id="the account"),
    ],
)
async def test_the_settings_of_an_installation(given: dict[str, Any], spec: dict[str, Any]) -> None:
    source = BundleSource("widgets", "widgets", "registry", None, OWN)
    assert await install_settings(SESSION, source, options(**given)) == spec


async def test_the_config_of_an_installation(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("env: [{name: A, value: b}]")
    source = BundleSource("widgets", "widgets", "registry", None, OWN)
    found = await install_settings(SESSION, source, options(config=str(file)))
    assert found == {"config": {"env": [{"name": "A", "value": "b"}]}}
    file.write_text("- a")
    with pytest.raises(CommandError, match="must be one mapping"):
        await install_settings(SESSION, source, options(config=str(file)))


async def test_a_rule_that_does_not_exist() -> None:
    source = BundleSource("widgets", "widgets", "registry", None, OWN)
    with pytest.raises(click.UsageError, match="there is no rule enum: conversion-removed, default-added, "):
        await install_settings(SESSION, source, options(crd_rules=("enum",)))


async def test_an_own_namespace_that_is_not_known() -> None:
    source = BundleSource("registry.example.com/a", "a", "registry", None, None)
    with pytest.raises(CommandError, match="--install-mode OwnNamespace needs --namespace"):
        await install_settings(SESSION, source, options(install_mode=("OwnNamespace", ())))
