"""Which labels a LabelSelector selects, as in Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.label_selector import LabelSelector

LABELS = {"team": "a", "example.com/stage": "beta", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator} | ({"values": list(values)} if values else {})]}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({}, True, id="an empty selector selects everything"),
        pytest.param({"matchLabels": {}, "matchExpressions": []}, True, id="empty fields select everything"),
        pytest.param({"matchLabels": {"team": "a"}}, True, id="a label with its value"),
        pytest.param({"matchLabels": {"team": "b"}}, False, id="a label with another value"),
        pytest.param({"matchLabels": {"empty": ""}}, True, id="a label with an empty value"),
        pytest.param({"matchLabels": {"missing": ""}}, False, id="an empty value is not a missing label"),
        pytest.param({"matchLabels": {"team": "a", "empty": "x"}}, False, id="every label counts"),
        pytest.param(expression("example.com/stage", "In", "alpha", "beta"), True, id="In with the value"),
        pytest.param(expression("team", "In", "b"), False, id="In without the value"),
        pytest.param(expression("missing", "In", "b"), False, id="In without the label"),
        pytest.param(expression("team", "NotIn", "a", "b"), False, id="NotIn with the value"),
        pytest.param(expression("team", "NotIn", "b"), True, id="NotIn without the value"),
        pytest.param(expression("missing", "NotIn", "b"), True, id="NotIn without the label"),
        pytest.param(expression("empty", "Exists"), True, id="Exists with the label"),
        pytest.param(expression("missing", "Exists"), False, id="Exists without the label"),
        pytest.param(expression("empty", "DoesNotExist"), False, id="DoesNotExist with the label"),
        pytest.param(expression("missing", "DoesNotExist"), True, id="DoesNotExist without the label"),
        pytest.param(
            {"matchLabels": {"team": "a"}, **expression("missing", "Exists")}, False, id="labels and expressions count"
        ),
    ],
)
def test_a_selector(selector: dict[str, Any], expected: bool) -> None:
    assert LabelSelector.load(selector).matches(LABELS) is expected
