"""The conditions of objects as metrics."""

from __future__ import annotations

from typing import Any

from olmkit.api import bundledeployments, operators
from olmkit.runtime.condition_metrics import ConditionMetrics


def obj(name: str, conditions: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": conditions}}


def condition(type_: str, status: str) -> dict[str, str]:
    return {"type": type_, "status": status, "reason": "R", "message": "m"}


def scrape(metrics: ConditionMetrics) -> dict[str, set[tuple[str, ...]]]:
    return {
        family.name: {tuple(sample.labels.values()) for sample in family.samples if sample.value == 1}
        for family in metrics.collect()
    }


def test_every_scrape_exports_the_current_conditions_of_each_object() -> None:
    objects = [
        obj("a", [condition("Ready", "True"), condition("Installed", "Unknown")]),
        obj("b", [condition("Ready", "False")]),
    ]
    leads = True
    metrics = ConditionMetrics(operators.KIND, lambda: objects, lambda: leads)
    assert scrape(metrics) == {
        "operator_condition": {("a", "Ready", "True"), ("a", "Installed", "Unknown"), ("b", "Ready", "False")}
    }
    del objects[0]
    assert scrape(metrics) == {"operator_condition": {("b", "Ready", "False")}}
    leads = False
    assert scrape(metrics) == {}


def test_an_object_whose_status_is_damaged_keeps_no_other_one_from_being_exported() -> None:
    damaged: list[Any] = [obj("a", "x"), obj("b", [None, {"type": 1}]), {"metadata": {"name": "c"}, "status": []}]
    new = {"metadata": {"name": "d"}, "status": {"observedGeneration": -1}}
    metrics = ConditionMetrics(
        bundledeployments.KIND, lambda: [*damaged, new, obj("e", [condition("Healthy", "True")])], lambda: True
    )
    assert scrape(metrics) == {"bundledeployment_condition": {("e", "Healthy", "True")}}
