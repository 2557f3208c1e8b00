"""Metrics of each Operator: what is installed and available, for dashboards and alerts; and a counter of installations.
olmkit.runtime.condition_metrics exports its conditions.

Each scrape of /metrics collects OperatorMetrics. Only the leader exports it, because only the leader writes the status. Values
are read from the informer, so a deleted Operator has no series. reconciler.py writes the counter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prometheus_client import REGISTRY, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from olmkit.api.conditions import find_condition, is_condition_true
from olmkit.api.operator_status import OperatorStatus
from olmkit.api.operators import ConditionType, Operator, Reason
from olmkit.gocompat.text import printable

INSTALLATIONS = Counter(
    "bundle_install", "Installations and upgrades that succeeded, and that began to fail.", ["result"]
)


MAX_LABEL_CHARACTERS = 128
"""The maximum characters of the value of a label. Prometheus may drop all metrics of a process because of one label that is too
long."""


class MetricValues(NamedTuple):
    """The label values and the value of each series of one Operator."""

    info: tuple[str, str, str, str, str]
    upgrade_available: int


def metric_values(operator: Operator) -> MetricValues:
    """The series of one Operator. If no bundle is installed, its labels are empty."""
    name, status = operator.metadata.name, operator.status
    installed = status.installed
    version, channel, catalog = (
        (installed.version, installed.channel or "", installed.catalog or "") if installed is not None else ("", "", "")
    )
    return MetricValues(
        (name, operator.spec.package_name, _label(version), _label(channel), catalog),
        int(installed is not None and status.available is not None),
    )


def _label(text: str) -> str:
    """The value of a label from a text of a catalog."""
    return printable(text)[:MAX_LABEL_CHARACTERS]


def installation_result(before: OperatorStatus, after: OperatorStatus) -> str | None:
    """The result to count: `success` if another bundle has been installed, `failure` if an attempt begins to fail; else None."""
    if after.installed is not None and _installed(before) != _installed(after):
        return "success"
    return "failure" if _is_failing(after) and not _is_failing(before) else None


def _installed(status: OperatorStatus) -> tuple[str, str | None] | None:
    return None if status.installed is None else (status.installed.name, status.installed_bundle_resource)


def _is_failing(status: OperatorStatus) -> bool:
    """Report whether the first installation, or an upgrade, fails."""
    installed = find_condition(status.conditions, ConditionType.INSTALLED)
    if installed is not None and installed.reason == Reason.INSTALLATION_FAILED:
        return True
    ready = find_condition(status.conditions, ConditionType.READY)
    progress = find_condition(status.conditions, ConditionType.RECONCILING)
    is_retrying = progress is not None and progress.reason == Reason.RETRYING
    is_stalled = is_condition_true(status.conditions, ConditionType.STALLED)
    if ready is not None and ready.reason in (Reason.ROLLING_BACK, Reason.ROLLED_BACK):
        return True
    if ready is not None and ready.reason == Reason.BLOCKED:
        return is_stalled and status.installed is not None
    return ready is not None and ready.reason == Reason.UPGRADING and is_retrying


def count_installation(before: OperatorStatus, after: OperatorStatus) -> None:
    """Count the installation or failure that a change of the status reports."""
    result = installation_result(before, after)
    if result is not None:
        INSTALLATIONS.labels(result).inc()


@dataclass(frozen=True)
class OperatorMetrics(Collector):
    """`operators` returns the objects of the informer."""

    operators: Callable[[], Iterable[Mapping[str, Any]]]
    is_leading: Callable[[], bool]
    _unchanged: dict[str, tuple[str, MetricValues | None]] = field(default_factory=dict, compare=False, repr=False)
    """resourceVersion and values at the last scrape, by name. Parsing a thousand Operators each time would delay the others."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called for each scrape, in the event loop."""
        if not self.is_leading():
            return
        info = GaugeMetricFamily(
            "operator_info",
            "1 for each Operator, with what is installed.",
            labels=["operator", "package", "version", "channel", "catalog"],
        )
        available = GaugeMetricFamily(
            "operator_upgrade_available", "1 if an upgrade is available and not installed, else 0.", labels=["operator"]
        )
        for values in self._values():
            info.add_metric(values.info, 1)
            available.add_metric(values.info[:1], values.upgrade_available)
        yield from (info, available)

    def _values(self) -> Iterator[MetricValues]:
        before, now = dict(self._unchanged), self._unchanged
        now.clear()
        for raw in self.operators():
            name, version = raw["metadata"]["name"], raw["metadata"]["resourceVersion"]
            known = before.get(name)
            now[name] = known if known is not None and known[0] == version else (version, _values_of(raw))
            if (values := now[name][1]) is not None:
                yield values

    def register(self) -> None:
        """Export the metrics at /metrics."""
        REGISTRY.register(self)

    async def unregister(self) -> None:
        """Stop exporting them."""
        REGISTRY.unregister(self)


def _values_of(raw: Mapping[str, Any]) -> MetricValues | None:
    try:
        return metric_values(Operator.load(raw))
    except ValueError:  # an Operator that cannot be parsed has no series; the others have theirs
        return None
