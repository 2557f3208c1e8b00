"""The text of config/grafana/olm-suite.json, the Grafana dashboard of the suite."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NAMESPACE = 'namespace="$namespace"'
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24
_STAT_SIZE, _GRAPH_SIZE, _TABLE_SIZE = (4, 4), (12, 8), (12, 8)


@dataclass(frozen=True)
class Panel:
    """A panel of a Grafana type with its queries: (PromQL, legend)."""

    title: str
    type: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    description: str = ""


def _count(kind: str, type_: str, status: str) -> str:
    return f'count(max by ({kind}) ({kind}_condition{{type="{type_}", status="{status}"}})) or vector(0)'


def _not_ready(kind: str) -> Panel:
    query = f'max by ({kind}) ({kind}_condition{{type="Ready", status!="True"}})'
    return Panel(f"{kind.capitalize()}s that are not Ready", "table", [(query, "")])


def _quantile(metric: str, by: str) -> str:
    return f"histogram_quantile(0.95, sum by (le, {by}) (rate({metric}_bucket{{{NAMESPACE}}}[$__rate_interval])))"


def _rate(metric: str, by: str, more: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{{{NAMESPACE}{more}}}[$__rate_interval]))"


ROWS: dict[str, Sequence[Panel]] = {
    "Overview": [
        *(
            Panel(f"{plural}, {word}", "stat", [(_count(kind, type_, "True"), "")])
            for kind, plural in (
                ("catalog", "Catalogs"),
                ("operator", "Operators"),
                ("bundledeployment", "BundleDeployments"),
            )
            for type_, word in (("Ready", "Ready"), ("Stalled", "Stalled"))
        ),
    ],
    "Catalogs": [
        _not_ready("catalog"),
        Panel(
            "Time since the source was checked",
            "timeseries",
            [("time() - max by (catalog) (catalogd_catalog_last_look_success_timestamp_seconds)", "{{catalog}}")],
            "s",
        ),
        Panel(
            "Requests for catalogs",
            "timeseries",
            [(_rate("catalogd_http_request_duration_seconds_count", "code"), "{{code}}")],
            "reqps",
        ),
        Panel(
            "Duration of requests, 95th percentile",
            "timeseries",
            [(_quantile("catalogd_http_request_duration_seconds", "code"), "{{code}}")],
            "s",
        ),
    ],
    "Operators": [
        Panel("Installed", "table", [("max by (operator, package, version, channel, catalog) (operator_info)", "")]),
        _not_ready("operator"),
        Panel(
            "Upgrades that are not installed", "table", [("max by (operator) (operator_upgrade_available) == 1", "")]
        ),
        Panel(
            "Installations and upgrades",
            "timeseries",
            [("sum by (result) (increase(bundle_install_total[$__rate_interval]))", "{{result}}")],
        ),
        Panel(
            "Duration of resolving, 95th percentile",
            "timeseries",
            [
                (
                    "histogram_quantile(0.95, sum by (le) (rate(resolution_duration_seconds_bucket[$__rate_interval])))",
                    "",
                )
            ],
            "s",
        ),
        Panel(
            "Resolutions",
            "timeseries",
            [("sum by (result) (rate(resolution_total[$__rate_interval]))", "{{result}}")],
        ),
    ],
    "BundleDeployments and Bundles": [
        _not_ready("bundledeployment"),
        _not_ready("bundle"),
    ],
    "Jobs": [
        Panel(
            "Jobs that run and that wait",
            "timeseries",
            [
                (f"sum by (function) (olmkit_jobs_running{{{NAMESPACE}}})", "{{function}} runs"),
                (f"sum by (function) (olmkit_jobs_queued{{{NAMESPACE}}})", "{{function}} waits"),
            ],
            description="Pulling, unpacking and parsing of catalogs (load) and bundles (unpack), compressing, solving.",
        ),
        Panel(
            "Longest wait of a job",
            "timeseries",
            [(f"max by (function) (olmkit_jobs_longest_queued_seconds{{{NAMESPACE}}})", "{{function}}")],
            "s",
        ),
        Panel(
            "Jobs that ended, by outcome",
            "timeseries",
            [
                (
                    f"sum by (function, outcome) (increase(olmkit_jobs_finished_total{{{NAMESPACE}}}[$__rate_interval]))",
                    "{{function}} {{outcome}}",
                )
            ],
            description="OutOfMemory and TookTooLong: killed by a limit.",
        ),
        Panel(
            "Duration of jobs, 95th percentile",
            "timeseries",
            [(_quantile("olmkit_job_duration_seconds", "function"), "{{function}}")],
            "s",
        ),
    ],
    "Controllers": [
        Panel("Leaders", "table", [(f"leader_election_master_status{{{NAMESPACE}}} == 1", "")]),
        Panel(
            "Passes by result",
            "timeseries",
            [(_rate("controller_runtime_reconcile_total", "controller, result"), "{{controller}} {{result}}")],
            "ops",
        ),
        Panel(
            "Duration of passes, 95th percentile",
            "timeseries",
            [(_quantile("controller_runtime_reconcile_time_seconds", "controller"), "{{controller}}")],
            "s",
        ),
        Panel("Objects that wait", "timeseries", [(f"sum by (name) (workqueue_depth{{{NAMESPACE}}})", "{{name}}")]),
        Panel(
            "Requests to the API server",
            "timeseries",
            [(_rate("rest_client_requests_total", "job, code"), "{{job}} {{code}}")],
            "reqps",
        ),
        Panel(
            "Memory",
            "timeseries",
            [
                (
                    f'process_resident_memory_bytes{{{NAMESPACE}, job=~"catalogd.*|rukpak.*|operator-controller.*"}}',
                    "{{pod}}",
                )
            ],
            "bytes",
            "Of the controllers themselves. Jobs run in processes of their own.",
        ),
        Panel(
            "CPU",
            "timeseries",
            [
                (
                    _rate("process_cpu_seconds_total", "pod", ', job=~"catalogd.*|rukpak.*|operator-controller.*"'),
                    "{{pod}}",
                )
            ],
        ),
        Panel(
            "Certificates expire in",
            "stat",
            [("min by (job) (olmkit_serving_certificate_expiration_timestamp_seconds) - time()", "{{job}}")],
            "s",
        ),
    ],
}


def queries() -> Iterator[str]:
    """Every PromQL query."""
    for panels in ROWS.values():
        for panel in panels:
            yield from (query for query, _ in panel.queries)


def dashboard_text() -> str:
    """The content of the file."""
    return json.dumps(dashboard(), indent=1) + "\n"


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "uid": "olm-suite",
        "title": "olm-suite",
        "tags": ["olm", "operators"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_datasource_variable(), _namespace_variable()]},
        "panels": list(_panels()),
    }


def _datasource_variable() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _namespace_variable() -> dict[str, Any]:
    value = {"text": "olm-suite-system", "value": "olm-suite-system"}
    return {"name": "namespace", "label": "Namespace", "type": "textbox", "query": value["value"], "current": value}


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": _place(0, top, 24, 1),
        }
        top, left, height = top + 1, 0, 0
        for panel in panels:
            number += 1
            width, tall = {"stat": _STAT_SIZE, "table": _TABLE_SIZE}.get(panel.type, _GRAPH_SIZE)
            if left + width > _COLUMNS:
                top, left, height = top + height, 0, 0
            yield _panel(number, panel, _place(left, top, width, tall))
            left, height = left + width, max(height, tall)
        top += height


def _place(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    is_table = panel.type == "table"
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _DATASOURCE,
            "expr": query,
            "legendFormat": legend or "__auto",
            "instant": panel.type in ("stat", "table"),
            "range": panel.type == "timeseries",
            **({"format": "table"} if is_table else {}),
        }
        for index, (query, legend) in enumerate(panel.queries)
    ]
    hidden = {"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}
    return {
        "id": number,
        "type": panel.type,
        "title": panel.title,
        "description": panel.description,
        "datasource": _DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {},
        "targets": targets,
        "transformations": [hidden] if is_table else [],
    }
