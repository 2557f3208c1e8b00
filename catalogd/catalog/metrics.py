"""Metrics of each Catalog: its status as numbers, for alerts.

Only the leader exports them, because only the leader checks sources. Values are computed at each scrape from the informer and the
reconciler, so a deleted Catalog has no series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from catalogd.catalog.decide import poll_interval
from olmkit.api.catalogs import Catalog, ConditionType
from olmkit.errors import Blocked

SERVING_METRIC = "catalogd_catalog_serving"
UP_TO_DATE_METRIC = "catalogd_catalog_up_to_date"
LAST_CHECK_METRIC = "catalogd_catalog_last_look_success_timestamp_seconds"
LAST_UNPACK_METRIC = "catalogd_catalog_last_unpack_timestamp_seconds"
POLL_INTERVAL_METRIC = "catalogd_catalog_poll_interval_seconds"
_DESCRIPTIONS = {
    SERVING_METRIC: "1 while content of the Catalog is served, even an older one, else 0.",
    UP_TO_DATE_METRIC: "1 if the last check of the source succeeded and the content it found is served, else 0.",
    LAST_CHECK_METRIC: "When this process last checked the source successfully, in seconds since 1970; no series before that.",
    LAST_UNPACK_METRIC: "When the content that is served was unpacked, in seconds since 1970.",
    POLL_INTERVAL_METRIC: "Time between two checks of the source; no series for a source that is not checked again.",
}


def metric_values(catalog: Catalog) -> Mapping[str, float]:
    """The values that follow from the object, by metric; empty if the Catalog is being deleted or Unavailable."""
    if catalog.metadata.deleting or catalog.is_unavailable:
        return {}
    true = {each.type for each in catalog.status.conditions if each.status == "True"}
    found: dict[str, float] = {
        SERVING_METRIC: ConditionType.SERVING in true,
        UP_TO_DATE_METRIC: {ConditionType.SERVING, ConditionType.UNPACKED} <= true,
    }
    if catalog.status.last_unpacked:
        found[LAST_UNPACK_METRIC] = datetime.fromisoformat(catalog.status.last_unpacked).timestamp()
    with suppress(Blocked):
        if interval := poll_interval(catalog.metadata.name, catalog.spec.source):
            found[POLL_INTERVAL_METRIC] = interval.total_seconds()
    return found


def _values_of(raw: Mapping[str, Any]) -> Mapping[str, float]:
    try:
        return metric_values(Catalog.load(raw))
    except ValueError:  # a Catalog that cannot be parsed has no series; the others have theirs
        return {}


@dataclass(frozen=True)
class CatalogMetrics(Collector):
    """Computes and exports the metrics. `catalogs` returns the objects of the informer. `last_checked` returns the time at which
    this process last checked the source of a Catalog successfully."""

    catalogs: Callable[[], Iterable[Mapping[str, Any]]]
    last_checked: Callable[[str], datetime | None]
    is_leading: Callable[[], bool]
    _unchanged: dict[str, tuple[str, Mapping[str, float]]] = field(default_factory=dict, compare=False, repr=False)
    """resourceVersion and values at the last scrape, by name. Parsing a thousand Catalogs each time would delay HTTP requests."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called for each scrape, in the event loop."""
        if not self.is_leading():
            return
        families = {
            name: GaugeMetricFamily(name, description, labels=["catalog"])
            for name, description in _DESCRIPTIONS.items()
        }
        before, now = dict(self._unchanged), self._unchanged
        now.clear()
        for raw in self.catalogs():
            catalog, version = raw["metadata"]["name"], raw["metadata"]["resourceVersion"]
            known = before.get(catalog)
            values = known[1] if known and known[0] == version else _values_of(raw)
            now[catalog] = version, values
            for name, value in values.items():
                families[name].add_metric([catalog], value)
            # No other time stands in for a check that this process has not made: the alert would take it for the last one.
            if values and (last_checked := self.last_checked(catalog)):
                families[LAST_CHECK_METRIC].add_metric([catalog], last_checked.timestamp())
        yield from families.values()

    def register(self) -> None:
        """Export the metrics at /metrics."""
        REGISTRY.register(self)

    async def unregister(self) -> None:
        """Stop exporting them."""
        REGISTRY.unregister(self)
