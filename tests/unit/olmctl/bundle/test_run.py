"""What `olm bundle run` says about saves, and the name of a BundleDeployment."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.bundle.archive import Archive
from olmctl.bundle.run import changed_files, default_name
from olmctl.commands import CommandError


def test_each_file_that_differs_has_a_line() -> None:
    old = {"manifests/a": "1", "manifests/b": "1", "manifests/c": "1"}
    new = {"manifests/a": "1", "manifests/b": "2", "manifests/d": "1", "manifests/\x1b[2J": "1"}
    expected = ["+ manifests/�[2J", "~ manifests/b", "- manifests/c", "+ manifests/d"]
    assert list(changed_files(old, new)) == expected


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        pytest.param("/bundles/message-board", "message-board", id="of the directory"),
        pytest.param("/bundles/Message_Board 1.0.0", "message-board-1-0-0", id="with other characters"),
        pytest.param(f"/bundles/{'a' * 44}.b", "a" * 44, id="that is too long"),
    ],
)
def test_the_default_name(directory: str, name: str) -> None:
    assert default_name(Path(directory), Archive(b"")) == name


def test_a_directory_without_a_name() -> None:
    with pytest.raises(CommandError, match="choose one with --name"):
        default_name(Path("/bundles/___"), Archive(b""))
