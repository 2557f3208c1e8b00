"""Which Catalogs count for an Operator."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.clustercatalogs import KIND
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.meta import controller_reference
from olmkit.api.operators import Operator
from operator_controller.operator.events import selected_catalogs
from tests.unit.operator_controller.operator.worlds import catalog, operator


def labelled(name: str, team: str) -> dict[str, Any]:
    raw = catalog({"packages": "p, q"}, priority=3)
    return {**raw, "metadata": {"name": name, "uid": name, "labels": {"team": team}}}


def of_cluster_catalog(name: str, owner: str) -> dict[str, Any]:
    """A Catalog with the label of those of ClusterCatalogs, which this ClusterCatalog owns; "" for none."""
    reference = controller_reference(KIND, owner, "u")
    metadata = {"name": name, "labels": {OWNER_KIND_LABEL: KIND.kind}, "ownerReferences": [reference] if owner else []}
    return {**catalog(), "metadata": metadata}


@pytest.mark.parametrize(
    ("operator_", "selected"),
    [
        pytest.param({"operator": "In", "values": [KIND.kind]}, ("owned",), id="the label alone is not enough"),
        pytest.param({"operator": "DoesNotExist"}, ("false", "of-another"), id="it does not count for anything"),
    ],
)
def test_a_catalog_is_a_cluster_catalogs_if_that_owns_it(operator_: dict[str, Any], selected: tuple[str, ...]) -> None:
    found = [
        of_cluster_catalog("owned", "owned"),
        of_cluster_catalog("false", ""),
        of_cluster_catalog("of-another", "owned"),
    ]
    spec = {"catalogSelector": {"matchExpressions": [{"key": OWNER_KIND_LABEL, **operator_}]}}
    assert selected_catalogs(Operator.load(operator(spec)), found) == selected


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
