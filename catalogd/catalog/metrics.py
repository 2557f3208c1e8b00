"""What a scraper is told of each Catalog: the status as numbers, to be alerted on.

Registered by catalogd.setup, asked whenever /metrics is. Only the leader tells, for it alone looks at sources. Values are made
when they are asked for, out of what the informer and the reconciler hold: a Catalog that is gone leaves no series behind.
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

from catalogd.catalog.desired_source import poll_interval
from olmkit.api.catalogs import Catalog, ConditionType
from olmkit.errors import Blocked

SERVING_METRIC = "catalogd_catalog_serving"
UP_TO_DATE_METRIC = "catalogd_catalog_up_to_date"
LAST_CHECK_METRIC = "catalogd_catalog_last_look_success_timestamp_seconds"
LAST_UNPACK_METRIC = "catalogd_catalog_last_unpack_timestamp_seconds"
POLL_INTERVAL_METRIC = "catalogd_catalog_poll_interval_seconds"
_WORDS = {
    SERVING_METRIC: "1 while content of the Catalog is served, perhaps an older one, else 0.",
    UP_TO_DATE_METRIC: "1 while what is served is what the source held at the last look, and that look succeeded, else 0.",
    LAST_CHECK_METRIC: "When the source was last looked at with success, in seconds since 1970.",
    LAST_UNPACK_METRIC: "When the content that is served was unpacked, in seconds since 1970.",
    POLL_INTERVAL_METRIC: "Time between two looks at the source; no series for a source that is not looked at again.",
}


def metric_values(catalog: Catalog, looked: datetime | None) -> Mapping[str, float]:
    """The values of one Catalog by metric; none for one that goes, or that shall not be served.

    `looked`: the last look with success of this process; before there is one, the time of unpacking stands for it.
    """
    if catalog.metadata.deleting or catalog.is_unavailable:
        return {}
    true = {each.type for each in catalog.status.conditions if each.status == "True"}
    found: dict[str, float] = {
        SERVING_METRIC: ConditionType.SERVING in true,
        UP_TO_DATE_METRIC: {ConditionType.SERVING, ConditionType.UNPACKED} <= true,
    }
    if catalog.status.last_unpacked:
        unpacked = datetime.fromisoformat(catalog.status.last_unpacked)
        found[LAST_UNPACK_METRIC] = unpacked.timestamp()
        found[LAST_CHECK_METRIC] = (looked or unpacked).timestamp()
    with suppress(Blocked):
        if interval := poll_interval(catalog.metadata.name, catalog.spec.source):
            found[POLL_INTERVAL_METRIC] = interval.total_seconds()
    return found


def _values_of(raw: Mapping[str, Any]) -> Mapping[str, float]:
    try:
        return metric_values(Catalog.load(raw), None)
    except ValueError:  # one that cannot be read costs nobody but itself its series
        return {}


@dataclass(frozen=True)
class CatalogMetrics(Collector):
    """`catalogs` gives the objects as last seen, `looked` the last look with success at one, by name."""

    catalogs: Callable[[], Iterable[Mapping[str, Any]]]
    looked: Callable[[str], datetime | None]
    is_leading: Callable[[], bool]
    _unchanged: dict[str, tuple[str, Mapping[str, float]]] = field(default_factory=dict, compare=False, repr=False)
    """Version and values of each Catalog at the last scrape: to read a thousand of them again would hold up who is served."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called for each scrape, in the event loop."""
        if not self.is_leading():
            return
        families = {name: GaugeMetricFamily(name, words, labels=["catalog"]) for name, words in _WORDS.items()}
        before, now = dict(self._unchanged), self._unchanged
        now.clear()
        for raw in self.catalogs():
            catalog, version = raw["metadata"]["name"], raw["metadata"]["resourceVersion"]
            known = before.get(catalog)
            told = known[1] if known and known[0] == version else _values_of(raw)
            now[catalog] = version, told
            looked = self.looked(catalog)
            for name, value in told.items():
                families[name].add_metric(
                    [catalog], looked.timestamp() if looked and name == LAST_CHECK_METRIC else value
                )
        yield from families.values()

    def register(self) -> None:
        """Tell it at /metrics."""
        REGISTRY.register(self)

    async def unregister(self) -> None:
        """Tell nothing any more."""
        REGISTRY.unregister(self)
