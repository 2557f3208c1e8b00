"""The options that say how a bundle is installed, as fields of a BundleDeployment."""

from __future__ import annotations

from typing import Any

import click
import pytest

from olmctl.bundle.install_options import (
    account_of,
    check_mode,
    install_mode_of,
    options_for,
    watched_namespaces,
)
from olmctl.commands import CommandError
from olmkit.api.impersonation import Account
from tests.unit.olmctl.bundle.bundles import widgets


@pytest.mark.parametrize(
    ("text", "namespaces"),
    [
        pytest.param("AllNamespaces", [""], id="all namespaces"),
        pytest.param("OwnNamespace", ["own"], id="the install namespace"),
        pytest.param("SingleNamespace=a", ["a"], id="another one"),
        pytest.param("MultiNamespace=a, b,a", ["a", "b"], id="several, each once"),
    ],
)
def test_the_namespaces_of_an_install_mode(text: str, namespaces: list[str]) -> None:
    assert watched_namespaces(*install_mode_of(text), "own") == namespaces


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("Everywhere", 'unknown install mode type "Everywhere": it is one of AllNamespaces', id="unknown"),
        pytest.param(
            "SingleNamespace", 'install mode "SingleNamespace" must have exactly one target namespace', id="without one"
        ),
        pytest.param(
            "SingleNamespace=a,b",
            'install mode "SingleNamespace" must have exactly one target namespace',
            id="with two namespaces",
        ),
        pytest.param("AllNamespaces=a", 'install mode "AllNamespaces" must have no target namespace', id="with one"),
        pytest.param(
            "MultiNamespace=", 'install mode "MultiNamespace" must have at least one target namespace', id="with none"
        ),
        pytest.param("MultiNamespace=a,B_", '"B_" is no name of a namespace', id="with what is no name"),
    ],
)
def test_an_install_mode_that_cannot_be_read(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        install_mode_of(text)


def test_a_mode_that_the_bundle_does_not_support() -> None:
    bundle = widgets(modes=("OwnNamespace", "SingleNamespace")).registry
    assert bundle is not None
    check_mode("OwnNamespace", bundle)
    text = (
        r'install mode type "AllNamespaces" not supported in CSV "widgets\.v1\.0\.0": it supports OwnNamespace, SingleN'
    )
    with pytest.raises(CommandError, match=text) as raised:
        check_mode("AllNamespaces", bundle)
    assert raised.value.status == 5


@pytest.mark.parametrize(
    ("text", "namespace", "account"),
    [
        pytest.param("a/b", None, Account("a", "b"), id="with its namespace"),
        pytest.param("b", "a", Account("a", "b"), id="in the install namespace"),
    ],
)
def test_a_service_account(text: str, namespace: str | None, account: Account) -> None:
    assert account_of(text, namespace) == account


def test_a_service_account_without_a_namespace() -> None:
    with pytest.raises(click.UsageError, match="must be NAMESPACE/NAME, or NAME together with --namespace"):
        account_of("b", None)


@pytest.mark.parametrize(
    ("status", "options"),
    [
        pytest.param({"permittedBy": ["adoptionPolicy"]}, ["--adoption-policy"], id="adoption"),
        pytest.param(
            {"permittedBy": ["adoptionPolicy", "crdUpgradeSafety.ignoredRules"]},
            ["--adoption-policy", "--ignore-crd-rule"],
            id="rules about definitions too",
        ),
        pytest.param({"permittedBy": ["somethingNewer"]}, [], id="a field that is not known"),
        pytest.param({}, [], id="neither"),
        pytest.param(None, [], id="the BundleDeployment is not known"),
    ],
)
def test_the_options_for_fields_that_permit_what_is_refused(status: Any, options: list[str]) -> None:
    found = options_for(None if status is None else {"status": status})
    assert [each.removeprefix("if you want that, run the command again with ").split()[0] for each in found] == options
