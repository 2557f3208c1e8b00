"""Which controllers complete the deletion of an object, and what holds it."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.suite.finalizers import controllers_of, held_text
from olmkit.api import clustercatalogs, clusterextensions, operators
from olmkit.api.meta import Kind


def _object(*finalizers: str, **conditions: str) -> dict[str, Any]:
    items = [{"type": name, "message": text} for name, text in conditions.items()]
    return {"metadata": {"name": "x", "finalizers": [*finalizers]}, "status": {"conditions": items}}


@pytest.mark.parametrize(
    ("finalizers", "controllers"),
    [
        pytest.param((), set(), id="no finalizer"),
        pytest.param(("example.com/theirs", "orphan"), set(), id="those of others"),
        pytest.param((operators.FINALIZER,), {"operator-controller"}, id="an Operator"),
        pytest.param((clusterextensions.FINALIZER,), {"operator-controller"}, id="a ClusterExtension"),
        pytest.param((clustercatalogs.FINALIZER,), {"catalogd"}, id="a ClusterCatalog"),
        pytest.param(clusterextensions.UPSTREAM_FINALIZERS, set(), id="what OLM v1 has left is no controller's"),
    ],
)
def test_who_completes_a_deletion(finalizers: tuple[str, ...], controllers: set[str]) -> None:
    assert controllers_of(_object(*finalizers)) == controllers


@pytest.mark.parametrize(
    ("kind", "obj", "text"),
    [
        pytest.param(
            operators.KIND,
            _object("a/b", Ready="others need it"),
            "operator.operators.operatorframework.io/x: others need it; finalizers a/b",
            id="the reason of an Operator",
        ),
        pytest.param(
            clusterextensions.KIND,
            _object("a/b", Installed="yes", Progressing="others need it"),
            "clusterextension.olm.operatorframework.io/x: others need it; finalizers a/b",
            id="that of a ClusterExtension, which has no Ready",
        ),
        pytest.param(
            clusterextensions.KIND,
            _object(),
            "clusterextension.olm.operatorframework.io/x: it is being deleted",
            id="no reason",
        ),
    ],
)
def test_what_holds_an_object(kind: Kind, obj: dict[str, Any], text: str) -> None:
    assert held_text(kind, obj) == text
