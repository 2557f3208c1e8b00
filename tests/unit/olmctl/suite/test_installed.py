"""Namespaces that the suite is installed into although they exist and do not have its label."""

from __future__ import annotations

import pytest

from olmctl.suite.installed import namespace_problem
from olmkit.api.meta import Object

DEPLOYMENT: Object = {"metadata": {"name": "catalogd-controller-manager", "namespace": "olmv1-system"}}
REFUSED = "namespace/{} exists and is not olm-suite's: choose another one with --system-namespace"


@pytest.mark.parametrize(
    ("name", "deployments", "is_forced", "problem"),
    [
        pytest.param("olm-suite-system", [], False, "", id="that of the suite"),
        pytest.param("olmv1-system", [], False, "", id="that of OLM v1, which does not run"),
        pytest.param(
            "olmv1-system", [DEPLOYMENT], False, f"{REFUSED}, or use --force", id="that of OLM v1, which runs"
        ),
        pytest.param("team-a", [], False, f"{REFUSED}, or use --force", id="that of others"),
        pytest.param("team-a", [], True, "", id="that of others, by force"),
        pytest.param("kube-system", [], True, REFUSED, id="that of the cluster, also by force"),
    ],
)
def test_namespaces_that_exist(name: str, deployments: list[Object], is_forced: bool, problem: str) -> None:
    assert namespace_problem(name, deployments, is_forced=is_forced) == problem.format(name)
