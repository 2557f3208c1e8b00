"""A real Prometheus scrapes the controllers and evaluates the rules: a broken Catalog, refused Package objects, a refused
Operator and installed bundles that cannot be repaired raise alerts, which are pending until their time is over, end with their
cause, and survive a change of the leader.
"""

from __future__ import annotations

import json
import shutil
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.demo.full_catalog import catalog_object, operator_object
from devcluster.errors import DevclusterError
from devcluster.services import Services, answers, free_address, request
from devcluster.suite import COMPONENTS, NAMESPACE, Suite
from devcluster.watch import BUNDLE_DEPLOYMENTS, Object, condition
from olmkit.api import packages
from tests.alerts.test_rules import RULES
from tests.e2e.packages import package_blobs, publish, push_bundle, push_catalog, registry_bundle
from tests.e2e.stage import Stage

pytestmark = pytest.mark.timeout(300)

PROGRAM = "prometheus"
SECONDS = 60.0
INTERVAL = "1s"
CONDITION = "bundledeployment_condition"


class Prometheus(Services):
    """A Prometheus that listens on loopback, with these settings."""

    def __init__(self, program: Path, directory: Path, settings: Object) -> None:
        super().__init__(directory)
        self._program = program
        self._address = free_address()
        self._settings = directory / "prometheus.yaml"
        self._settings.write_text(yaml.safe_dump(settings))

    def start(self) -> None:
        """Start it and return when it has scraped every controller once."""
        arguments = (
            f"--config.file={self._settings}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={self._address}",
        )
        self.launch(PROGRAM, self._program, arguments)
        self.until(PROGRAM, "ready", lambda: answers(self._address, "/-/ready"))
        self.eventually("scraping all controllers", lambda: len(self.query("up == 1")) == len(COMPONENTS))

    def eventually(self, what: str, holds: Callable[[], bool]) -> None:
        """Ask until it holds: Prometheus sends no events."""
        self.until(PROGRAM, what, holds, SECONDS)

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer of its API."""
        status, answer = request(self._address, "GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
        assert status == HTTPStatus.OK, answer
        return json.loads(answer)["data"]

    def query(self, query: str) -> list[dict[str, str]]:
        """The labels of each series."""
        return [series["metric"] for series in self.get("query", query=query)["result"]]

    def has_raised(self, alert: str, **labels: str) -> bool:
        """Whether the alert is firing or pending, with these labels."""
        return any(labels.items() <= series.items() for series in self.query(f'ALERTS{{alertname="{alert}"}}'))

    def until_raised(self, alert: str, **labels: str) -> None:
        """Wait until the alert is firing or pending, with these labels."""
        self.eventually(f"raising {alert}", lambda: self.has_raised(alert, **labels))

    def until_over(self, alert: str, **labels: str) -> None:
        """Wait until the alert is neither firing nor pending, with these labels; much less than the time that is bridged."""
        self.eventually(f"ending {alert}", lambda: not self.has_raised(alert, **labels))

    def began(self, alert: str, **labels: str) -> str:
        """Since when the alert is firing or pending, with these labels."""
        found = (each for each in self.get("alerts")["alerts"] if each["labels"]["alertname"] == alert)
        return str(next(each["activeAt"] for each in found if labels.items() <= each["labels"].items()))


@pytest.fixture(scope="module")
def prometheus(
    suite: Suite, prometheus_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Configured as the ServiceMonitor configures it: the labels namespace, job and pod are those that it adds."""
    directory = tmp_path_factory.mktemp("prometheus")
    (directory / "rules.yaml").write_text(yaml.safe_dump(yaml.safe_load(RULES.read_text())["spec"]))
    targets = [
        {
            "job_name": f"{name}-metrics",
            "static_configs": [
                {
                    "targets": [suite.addresses[name].metrics],
                    "labels": {"namespace": NAMESPACE, "pod": f"{name}-0"},
                }
            ],
        }
        for name in COMPONENTS
    ]
    settings = {
        "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL},
        "rule_files": [str(directory / "rules.yaml")],
        "scrape_configs": targets,
    }
    with Prometheus(prometheus_program, directory, settings) as running:
        running.start()
        yield running


@pytest.fixture
def stage(cluster: Cluster, suite: Suite) -> Iterator[Stage]:
    made = Stage(cluster, suite, "alerts")
    yield made
    made.close()


def test_alerts_of_a_broken_catalog_and_a_refused_operator(stage: Stage, prometheus: Prometheus) -> None:
    images = {"1.0.0": push_bundle(stage, "alerts", registry_bundle("alerts"))}
    publish(stage, package_blobs("alerts", images))
    stage.operator("alerts", "alerts-installed")
    stage.ready_operator("alerts-installed", "1.0.0")
    stage.apply(catalog_object("alerts-broken", f"{stage.cluster.registry}/catalogs/nowhere:latest", "1s"))
    stage.apply(operator_object("alerts", "alerts-refused", version="7.0.0"))

    prometheus.until_raised("CatalogNotServed", catalog="alerts-broken")
    prometheus.until_raised("OperatorStalled", operator="alerts-refused")
    assert not prometheus.has_raised("OperatorStalled", operator="alerts-installed")
    assert not prometheus.has_raised("OlmSuiteNoLeader")
    assert not prometheus.has_raised("CatalogNotServed", catalog="alerts")
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}, [rule.get("lastError") for rule in rules]

    stage.delete("Operator", "alerts-refused")
    prometheus.until_over("OperatorStalled", operator="alerts-refused")


def test_an_alert_of_a_catalog_whose_package_objects_are_refused(stage: Stage, prometheus: Prometheus) -> None:
    images = {"1.0.0": push_bundle(stage, "alerts", registry_bundle("alerts"))}
    with refused_packages(stage.cluster, prometheus):
        push_catalog(stage, package_blobs("alerts-policy", images))
        stage.catalog(stage.repository().reference)
        prometheus.until_raised("CatalogNotReconciled", catalog="alerts")
        assert not prometheus.has_raised("CatalogNotServed", catalog="alerts")


def test_alerts_of_installed_bundles_that_cannot_be_repaired(stage: Stage, prometheus: Prometheus) -> None:
    """rukpak and the registry lost the content of one; of the other, somebody replaced an object."""
    names = ("alerts-lost", "alerts-replaced")
    images = {name: push_bundle(stage, name, registry_bundle(name)) for name in names}
    publish(stage, [blob for name in names for blob in package_blobs(name, {"1.0.0": images[name]})])
    for name in names:
        stage.operator(name, name)
        stage.ready_operator(name, "1.0.0")
    stage.suite.stop("rukpak")
    shutil.rmtree(stage.suite.directory / "rukpak-cache")
    delete_image(images["alerts-lost"])
    account = ("serviceaccount", "alerts-replaced", "--namespace=alerts-replaced-system")
    stage.cluster.kubectl("delete", *account)
    stage.cluster.kubectl("create", *account)
    stage.suite.start("rukpak")

    until_ready_says(stage, "alerts-lost", "cannot repair: content unavailable")
    until_ready_says(stage, "alerts-replaced", "cannot repair: ServiceAccount ")
    prometheus.until_raised("BundleDeploymentNotReconciled", bundledeployment="alerts-lost")
    prometheus.until_raised("BundleDeploymentStalled", bundledeployment="alerts-replaced")
    assert not prometheus.has_raised("BundleDeploymentStalled", bundledeployment="alerts-lost")

    began = prometheus.began("BundleDeploymentStalled", bundledeployment="alerts-replaced")
    stage.suite.stop("rukpak")
    prometheus.eventually("without metrics for seconds", lambda: not prometheus.query(f"{CONDITION} offset 3s"))
    stage.suite.start("rukpak")
    prometheus.eventually("with metrics for seconds", lambda: bool(prometheus.query(f"{CONDITION} offset 3s")))
    assert prometheus.began("BundleDeploymentStalled", bundledeployment="alerts-replaced") == began


@contextmanager
def refused_packages(cluster: Cluster, prometheus: Prometheus) -> Iterator[None]:
    """A policy of the cluster refuses Package objects whose names begin with alerts-policy."""
    name, api_version = "alerts-policy", "admissionregistration.k8s.io/v1"
    matched = {
        "apiGroups": ["catalogd.operatorframework.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["packages"],
    }
    validations = [{"expression": f"!object.spec.packageName.startsWith('{name}')", "message": "not here"}]
    policy = {
        "apiVersion": api_version,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [matched]}, "validations": validations},
    }
    binding = {
        "apiVersion": api_version,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    package = {
        "apiVersion": packages.KIND.api_version,
        "kind": packages.KIND.kind,
        "metadata": {"name": name},
        "spec": {"catalog": {"name": name}, "packageName": name, "channels": []},
    }

    def refuses() -> bool:
        try:
            cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(package))
        except DevclusterError as error:
            if "not here" not in str(error):
                raise
            return True
        return False

    for each in (policy, binding):
        cluster.kubectl("apply", "-f", "-", input=json.dumps(each))
    try:
        prometheus.eventually("scraping until the policy is in effect", refuses)
        yield
    finally:
        for each in (policy, binding):
            cluster.kubectl("delete", str(each["kind"]), name)


def delete_image(reference: str) -> None:
    """Delete an image, given by digest, from its registry."""
    registry, _, path = reference.partition("/")
    status, answer = request(registry, "DELETE", f"/v2/{path.replace('@', '/manifests/')}")
    assert status == HTTPStatus.ACCEPTED, answer


def until_ready_says(stage: Stage, name: str, message: str) -> None:
    """Wait until the message of Ready of the BundleDeployment begins with `message`."""

    def says(objects: Mapping[str, Object]) -> bool:
        return str(condition(objects.get(name), "Ready").get("message")).startswith(message)

    stage.until(BUNDLE_DEPLOYMENTS, f"{name} says {message!r}", says)
