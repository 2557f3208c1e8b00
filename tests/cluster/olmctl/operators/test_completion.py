"""Names that shells complete, from a real API server."""

from __future__ import annotations

import pytest

from olmctl.main import kubectl_completion_main
from tests.cluster.olmctl.conftest import Desk


@pytest.fixture
def words(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A package with two channels and two versions, and an Operator of it."""
    monkeypatch.setenv("KUBECONFIG", str(desk.cluster.kubeconfig))
    desk.operator("operator", packageName=desk.package("a", "stable", "beta", versions="1.1.0,1.0.0 and 3 more"))
    return desk


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("show {}-", ["{}-a"], id="packages"),
        pytest.param("why {}-", ["{}-operator"], id="Operators"),
        pytest.param("graph {}-", ["{}-a", "{}-operator"], id="Operators and packages"),
        pytest.param("install {}-a --channel ", ["beta", "stable"], id="channels of a package"),
        pytest.param(
            "upgrade {}-operator --version 1", ["1.0.0", "1.1.0"], id="versions of the package of an Operator"
        ),
    ],
)
def test_names(line: str, expected: list[str], words: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert kubectl_completion_main(line.format(words.prefix).split(" ")) == 0
    *found, end = capsys.readouterr().out.splitlines()
    assert (found, end) == ([each.format(words.prefix) for each in expected], ":4")
