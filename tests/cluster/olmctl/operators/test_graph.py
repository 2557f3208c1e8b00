"""`olm graph` against a real API server, without controllers: the graph is made of Package objects."""

from __future__ import annotations

import pytest

from tests.cluster.olmctl.conftest import Desk

INSTALLED = {"catalog": "c", "channel": "stable", "version": "1.0.0"}


@pytest.mark.parametrize("argument", ["the Operator", "the package"])
def test_the_graph_is_found_by_operator_and_by_package(argument: str, desk: Desk) -> None:
    name = desk.package("a", "stable")
    operator = desk.operator("mine", {"installed": {**INSTALLED, "name": f"{name}.v1.0.0"}}, packageName=name)
    status, out, err = desk.olm("graph", operator if argument == "the Operator" else name)
    assert (status, "edges of skipRange and deprecations are not shown" in err) == (0, True)
    assert f"    {name}.v1.0.0 (head, running)\n" in out


def test_another_operator_of_the_package_is_not_marked(desk: Desk) -> None:
    name = desk.package("a", "stable")
    other = desk.operator("other", packageName=name)
    desk.operator("mine", {"installed": {**INSTALLED, "name": f"{name}.v1.0.0"}}, packageName=name)
    assert f"    {name}.v1.0.0 (head)\n" in desk.olm("graph", other)[1]
    assert desk.olm("graph", f"{desk.prefix}-x")[0] == 3


def test_what_is_installed_without_an_operator_is_marked(desk: Desk) -> None:
    name = desk.package("a", "stable", versions="1.0.0")
    left = desk.left_installation("left", name, bundle=f"{name}.v1.0.0")
    for asked in (name, left):
        assert f"    {name}.v1.0.0 (head, running)\n" in desk.olm("graph", asked)[1]
