"""Names that shells complete, from a real API server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from olmctl.main import kubectl_completion_main
from tests.cluster.olmctl.conftest import Desk


@pytest.fixture
def words(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A package with two channels and two versions, an Operator of it, and a ClusterExtension whose Operator has a shorter name.

    Puts their names into a text: {0} is the beginning of each, {1} the ClusterExtension, {2} its Operator.
    """
    monkeypatch.setenv("KUBECONFIG", str(desk.cluster.kubeconfig))
    package = desk.package("a", "stable", "beta", versions="1.1.0,1.0.0 and 3 more")
    desk.operator("operator", packageName=package)
    extension = desk.extension("x" * 50, package)
    names = desk.prefix, extension, desk.operator_of(extension, package=package)
    return lambda text: text.format(*names)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("show {0}-", ["{0}-a"], id="packages"),
        pytest.param("why {0}-", ["{0}-operator", "{2}", "{1}"], id="Operators and ClusterExtensions"),
        pytest.param("graph {0}-", ["{0}-a", "{0}-operator", "{2}", "{1}"], id="these and packages"),
        pytest.param("install {0}-a --channel ", ["beta", "stable"], id="channels of a package"),
        pytest.param(
            "upgrade {0}-operator --version 1", ["1.0.0", "1.1.0"], id="versions of the package of an Operator"
        ),
        pytest.param("upgrade {1} --version 1", ["1.0.0", "1.1.0"], id="versions of the package of a ClusterExtension"),
    ],
)
def test_names(line: str, expected: list[str], words: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    assert kubectl_completion_main(words(line).split(" ")) == 0
    *found, end = capsys.readouterr().out.splitlines()
    assert (found, end) == ([words(each) for each in expected], ":4")
