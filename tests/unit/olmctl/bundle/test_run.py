"""What `olm bundle run` says about saves, and the name of a BundleDeployment."""

from __future__ import annotations

import pytest

from olmctl.bundle.run import changed_files, deployment_name
from olmctl.bundle.source import BundleSource
from olmctl.commands import CommandError


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
