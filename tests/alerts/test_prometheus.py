"""A real Prometheus scrapes the controllers and evaluates the rules: a broken Catalog and a refused Operator raise alerts."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.allocation import free_port
from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.errors import DevclusterError
from devcluster.processes import start_logged, with_parent_death_signal
from devcluster.suite import COMPONENTS, Suite
from tests.alerts.test_rules import RULES
from tests.e2e.packages import package_blobs, publish, push_bundle, registry_bundle
from tests.e2e.stage import Stage

pytestmark = pytest.mark.timeout(300)

SECONDS = 60.0
INTERVAL = "1s"


class Prometheus:
    """A Prometheus that listens on loopback."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer of its API."""
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def query(self, query: str) -> list[dict[str, str]]:
        """The labels of each series."""
        return [series["metric"] for series in self.get("query", query=query)["result"]]


def until(what: str, holds: Callable[[], bool]) -> None:
    """Ask again until it holds: Prometheus has no way to be waited for."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


@pytest.fixture(scope="module")
def suite(cluster: Cluster) -> Iterator[Suite]:
    with Suite(cluster) as running:
        running.install()
        running.start()
        yield running


@pytest.fixture(scope="module")
def prometheus(
    suite: Suite, prometheus_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Configured as the ServiceMonitor configures it: the labels namespace, job and pod are those that it adds."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "rules.yaml").write_text(yaml.safe_dump(yaml.safe_load(RULES.read_text())["spec"]))
    targets = [
        {
            "job_name": f"{name}-metrics",
            "static_configs": [
                {
                    "targets": [suite.addresses[name].metrics],
                    "labels": {"namespace": "olm-suite-system", "pod": f"{name}-0"},
                }
            ],
        }
        for name in COMPONENTS
    ]
    settings = {
        "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL},
        "rule_files": [str(folder / "rules.yaml")],
        "scrape_configs": targets,
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{free_port()}"
    arguments = (
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    )
    log = folder / "prometheus.log"
    process = start_logged(with_parent_death_signal(prometheus_program, arguments), log, os.environ)
    try:
        yield _ready(Prometheus(address), process, log)
    finally:
        process.terminate()
        process.wait()


def _ready(prometheus: Prometheus, process: subprocess.Popen[bytes], log: Path) -> Prometheus:
    def has_scraped() -> bool:
        if process.poll() is not None:
            raise DevclusterError(f"Prometheus ended:\n{log.read_text()[-2000:]}")
        try:
            return len(prometheus.query("up == 1")) == len(COMPONENTS)
        except OSError:
            return False

    until("all three controllers are scraped", has_scraped)
    return prometheus


def test_alerts_of_a_broken_catalog_and_a_refused_operator(
    cluster: Cluster, suite: Suite, prometheus: Prometheus
) -> None:
    stage = Stage(cluster, suite, "alerts")
    try:
        images = {"1.0.0": push_bundle(stage, "alerts", registry_bundle("alerts"))}
        publish(stage, package_blobs("alerts", images))
        stage.operator("alerts", "alerts-installed")
        stage.ready_operator("alerts-installed", "1.0.0")
        stage.apply(catalog_object("alerts-broken", f"{cluster.registry}/catalogs/nowhere:latest", "1s"))
        stage.apply(operator_object("alerts", "alerts-refused", version="7.0.0"))

        def raised(alert: str, **labels: str) -> bool:
            found = prometheus.query(f'ALERTS{{alertname="{alert}"}}')
            return any(labels.items() <= series.items() for series in found)

        until("CatalogNotServed", lambda: raised("CatalogNotServed", catalog="alerts-broken"))
        until("OperatorStalled", lambda: raised("OperatorStalled", operator="alerts-refused"))
        assert not raised("OperatorStalled", operator="alerts-installed")
        assert not raised("OlmSuiteNoLeader")
        assert not raised("CatalogNotServed", catalog="alerts")
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        assert {rule["health"] for rule in rules} == {"ok"}, [rule.get("lastError") for rule in rules]
    finally:
        stage.close()
