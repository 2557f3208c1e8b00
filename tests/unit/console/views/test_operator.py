"""The page of an Operator."""

from __future__ import annotations

from typing import Any

import pytest

from console.views.operator import OperatorInput, operator_view

FINDING = {"crd": "boats.example.com", "rule": "field-removed", "refuses": "Always", "message": "v1: spec.color"}


@pytest.mark.parametrize(
    ("check", "title", "lines"),
    [
        pytest.param(None, "1.1.0 waits for your approval.", (), id="it is not known"),
        pytest.param({"result": "NotRefused"}, "1.1.0 waits for your approval.", (), id="no rule refuses it"),
        pytest.param(
            {"result": "IfUsed", "findings": [FINDING]},
            "1.1.0 waits for your approval.",
            (
                "Custom resources decide whether it is refused (olm diff alpha).",
                "boats.example.com: field-removed: v1: spec.color",
            ),
            id="custom resources decide",
        ),
        pytest.param(
            {"result": "Refused", "findings": [FINDING], "more": 1},
            "1.1.0 would be refused.",
            (
                "It would be refused, because it breaks rules about CustomResourceDefinitions.",
                "boats.example.com: field-removed: v1: spec.color",
                "and 1 more",
            ),
            id="it is refused",
        ),
    ],
)
def test_the_rules_that_refuse_what_waits(check: Any, title: str, lines: tuple[str, ...]) -> None:
    available = {"version": "1.1.0", "reason": "ApprovalRequired", "message": "m", "crdCheck": check}
    operator = {
        "metadata": {"name": "alpha", "generation": 1},
        "spec": {"packageName": "p"},
        "status": {"observedGeneration": 1, "available": available},
    }
    waiting = operator_view(OperatorInput(operator)).waiting
    assert waiting is not None
    assert (waiting.title, waiting.broken) == (title, lines)
