"""Whether a bundle is an upgrade of the installed one, by the edges that it names."""

from __future__ import annotations

import pytest

from olmctl.bundle.edges import Edges, edge_problem

NEW = "a.v2.0.0"
INSTALLED = ("a.v1.0.0", "1.0.0")


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param(Edges(NEW, replaces="a.v1.0.0"), id="it replaces the installed one"),
        pytest.param(Edges(NEW, replaces="a.v1.5.0", skips=("a.v0.9.0", "a.v1.0.0")), id="it skips the installed one"),
        pytest.param(Edges(NEW, skip_range=">=1.0.0 <2.0.0"), id="its skipRange includes the installed version"),
        pytest.param(Edges("a.v1.0.0"), id="it is the installed version, built again"),
    ],
)
def test_an_upgrade(edges: Edges) -> None:
    assert edge_problem(edges, *INSTALLED) == ""


@pytest.mark.parametrize(
    ("edges", "version", "text"),
    [
        pytest.param(Edges(NEW), "1.0.0", "it replaces nothing", id="it names no edge"),
        pytest.param(
            Edges(NEW, "a.v1.5.0", ("a.v1.4.0", "a.v1.3.0"), ">1.0.0 <2.0.0"),
            "1.0.0",
            "it replaces a.v1.5.0, skips a.v1.4.0, a.v1.3.0, its skipRange >1.0.0 <2.0.0 does not include 1.0.0",
            id="none of its edges reaches the installed version",
        ),
        pytest.param(
            Edges(NEW, skip_range=">=x"),
            "1.0.0",
            "it replaces nothing, its skipRange cannot be read (",
            id="its skipRange cannot be read",
        ),
        pytest.param(
            Edges(NEW, skip_range="<2.0.0"),
            "",
            "it replaces nothing, its skipRange <2.0.0 is compared with no version",
            id="the installed version is not known",
        ),
        pytest.param(
            Edges(NEW, skip_range=">=1.0.0 <2.0.0"),
            "1.0.0-rc.1",
            "it replaces nothing, its skipRange >=1.0.0 <2.0.0 does not include 1.0.0-rc.1",
            id="a prerelease is lower than its version",
        ),
    ],
)
def test_no_upgrade(edges: Edges, version: str, text: str) -> None:
    assert edge_problem(edges, "a.v1.0.0", version).startswith(f"{NEW} is no upgrade of a.v1.0.0: {text}")


def test_what_is_missing_is_named() -> None:
    way = "(set spec.replaces to a.v1.0.0, or let `olm bundle generate --catalog DIR` find it)"
    assert edge_problem(Edges(NEW, version="2.0.0"), *INSTALLED).endswith(f": it replaces nothing {way}")


def test_a_version_that_has_failed_is_not_advised() -> None:
    way = "(a.v1.0.0 has failed: set spec.replaces to it only if a catalog has it)"
    edges = Edges(NEW, replaces="a.v0.9.0", version="2.0.0")
    assert edge_problem(edges, *INSTALLED, has_failed=True).endswith(f": it replaces a.v0.9.0 {way}")


def test_an_older_version() -> None:
    text = "a.v0.9.0 is no upgrade of a.v1.0.0: version 0.9.0 is lower than 1.0.0, which is installed"
    assert edge_problem(Edges("a.v0.9.0", "a.v0.8.0", version="0.9.0"), *INSTALLED) == text
