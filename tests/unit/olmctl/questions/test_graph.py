"""What the graph of a package marks: what runs, and what is in reach of it."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.authoring import graph_drawing
from olmctl.catalog.graph import WRITERS
from olmctl.questions.graph import drawing_input

LENGTH = 499


def document(*more: dict[str, Any], length: int = LENGTH) -> dict[str, Any]:
    """A channel in which each of `length` bundles replaces the one before it, and more entries."""
    chain = [{"name": f"p.v1.{number}.0"} for number in range(length)]
    for entry, before in zip(chain[1:], chain, strict=False):
        entry["replaces"] = before["name"]
    entries = [*chain, *more]
    bundles = [{"name": each["name"], "version": each["name"].removeprefix("p.v"), "image": "i"} for each in entries]
    return {
        "package": "p",
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
        "bundles": bundles,
    }


def operator(version: str, **spec: str) -> dict[str, Any]:
    installed = {"name": f"p.v{version}", "version": version}
    return {"metadata": {"name": "p"}, "spec": {"packageName": "p", **spec}, "status": {"installed": installed}}


@pytest.mark.parametrize("form", WRITERS)
def test_a_long_channel_with_two_heads_is_marked_in_each_format(form: str) -> None:
    second_head = {"name": "p.v2.0.0", "replaces": "p.v1.400.0"}
    drawn = graph_drawing.draw("p", drawing_input(document(second_head), [operator("1.395.0")]))
    (channel,) = drawn.channels
    assert [node.name for node in channel.nodes if node.is_head] == ["p.v1.498.0", "p.v2.0.0"]
    assert [node.name for node in channel.nodes if node.is_running] == ["p.v1.395.0"]
    reached = [*(f"p.v1.{number}.0" for number in range(396, LENGTH)), "p.v2.0.0"]
    assert [node.name for node in channel.nodes if node.is_in_reach] == reached
    printed = WRITERS[form](drawn)
    assert (printed.count("(running)"), printed.count("in reach)")) == (1, len(reached))


def test_the_head_that_no_edge_leads_to_is_out_of_reach() -> None:
    drawn = drawing_input(document({"name": "p.v2.0.0", "replaces": "p.v1.1.0"}, length=5), [operator("1.3.0")])
    assert drawn.in_reach == {"p.v1.4.0"}


@pytest.mark.parametrize("form", WRITERS)
def test_an_excluded_version_is_marked_and_is_no_step_of_an_upgrade(form: str) -> None:
    excluding = operator("1.0.0")
    excluding["spec"]["excludedVersions"] = ["1.2.0+build"]
    found = drawing_input(document(length=5), [excluding])
    assert found.excluded == {"p.v1.2.0"}
    assert found.in_reach == {"p.v1.1.0"}
    printed = WRITERS[form](graph_drawing.draw("p", found))
    assert printed.count("p.v1.2.0 (excluded)") == 1


def test_without_upgrade_constraints_all_of_the_channel_is_in_reach() -> None:
    ignoring = operator("1.3.0", upgradeConstraintPolicy="Ignore")
    drawn = drawing_input(document({"name": "p.v2.0.0", "replaces": "p.v1.1.0"}, length=5), [ignoring])
    assert drawn.in_reach == {"p.v1.0.0", "p.v1.1.0", "p.v1.2.0", "p.v1.4.0", "p.v2.0.0"}


def test_a_channel_whose_edges_are_a_cycle_ends() -> None:
    cycle = document(length=3)
    cycle["channels"][0]["entries"][0]["replaces"] = "p.v1.2.0"
    assert drawing_input(cycle, [operator("1.0.0")]).in_reach == {"p.v1.1.0", "p.v1.2.0"}
