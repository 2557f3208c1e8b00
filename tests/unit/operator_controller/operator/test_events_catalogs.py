"""Which Catalogs count for an Operator."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.operators import Operator
from operator_controller.operator.events import selected_catalogs
from tests.unit.operator_controller.operator.worlds import catalog, operator


def labelled(name: str, team: str) -> dict[str, Any]:
    raw = catalog({"packages": "p, q"}, priority=3)
    return {**raw, "metadata": {"name": name, "uid": name, "labels": {"team": team}}}


CATALOGS = [labelled("z", "a"), catalog(), labelled("b", "b")]


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        pytest.param(None, None, id="all without a selector"),
        pytest.param({}, ["b", "c", "z"], id="all with an empty selector"),
        pytest.param({"matchLabels": {"team": "a"}}, ["z"], id="those with the label"),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, ["c"], id="one without labels"
        ),
        pytest.param({"matchLabels": {"team": "x"}}, [], id="none"),
    ],
)
def test_the_selected_catalogs_sorted_by_name(selector: Any, selected: list[str] | None) -> None:
    spec = {"catalogSelector": selector} if selector is not None else {}
    found = selected_catalogs(Operator.load(operator(spec)), CATALOGS)
    assert found == (tuple(selected) if selected is not None else None)
