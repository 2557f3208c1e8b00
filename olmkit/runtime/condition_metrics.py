"""Conditions of all objects of a kind as numbers, for dashboards and alerts.

Only the leader exports them, because it alone writes the status, so that a sum over replicas is right. Values are read from the
informer: a deleted object has no series. An object whose status was damaged by another program has the series that can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from olmkit.api.meta import Kind


@dataclass(frozen=True)
class ConditionMetrics(Collector):
    """Exports `<kind>_condition{<kind>, type, status}`, 1 for the current status of each condition; the kind is in lower case.

    `objects` returns the objects of the informer.
    """

    kind: Kind
    objects: Callable[[], Iterable[Mapping[str, Any]]]
    is_leading: Callable[[], bool]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called for each scrape, in the event loop."""
        if not self.is_leading():
            return
        name = self.kind.kind.lower()
        family = GaugeMetricFamily(
            f"{name}_condition", "1 for the current status of each condition.", labels=[name, "type", "status"]
        )
        for raw in self.objects():
            for type_, status in _conditions(raw):
                family.add_metric([raw["metadata"]["name"], type_, status], 1)
        yield family

    def register(self) -> None:
        """Export the metrics at /metrics."""
        REGISTRY.register(self)

    async def unregister(self) -> None:
        """Stop exporting them."""
        REGISTRY.unregister(self)


def _conditions(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    status = raw.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and isinstance(condition.get("type"), str):
            yield condition["type"], str(condition.get("status"))
