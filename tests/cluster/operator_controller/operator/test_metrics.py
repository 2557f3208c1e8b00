"""The metrics of Operators at /metrics of operator-controller."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.operator_controller.conftest import Scene

Samples = Mapping[tuple[str, tuple[str, ...]], float]


def scrape(scene: Scene) -> Samples:
    """All samples by name and label values, in the order of the labels' names."""
    address = scene.suite.addresses["operator-controller"].metrics
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {(each.name, tuple(each.labels.values())): each.value for family in families for each in family.samples}


def scraped(scene: Scene, holds: Callable[[Samples], object]) -> Samples:
    """The samples as soon as this holds: a watch may report a change before the process knows of it or has counted it."""
    deadline = time.monotonic() + 60
    while not holds(found := scrape(scene)):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def test_the_state_of_an_operator_and_its_installation_are_exported(scene: Scene) -> None:
    before = scrape(scene).get(("bundle_install_total", ("success",)), 0)
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0"))
    name = scene.operator(scene.name, version="1.0.0", approval="Manual")
    scene.patch_operator(name, {"approval": None})
    scene.install(name, "1.0.0")
    scene.ready_operator(name, "1.0.0")
    samples = scraped(
        scene,
        lambda found: (
            ("operator_condition", (name, "True", "Ready")) in found
            and found.get(("bundle_install_total", ("success",)), 0) > before
        ),
    )
    assert samples["operator_info", (scene.name, "stable", name, scene.name, "1.0.0")] == 1
    assert samples["operator_condition", (name, "True", "Installed")] == 1
    assert samples["operator_upgrade_available", (name,)] == 1, "the pin keeps 1.1.0 out"
    assert samples["bundle_install_total", ("success",)] == before + 1
    assert samples["resolution_duration_seconds_count", ()] > 0

    scene.patch_operator(name, {"approval": "Manual", "version": None})
    scene.condition_when(name, "Ready", "True", "1.1.0 waits for approval")
    assert scrape(scene)["operator_upgrade_available", (name,)] == 1
    scene.patch_operator(name, {"approval": None})
    scene.install(name, "1.1.0")
    scene.ready_operator(name, "1.1.0")
    scraped(scene, lambda found: not found["operator_upgrade_available", (name,)])
    scene.delete("Operator", name)
    scraped(scene, lambda found: ("operator_upgrade_available", (name,)) not in found)
