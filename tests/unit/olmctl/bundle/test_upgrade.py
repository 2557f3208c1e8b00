"""What `olm bundle upgrade` refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olmctl.bundle.archive import Archive
from olmctl.bundle.facts import BundleFacts
from olmctl.bundle.source import BundleSource
from olmctl.bundle.upgrade import unknown_package, upgrade_problem
from olmctl.questions.left_installations import LeftInstallation
from olmkit.errors import OlmError
from rukpak.format.bundle import PlainBundle
from tests.unit.olmctl.bundle.bundles import widgets
from tests.unit.olmctl.bundle.installations import Object, deployment

BEFORE = {"name": "widgets.v0.9.0", "version": "0.9.0"}
REPLACES = widgets(replaces="widgets.v0.9.0")


def source(facts: BundleFacts | None, archive: Archive | None = None) -> BundleSource:
    return BundleSource("registry.example.com/widgets:v1", "widgets", "registry", archive, facts)


@pytest.mark.parametrize(
    ("given", "installed", "package", "problem"),
    [
        pytest.param(source(REPLACES), BEFORE, "widgets", "", id="an edge leads to it"),
        pytest.param(
            source(widgets()),
            BEFORE,
            "widgets",
            "widgets.v1.0.0 is no upgrade of widgets.v0.9.0: it replaces nothing (set spec.replaces to widgets.v0.9.0, or let "
            "`olm bundle generate --catalog DIR` find it)",
            id="no edge leads to it",
        ),
        pytest.param(source(widgets()), None, "widgets", "", id="nothing was installed yet"),
        pytest.param(
            source(widgets()),
            {},
            "widgets",
            "the name of the installed bundle of own is not known",
            id="the installed bundle has no name",
        ),
        pytest.param(
            source(REPLACES),
            BEFORE,
            "gadgets",
            "registry.example.com/widgets:v1 is of package widgets, and own of package gadgets",
            id="it is of another package",
        ),
        pytest.param(
            source(BundleFacts(PlainBundle(()))),
            BEFORE,
            "gadgets",
            "registry.example.com/widgets:v1 is of no package, and own of package gadgets",
            id="it is of no package",
        ),
        pytest.param(
            source(None),
            BEFORE,
            "widgets",
            "the upgrades to registry.example.com/widgets:v1 are not known here",
            id="an image that is not read here",
        ),
        pytest.param(
            replace(source(None), unread=OlmError("ImageNotFound", "no such tag")),
            BEFORE,
            "widgets",
            "the upgrades to registry.example.com/widgets:v1 are not known here (no such tag)",
            id="an image that cannot be read here",
        ),
        pytest.param(source(None, Archive(b"")), BEFORE, "widgets", "", id="a directory that rukpak refuses"),
    ],
)
def test_an_upgrade(given: BundleSource, installed: Object | None, package: str, problem: str) -> None:
    found = deployment("own", package)
    found["status"] = {} if installed is None else {"installed": installed}
    assert upgrade_problem(given, LeftInstallation(found)) == problem


def test_the_cause_comes_before_a_guess_from_the_name_of_the_image() -> None:
    missing = replace(source(None), unread=OlmError("ImageNotFound", "no such tag"))
    text = "no such tag: the package of registry.example.com/widgets:v1 is not known: name the installation with --name"
    assert unknown_package(missing, None) == text
    assert unknown_package(missing, "own") == ""
    assert unknown_package(source(REPLACES), None) == ""
