"""The metrics of Operators."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.operator_status import OperatorStatus
from operator_controller.operator.metrics import INSTALLATIONS, OperatorMetrics, count_installation, installation_result
from tests.unit.operator_controller.operator.worlds import operator

STAMP = "2026-01-01T00:00:00Z"


def status(*conditions: tuple[str, str, str], installed: str = "", image: str = "i", **fields: Any) -> dict[str, Any]:
    """A status with these conditions (type, status, reason) and the installed version."""
    known = (
        {
            "installed": {"name": f"p.v{installed}", "version": installed, "catalog": "community", "channel": "stable"},
            "installedBundleResource": image,
        }
        if installed
        else {}
    )
    listed = [
        {"type": kind, "status": value, "reason": reason, "message": "", "lastTransitionTime": STAMP}
        for kind, value, reason in conditions
    ]
    return {"observedGeneration": 1, "conditions": listed, **known, **fields}


NEW = status()
FAILED = status(("Installed", "False", "InstallationFailed"), ("Ready", "False", "Installing"))
OLD = status(("Ready", "True", "Succeeded"), installed="1.0.0")
UPGRADING = status(("Ready", "False", "Upgrading"), ("Reconciling", "True", "Installing"), installed="1.0.0")
RETRYING = status(("Ready", "False", "Upgrading"), ("Reconciling", "True", "Retrying"), installed="1.0.0")
STALLED = status(("Ready", "False", "Blocked"), ("Stalled", "True", "Blocked"), installed="1.0.0")
UNHEALTHY = status(("Ready", "False", "Unhealthy"), ("Stalled", "True", "Blocked"), installed="1.0.0")
UPGRADED = status(("Ready", "True", "Succeeded"), installed="1.1.0")
REBUILT = status(("Ready", "True", "Succeeded"), installed="1.0.0", image="other")


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        pytest.param(NEW, OLD, "success", id="the first installation"),
        pytest.param(OLD, OLD, None, id="nothing"),
        pytest.param(OLD, UPGRADING, None, id="an upgrade begins"),
        pytest.param(UPGRADING, UPGRADED, "success", id="an upgrade ends"),
        pytest.param(OLD, REBUILT, "success", id="another image of the same version"),
        pytest.param(NEW, FAILED, "failure", id="the first installation fails"),
        pytest.param(FAILED, FAILED, None, id="it still fails"),
        pytest.param(FAILED, OLD, "success", id="it succeeds in the end"),
        pytest.param(UPGRADING, RETRYING, "failure", id="an upgrade fails and is retried"),
        pytest.param(RETRYING, STALLED, None, id="it is retried no more"),
        pytest.param(OLD, STALLED, "failure", id="an upgrade that is refused"),
        pytest.param(OLD, UNHEALTHY, None, id="what is installed becomes unhealthy"),
        pytest.param(OLD, NEW, None, id="what was installed is gone"),
    ],
)
def test_the_result_of_an_installation(before: dict[str, Any], after: dict[str, Any], result: str | None) -> None:
    assert installation_result(OperatorStatus.load(before), OperatorStatus.load(after)) == result


def test_results_are_counted() -> None:
    def counted() -> float:
        return float(INSTALLATIONS.labels("success")._value.get())

    before = counted()
    count_installation(OperatorStatus.load(NEW), OperatorStatus.load(OLD))
    count_installation(OperatorStatus.load(OLD), OperatorStatus.load(OLD))
    assert counted() == before + 1


def named(name: str, version: str, known: dict[str, Any]) -> dict[str, Any]:
    raw = operator(name=name, status=known)
    return {**raw, "metadata": {**raw["metadata"], "resourceVersion": version}}


def test_every_scrape_exports_the_current_state() -> None:
    available = {
        **{key: "x" for key in ("bundle", "image", "catalog", "channel", "reason", "message")},
        "version": "1.1.0",
    }
    objects = [named("a", "1", OLD), named("b", "1", NEW)]
    leads = True
    metrics = OperatorMetrics(lambda: objects, lambda: leads)

    def scrape(metric: str) -> dict[tuple[str, ...], float]:
        families = {family.name: family for family in metrics.collect()}
        return {tuple(sample.labels.values()): sample.value for sample in families[metric].samples}

    assert scrape("operator_info") == {("a", "p", "1.0.0", "stable", "community"): 1, ("b", "p", "", "", ""): 1}
    assert scrape("operator_upgrade_available") == {("a",): 0, ("b",): 0}
    objects = [named("a", "2", {**OLD, "available": available}), named("b", "2", {**NEW, "available": available})]
    assert scrape("operator_upgrade_available") == {("a",): 1, ("b",): 0}
    objects = [named("a", "3", OLD), {**named("b", "3", NEW), "spec": {}}]
    assert scrape("operator_info") == {("a", "p", "1.0.0", "stable", "community"): 1}
    leads = False
    assert list(metrics.collect()) == []


def test_labels_are_short_and_printable() -> None:
    hostile = {**OLD["installed"], "version": "1.0.0-" + "x" * 60_000, "channel": "st\x1b[31m\n" + "y" * 60_000}
    (family, _) = OperatorMetrics(lambda: [named("a", "1", {**OLD, "installed": hostile})], lambda: True).collect()
    labels = family.samples[0].labels
    assert labels["version"] == ("1.0.0-" + "x" * 128)[:128]
    assert labels["channel"] == ("st\\x1b[31m\\n" + "y" * 128)[:128]


def test_an_object_of_the_same_version_is_not_parsed_again() -> None:
    objects = [named("a", "1", OLD)]
    metrics = OperatorMetrics(lambda: objects, lambda: True)

    def versions() -> list[str]:
        return [
            sample.labels["version"]
            for family in metrics.collect()
            for sample in family.samples
            if family.name == "operator_info"
        ]

    assert versions() == ["1.0.0"]
    objects = [named("a", "1", UPGRADED)]
    assert versions() == ["1.0.0"]
    objects = [named("a", "2", UPGRADED)]
    assert versions() == ["1.1.0"]
