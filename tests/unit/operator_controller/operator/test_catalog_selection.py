"""Which Catalogs count for an Operator."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.operators import Operator
from operator_controller.operator.catalog_selection import select_catalogs
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState
from tests.unit.operator_controller.operator.worlds import catalog, operator


def labelled(name: str, team: str) -> dict[str, Any]:
    raw = catalog({"packages": "p, q"}, priority=3)
    return {**raw, "metadata": {"name": name, "uid": name, "labels": {"team": team}}}


CATALOGS = [labelled("z", "a"), catalog(), labelled("b", "b")]


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        pytest.param(None, ["b", "c", "z"], id="all without a selector"),
        pytest.param({}, ["b", "c", "z"], id="all with an empty selector"),
        pytest.param({"matchLabels": {"team": "a"}}, ["z"], id="those with the label"),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, ["c"], id="one without labels"
        ),
        pytest.param({"matchLabels": {"team": "x"}}, [], id="none"),
    ],
)
def test_the_selected_catalogs_sorted_by_name(selector: Any, selected: list[str]) -> None:
    spec = {"catalogSelector": selector} if selector is not None else {}
    found, others = select_catalogs(Operator.load(operator(spec)), CATALOGS)
    assert [each["metadata"]["name"] for each in found] == selected
    assert [each.catalog for each in others] == [name for name in ("b", "c", "z") if name not in selected]


def test_what_is_known_of_a_catalog_that_is_not_selected() -> None:
    asks = Operator.load(operator({"catalogSelector": {"matchLabels": {"team": "x"}}}))
    assert select_catalogs(asks, [labelled("z", "a")])[1] == [
        CatalogOffer("z", priority=3, state=CatalogState.NOT_SELECTED, package_names=("p", "q"))
    ]
