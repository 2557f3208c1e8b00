"""Which BundleDeployment is the one that `olm bundle run` has made for a package."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from olmctl.bundle.run_installations import NothingRun, chosen, run_installation
from olmctl.bundle.upgrade import other_way
from olmctl.commands import CommandError
from olmkit.api.meta import Kind
from olmkit.api.operators import KIND as OPERATORS
from olmkit.errors import Forbidden
from tests.unit.olmctl.bundle.installations import Object, deployment

OWN = deployment("widgets")


@pytest.mark.parametrize(
    ("text", "listed", "name"),
    [
        pytest.param("widgets", [OWN, deployment("other", "other")], "widgets", id="of its package"),
        pytest.param("mine", [deployment("mine")], "mine", id="of its name"),
        pytest.param("widgets", [deployment("mine"), OWN], "widgets", id="of both, before one of the package alone"),
        pytest.param("plain", [deployment("plain", "")], "plain", id="of no package"),
    ],
)
def test_the_installation(text: str, listed: list[Object], name: str) -> None:
    assert chosen(listed, text).name == name


@pytest.mark.parametrize(
    ("listed", "text", "way"),
    [
        pytest.param([], "", "; olm bundle run installs it", id="nothing"),
        pytest.param(
            [deployment("widgets", owner="w")],
            ": BundleDeployment widgets belongs to Operator w",
            ": olm upgrade w upgrades it",
            id="that of an Operator",
        ),
        pytest.param(
            [deployment("widgets", manager="kubectl")],
            ": BundleDeployment widgets was made by others",
            "",
            id="one of others",
        ),
    ],
)
def test_no_installation_names_what_is_there_instead(listed: list[Object], text: str, way: str) -> None:
    with pytest.raises(NothingRun) as raised:
        chosen(listed, "widgets")
    assert (raised.value.status, str(raised.value)) == (
        3,
        f"nothing of widgets was installed with olm bundle run{text}",
    )
    assert other_way(raised.value) == way


def test_several_installations_of_a_package() -> None:
    with pytest.raises(CommandError) as raised:
        chosen([deployment("a"), deployment("b")], "widgets")
    text = "package widgets is installed several times: name one of a, b"
    assert (raised.value.status, str(raised.value)) == (5, text)


@pytest.mark.parametrize(
    ("operators", "text"),
    [
        pytest.param([{"metadata": {"name": "w"}, "spec": {"packageName": "widgets"}}], "w", id="of the package"),
        pytest.param([{"metadata": {"name": "w"}, "spec": {"packageName": "gadgets"}}], "", id="of another one"),
        pytest.param(None, "", id="that may not be listed"),
    ],
)
async def test_an_operator_that_has_installed_nothing_yet_is_named(operators: list[Object] | None, text: str) -> None:
    async def listed(kind: Kind, *_: object, **__: object) -> tuple[list[Object], str]:
        if kind == OPERATORS and operators is None:
            raise Forbidden(403, "Forbidden", "denied")
        return (operators or [], "1") if kind == OPERATORS else ([], "1")

    session: Any = SimpleNamespace(client=SimpleNamespace(list=listed))
    with pytest.raises(NothingRun) as raised:
        await run_installation(session, "widgets")
    assert (raised.value.operator, raised.value.is_free) == (text, not text)
