"""Each alert fires when it should, and not before, by the unit tests of promtool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from devcluster.processes import REPOSITORY
from tests.alerts.conftest import Promtool

RULES = REPOSITORY / "config/prometheus/rules.yaml"
JOB = 'job="rukpak-metrics"'
LEADERS = {
    f'leader_election_master_status{{{JOB}, name="{name}", pod="a"}}': "1x100"
    for name in ("catalogd", "rukpak", "operator-controller")
}
"""A healthy suite: without these series OlmSuiteNoLeader fires."""


@dataclass(frozen=True)
class Case:
    """Series in promtool's notation, one value per minute; when the alerts are evaluated; the labels of the one that fires."""

    alert: str
    series: dict[str, str]
    at: str
    fires: dict[str, str] | None = None


def leader(name: str, pod: str = "a") -> str:
    return f'leader_election_master_status{{{JOB}, name="{name}", pod="{pod}"}}'


def passes(result: str, values: str) -> dict[str, str]:
    name = "controller_runtime_reconcile_errors_total" if result == "error" else "controller_runtime_reconcile_total"
    return {f'{name}{{{JOB}, controller="bundle"}}': values}


def requests(code: str, values: str) -> dict[str, str]:
    return {f'rest_client_requests_total{{job="catalogd-metrics", code="{code}"}}': values}


def catalog(**values: str) -> dict[str, str]:
    return {f'catalogd_catalog_{name}{{catalog="c"}}': value for name, value in values.items()}


def condition(kind: str, type_: str, status: str, values: str = "1x2000") -> dict[str, str]:
    return {f'{kind}_condition{{{kind}="x", type="{type_}", status="{status}"}}': values}


def jobs(outcome: str, values: str, function: str = "load") -> dict[str, str]:
    labels = f'job="catalogd-metrics", function="{function}"'
    return {f'olmkit_jobs_finished_total{{{labels}, outcome="{outcome}"}}': values}


def oldest_job(values: str, function: str = "unpack") -> dict[str, str]:
    return {f'olmkit_jobs_longest_queued_seconds{{{JOB}, function="{function}"}}': values}


def depth(values: str, pod: str = "a") -> dict[str, str]:
    return {f'workqueue_depth{{{JOB}, name="bundle", pod="{pod}"}}': values}


def last_check(values: str, pod: str = "a") -> dict[str, str]:
    """The time of the last check of a Catalog with an interval of ten minutes."""
    name = f'catalogd_catalog_last_look_success_timestamp_seconds{{catalog="c", pod="{pod}"}}'
    return {name: values, **catalog(poll_interval_seconds="600x200")}


BRIEFLY = "1 stale _ _ " * 30
"""For one minute of each four; a condition with another status at the end of a scrape has no series."""
MOSTLY = "stale 1 1 1 " * 30
STARTED = f'process_start_time_seconds{{{JOB}, pod="a"}}'
INSTALLED = condition("bundledeployment", "Installed", "True")
UNHEALTHY = condition("bundledeployment", "Healthy", "False")
RECONCILING = condition("bundledeployment", "Reconciling", "True")
CASES = {
    "nobody leads rukpak since its pod is gone": Case(
        "OlmSuiteNoLeader", {leader("rukpak"): "1x10 _x90"}, "21m", {"name": "rukpak"}
    ),
    "no replica of catalogd holds the lease": Case(
        "OlmSuiteNoLeader", {leader("catalogd"): "0x100"}, "10m", {"name": "catalogd"}
    ),
    "a failover takes a minute": Case("OlmSuiteNoLeader", {leader("rukpak"): "1x10 0 1x90"}, "12m"),
    "all lead": Case("OlmSuiteNoLeader", {}, "30m"),
    "two replicas lead": Case("OlmSuiteTwoLeaders", {leader("rukpak", "b"): "1x100"}, "5m", {"name": "rukpak"}),
    "a second replica stands by": Case("OlmSuiteTwoLeaders", {leader("rukpak", "b"): "0x100"}, "5m"),
    "a container ends every ten minutes": Case(
        "OlmSuiteRestarts",
        {STARTED: "1000x9 1600x9 2200x9 2800x9 3400x9 4000x49"},
        "65m",
        {"job": "rukpak-metrics", "pod": "a"},
    ),
    "the suite was updated": Case(
        "OlmSuiteRestarts", {STARTED: "1000x30 _x70", STARTED.replace('"a"', '"b"'): "_x30 2800x70"}, "65m"
    ),
    "a container was started again twice": Case("OlmSuiteRestarts", {STARTED: "1000x9 1600x9 2200x79"}, "65m"),
    "half of the passes fail": Case(
        "OlmSuiteReconcileErrors",
        {**passes("error", "0+30x100"), **passes("all", "0+60x100")},
        "60m",
        {"controller": "bundle"},
    ),
    "one pass of a hundred fails": Case(
        "OlmSuiteReconcileErrors", {**passes("error", "0+1x100"), **passes("all", "0+100x100")}, "60m"
    ),
    "no pass has been made": Case(
        "OlmSuiteReconcileErrors", {**passes("error", "0x100"), **passes("all", "0x100")}, "60m"
    ),
    "a pass hangs": Case(
        "OlmSuitePassTooLong",
        {f'workqueue_longest_running_processor_seconds{{{JOB}, name="bundle"}}': "0+60x100"},
        "20m",
        {"name": "bundle"},
    ),
    "passes are short": Case(
        "OlmSuitePassTooLong",
        {f'workqueue_longest_running_processor_seconds{{{JOB}, name="bundle"}}': "2x100"},
        "20m",
    ),
    "a queue is never drained": Case(
        "OlmSuiteQueueNotDrained",
        depth("0x5 500x95"),
        "60m",
        {"name": "bundle"},
    ),
    "a queue is never drained, and the former leader lives on without one": Case(
        "OlmSuiteQueueNotDrained", {**depth("0x100"), **depth("500x100", "b")}, "60m", {"name": "bundle"}
    ),
    "a queue is drained after a peak": Case("OlmSuiteQueueNotDrained", depth("500x20 0x80"), "35m"),
    "a queue is long at the start": Case("OlmSuiteQueueNotDrained", depth("500x20 0x80"), "15m"),
    "the leader is gone with its queue": Case(
        "OlmSuiteQueueNotDrained", {**depth("500x20 stale"), **depth("0x20 5x80", "b")}, "35m"
    ),
    "the API server is overloaded": Case(
        "OlmSuiteApiServerRequestsFail",
        {**requests("429", "0+30x100"), **requests("200", "0+60x100")},
        "40m",
        {"job": "catalogd-metrics"},
    ),
    "the API server does not answer": Case(
        "OlmSuiteApiServerRequestsFail",
        {**requests("<error>", "0+30x100"), **requests("200", "0x100")},
        "40m",
        {"job": "catalogd-metrics"},
    ),
    "conflicts are no failures": Case(
        "OlmSuiteApiServerRequestsFail", {**requests("409", "0+30x100"), **requests("200", "0+60x100")}, "40m"
    ),
    "a certificate was not renewed": Case(
        "OlmSuiteCertificateExpires",
        {'olmkit_serving_certificate_expiration_timestamp_seconds{job="catalogd-metrics"}': "300000x200"},
        "2h",
        {"job": "catalogd-metrics"},
    ),
    "a certificate is valid for a month": Case(
        "OlmSuiteCertificateExpires",
        {'olmkit_serving_certificate_expiration_timestamp_seconds{job="catalogd-metrics"}': "2600000x200"},
        "2h",
    ),
    "the resolver dies again and again": Case(
        "OlmSuiteResolverRestarts", {"resolution_worker_restarts_total": "0+1x100"}, "70m", {}
    ),
    "the resolver was replaced once": Case(
        "OlmSuiteResolverRestarts", {"resolution_worker_restarts_total": "0x30 1x70"}, "70m"
    ),
    "the node has no memory for jobs": Case(
        "OlmSuiteJobsKilled",
        jobs("OutOfMemory", "0+1x10 10x90"),
        "30m",
        {"job": "catalogd-metrics", "function": "load"},
    ),
    "a source is so slow that each job runs until its timeout": Case(
        "OlmSuiteJobsKilled",
        jobs("TookTooLong", "0x20 1x20 2x20 3x20 4x20"),
        "90m",
        {"job": "catalogd-metrics", "function": "load"},
    ),
    "jobs end for both reasons": Case(
        "OlmSuiteJobsKilled",
        {**jobs("TookTooLong", "0x10 2x90"), **jobs("OutOfMemory", "0x10 2x90")},
        "30m",
        {"job": "catalogd-metrics", "function": "load"},
    ),
    "one catalog needs too much memory, and is not read again": Case(
        "OlmSuiteJobsKilled", jobs("OutOfMemory", "0x10 1x90"), "30m"
    ),
    "jobs were killed hours ago": Case("OlmSuiteJobsKilled", jobs("OutOfMemory", "0x10 10x290"), "180m"),
    "sources do not exist, which is no matter of limits": Case("OlmSuiteJobsKilled", jobs("Failed", "0+1x100"), "90m"),
    "the process that resolves is killed, which is another alert": Case(
        "OlmSuiteJobsKilled", jobs("OutOfMemory", "0+1x100", "solve"), "90m"
    ),
    "a job waits and waits": Case(
        "OlmSuiteJobsQueued", oldest_job("0+60x100"), "17m", {"job": "rukpak-metrics", "function": "unpack"}
    ),
    "many jobs wait, each of them for minutes": Case("OlmSuiteJobsQueued", oldest_job("300x100"), "60m"),
    "a queue of jobs is worked off": Case("OlmSuiteJobsQueued", oldest_job("0+60x12 0x90"), "16m"),
    "compressing is not urgent": Case("OlmSuiteJobsQueued", oldest_job("0+60x100", "compress"), "60m"),
    "a Catalog was never read": Case("CatalogNotServed", catalog(serving="0x100"), "20m", {"catalog": "c"}),
    "a Catalog is new": Case("CatalogNotServed", catalog(serving="0x5 1x100"), "20m"),
    "a Catalog cannot read its new content": Case(
        "CatalogNotUpToDate", catalog(serving="1x200", up_to_date="0x200"), "65m", {"catalog": "c"}
    ),
    "a Catalog that is not served is another alert": Case(
        "CatalogNotUpToDate", catalog(serving="0x200", up_to_date="0x200"), "65m"
    ),
    "a source is not checked any more": Case(
        "CatalogNotChecked",
        last_check("0x200"),
        "50m",
        {"catalog": "c"},
    ),
    "a source is checked": Case("CatalogNotChecked", last_check("0+60x200"), "50m"),
    "a source is away since before another replica took over, which has not checked it": Case(
        "CatalogNotChecked", last_check("0x20 stale"), "50m", {"catalog": "c"}
    ),
    "a source is away, and another replica took over soon after the last check": Case(
        "CatalogNotChecked", last_check("0+60x20 stale"), "50m"
    ),
    "another replica took over and checks the source": Case(
        "CatalogNotChecked", {**last_check("0x20 stale"), **last_check("_x21 1260+60x100", "b")}, "60m"
    ),
    "a Catalog was deleted whose source was away": Case(
        "CatalogNotChecked", {**last_check("0x45 stale"), **catalog(poll_interval_seconds="600x45 stale")}, "55m"
    ),
    "a policy refuses the Package objects of a Catalog": Case(
        "CatalogNotReconciled",
        {
            **condition("catalog", "Ready", "False"),
            **condition("catalog", "Reconciling", "True"),
            **{f'catalogd_catalog_{name}{{catalog="x"}}': "1x200" for name in ("serving", "up_to_date")},
        },
        "31m",
        {"catalog": "x"},
    ),
    "the disk is full, so that another selection of packages cannot be written": Case(
        "CatalogNotReconciled",
        {
            **condition("catalog", "Ready", "True"),
            **condition("catalog", "Reconciling", "True"),
            **{f'catalogd_catalog_{name}{{catalog="x"}}': "1x200" for name in ("serving", "up_to_date")},
        },
        "31m",
        {"catalog": "x"},
    ),
    "a Catalog is Stalled although its content is served": Case(
        "CatalogNotReconciled", condition("catalog", "Stalled", "True"), "31m", {"catalog": "x"}
    ),
    "Package objects are written in minutes": Case(
        "CatalogNotReconciled", condition("catalog", "Reconciling", "True", "1x10 stale"), "31m"
    ),
    "new content cannot be read, which is another alert": Case(
        "CatalogNotReconciled",
        {
            **condition("catalog", "Reconciling", "True"),
            'catalogd_catalog_serving{catalog="x"}': "1x200",
            'catalogd_catalog_up_to_date{catalog="x"}': "0x200",
        },
        "31m",
    ),
    "a Catalog has invalid blobs": Case(
        "CatalogHasProblems", condition("catalog", "Valid", "False"), "61m", {"catalog": "x"}
    ),
    "a Catalog is valid": Case("CatalogHasProblems", condition("catalog", "Valid", "True"), "61m"),
    "a replica of catalogd copies nothing": Case(
        "CatalogReplicaBehind", {'catalogd_replication_behind{pod="b"}': "3x100"}, "20m", {"pod": "b"}
    ),
    "a replica of catalogd has just started": Case(
        "CatalogReplicaBehind", {'catalogd_replication_behind{pod="b"}': "3 3 0x100"}, "20m"
    ),
    "an Operator names a version that is not there": Case(
        "OperatorStalled", condition("operator", "Stalled", "True"), "11m", {"operator": "x"}
    ),
    "an Operator was Stalled for a minute": Case(
        "OperatorStalled", condition("operator", "Stalled", "True", "1 1 stale"), "20m"
    ),
    "an Operator is Stalled for a minute now and then": Case(
        "OperatorStalled",
        {**condition("operator", "Stalled", "True", BRIEFLY), **condition("operator", "Ready", "True", MOSTLY)},
        "29m",
    ),
    "nobody leads for three minutes": Case(
        "OperatorStalled", condition("operator", "Stalled", "True", "1x5 stale _ _ 1x100"), "12m", {"operator": "x"}
    ),
    "an Operator that was Stalled is deleted": Case(
        "OperatorStalled",
        {
            **condition("operator", "Stalled", "True", "1x15 stale"),
            'operator_condition{operator="y", type="Ready", status="True"}': "1x100",
        },
        "18m",
    ),
    "the only Operator, which was Stalled, is deleted": Case(
        "OperatorStalled", condition("operator", "Stalled", "True", "1x15 stale"), "22m"
    ),
    "an Operator is unhealthy": Case(
        "OperatorNotReady", condition("operator", "Ready", "False"), "31m", {"operator": "x"}
    ),
    "nobody knows whether an Operator is ready": Case(
        "OperatorNotReady", condition("operator", "Ready", "Unknown"), "31m", {"operator": "x"}
    ),
    "another replica takes over meanwhile": Case(
        "OperatorNotReady", condition("operator", "Ready", "False", "1x15 stale _x2 1x100"), "35m", {"operator": "x"}
    ),
    "an Operator that was Stalled is retried when another replica takes over": Case(
        "OperatorNotReady",
        {
            **condition("operator", "Ready", "False", "1x15 stale _ 1x100"),
            **condition("operator", "Stalled", "True", "1x13 stale"),
        },
        "45m",
        {"operator": "x"},
    ),
    "an Operator is Ready most of the time": Case(
        "OperatorNotReady",
        {**condition("operator", "Ready", "False", BRIEFLY), **condition("operator", "Ready", "True", MOSTLY)},
        "45m",
    ),
    "an Operator became ready": Case(
        "OperatorNotReady",
        {
            **condition("operator", "Ready", "False", "1x29 stale"),
            **condition("operator", "Ready", "True", "_x30 1x100"),
        },
        "32m",
    ),
    "an Operator is Stalled, which is another alert": Case(
        "OperatorNotReady",
        {**condition("operator", "Ready", "False"), **condition("operator", "Stalled", "True")},
        "31m",
    ),
    "an upgrade waits for an approval": Case(
        "OperatorUpgradeAvailable", {'operator_upgrade_available{operator="x"}': "1x2000"}, "1445m", {"operator": "x"}
    ),
    "an upgrade was approved within a day": Case(
        "OperatorUpgradeAvailable", {'operator_upgrade_available{operator="x"}': "1x600 0x1400"}, "1445m"
    ),
    "installed pods do not come up": Case(
        "BundleDeploymentUnhealthy", {**INSTALLED, **UNHEALTHY}, "16m", {"bundledeployment": "x"}
    ),
    "installed pods are being started": Case(
        "BundleDeploymentUnhealthy",
        {**INSTALLED, **condition("bundledeployment", "Healthy", "False", "1x5 stale")},
        "16m",
    ),
    "installed pods fail for a minute now and then": Case(
        "BundleDeploymentUnhealthy",
        {
            **INSTALLED,
            **condition("bundledeployment", "Healthy", "False", BRIEFLY),
            **condition("bundledeployment", "Healthy", "True", MOSTLY),
        },
        "41m",
    ),
    "nothing is installed that could be healthy": Case(
        "BundleDeploymentUnhealthy", {**condition("bundledeployment", "Installed", "False"), **UNHEALTHY}, "16m"
    ),
    "the content of an installed bundle is unavailable": Case(
        "BundleDeploymentNotReconciled",
        {
            **INSTALLED,
            **condition("bundledeployment", "Ready", "False"),
            **condition("bundledeployment", "Healthy", "Unknown"),
            **RECONCILING,
        },
        "31m",
        {"bundledeployment": "x"},
    ),
    "an upgrade is retried, and what runs is healthy": Case(
        "BundleDeploymentNotReconciled",
        {
            **INSTALLED,
            **condition("bundledeployment", "Ready", "False"),
            **condition("bundledeployment", "Healthy", "True"),
            **RECONCILING,
        },
        "31m",
        {"bundledeployment": "x"},
    ),
    "the cluster lacks a kind of a bundle that is not installed": Case(
        "BundleDeploymentNotReconciled",
        {**condition("bundledeployment", "Installed", "Unknown"), **UNHEALTHY, **RECONCILING},
        "31m",
        {"bundledeployment": "x"},
    ),
    "a bundle is installed within minutes": Case(
        "BundleDeploymentNotReconciled", condition("bundledeployment", "Reconciling", "True", "1x20 stale"), "40m"
    ),
    "objects are changed by others again and again, which is another alert": Case(
        "BundleDeploymentNotReconciled", {**INSTALLED, **UNHEALTHY, **RECONCILING}, "31m"
    ),
    "an installed bundle cannot be repaired until somebody acts": Case(
        "BundleDeploymentStalled",
        {**INSTALLED, **condition("bundledeployment", "Stalled", "True")},
        "11m",
        {"bundledeployment": "x"},
    ),
    "a bundle is refused": Case(
        "BundleDeploymentStalled", condition("bundledeployment", "Stalled", "True"), "11m", {"bundledeployment": "x"}
    ),
    "a bundle was accepted": Case("BundleDeploymentStalled", condition("bundledeployment", "Stalled", "False"), "11m"),
    "the image of a bundle cannot be fetched": Case(
        "BundleNotUnpacked", condition("bundle", "Unpacked", "False"), "31m", {"bundle": "x"}
    ),
    "the image of somebody's own Bundle is no bundle": Case(
        "BundleNotUnpacked",
        {**condition("bundle", "Unpacked", "False"), **condition("bundle", "Stalled", "True")},
        "31m",
        {"bundle": "x"},
    ),
    "the image of a BundleDeployment is no bundle, which is another alert": Case(
        "BundleNotUnpacked",
        {
            'bundle_condition{bundle="x-0a1b2c", type="Unpacked", status="False"}': "1x100",
            **condition("bundledeployment", "Stalled", "True"),
        },
        "31m",
    ),
    "the image of a BundleDeployment cannot be fetched": Case(
        "BundleNotUnpacked",
        {'bundle_condition{bundle="x-0a1b2c", type="Unpacked", status="False"}': "1x100", **RECONCILING},
        "31m",
        {"bundle": "x-0a1b2c"},
    ),
    "a bundle is unpacked": Case("BundleNotUnpacked", condition("bundle", "Unpacked", "True"), "31m"),
}


def alerts() -> dict[str, dict[str, str]]:
    """The labels of each alert by name."""
    groups = yaml.safe_load(RULES.read_text())["spec"]["groups"]
    return {rule["alert"]: rule["labels"] for group in groups for rule in group["rules"] if "alert" in rule}


@pytest.fixture(scope="session")
def rules_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules as Prometheus reads them, without annotations, of which the tests of promtool would compare every word."""
    spec = yaml.safe_load(RULES.read_text())["spec"]
    for group in spec["groups"]:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_alert(promtool: Promtool, case: Case, rules_file: Path, tmp_path: Path) -> None:
    fired = [] if case.fires is None else [{"exp_labels": {**alerts()[case.alert], **case.fires}}]
    series = [{"series": name, "values": values} for name, values in {**LEADERS, **case.series}.items()]
    test = {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [{"eval_time": case.at, "alertname": case.alert, "exp_alerts": fired}],
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(rules_file)], "tests": [test]}))
    promtool("test", "rules", str(path))


def test_each_alert_is_shown_to_fire_and_not_to_fire() -> None:
    for fires in (True, False):
        assert {case.alert for case in CASES.values() if (case.fires is not None) == fires} == alerts().keys()


def test_prometheus_accepts_the_rules_with_their_annotations(promtool: Promtool, tmp_path: Path) -> None:
    spec = yaml.safe_load(RULES.read_text())["spec"]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(spec))
    count = sum(len(group["rules"]) for group in spec["groups"])
    assert f"SUCCESS: {count} rules found" in promtool("check", "rules", "--lint=all", "--lint-fatal", str(path))
