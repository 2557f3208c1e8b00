"""The name that a bundle gives its BundleDeployment, and what is said of an image that cannot be read here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmctl.bundle.source import BundleSource, default_name
from olmctl.commands import FAILED, CommandError
from olmkit.errors import OlmError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("message-board", "message-board", id="of the package, the directory or the image"),
        pytest.param("Message_Board 1.0.0", "message-board-1-0-0", id="with other characters"),
        pytest.param(f"{'a' * 44}.b", "a" * 44, id="that is too long"),
        pytest.param("___", "", id="that gives none"),
    ],
)
def test_the_default_name(text: str, name: str) -> None:
    assert default_name(text) == name


def unread(reason: str, message: str) -> BundleSource:
    return BundleSource("example.com/a:v9", "a", "registry", None, None, unread=OlmError(reason, message))


def test_an_image_that_its_registry_does_not_have_is_refused_but_by_force() -> None:
    missing = unread("ImageNotFound", "image example.com/a:v9 not found (404): push the image")
    with pytest.raises(CommandError) as caught:
        missing.check_found(is_forced=False)
    text = "image example.com/a:v9 not found (404): push the image (olm bundle push)"
    assert (caught.value.status, str(caught.value)) == (FAILED, text)
    missing.check_found(is_forced=True)
    replace(missing, pull_secret="login").check_found(is_forced=False)


def test_an_image_that_only_the_cluster_can_read_is_warned_of() -> None:
    refused = unread("Unauthorized", "the registry denies access")
    refused.check_found(is_forced=False)
    text = "example.com/a:v9 cannot be read from here, so that its upgrades and requirements are not checked: the registry denies"
    assert refused.warning == f"{text} access"
