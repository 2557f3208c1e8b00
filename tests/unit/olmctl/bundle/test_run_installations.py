"""Which BundleDeployment is the one that `olm bundle run` has made for a package."""

from __future__ import annotations

import pytest

from olmctl.bundle.run_installations import chosen
from olmctl.commands import CommandError
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
    ("listed", "status", "text"),
    [
        pytest.param([], 3, "nothing of widgets was installed with olm bundle run", id="nothing"),
        pytest.param(
            [deployment("widgets", owner="w")],
            3,
            "nothing of widgets was installed with olm bundle run: BundleDeployment widgets belongs to Operator w",
            id="that of an Operator",
        ),
        pytest.param(
            [deployment("widgets", manager="kubectl")],
            3,
            "nothing of widgets was installed with olm bundle run: BundleDeployment widgets was made by others",
            id="one of others",
        ),
        pytest.param(
            [deployment("a"), deployment("b")],
            5,
            "package widgets is installed several times: name one of a, b",
            id="several of the package",
        ),
    ],
)
def test_no_installation(listed: list[Object], status: int, text: str) -> None:
    with pytest.raises(CommandError) as raised:
        chosen(listed, "widgets")
    assert (raised.value.status, str(raised.value)) == (status, text)
