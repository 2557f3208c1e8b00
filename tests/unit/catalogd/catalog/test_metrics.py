"""What a scraper is told of one Catalog."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from catalogd.catalog.metrics import (
    LAST_CHECK_METRIC,
    LAST_UNPACK_METRIC,
    POLL_INTERVAL_METRIC,
    SERVING_METRIC,
    UP_TO_DATE_METRIC,
    CatalogMetrics,
    metric_values,
)
from olmkit.api.catalogs import Catalog

UNPACKED_AT, LOOKED_AT = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
STAMP = "2026-01-01T00:00:00Z"
DIGEST = "sha256:" + "a" * 64


def catalog(*true: str, ref: str = "r/c:v1", poll: str = "", unpacked: bool = True, **more: Any) -> Catalog:
    """A Catalog whose conditions of these types are True, the others False."""
    kinds = ("Ready", "Serving", "Unpacked")
    common = {"reason": "x", "message": "", "lastTransitionTime": STAMP}
    conditions = [{"type": kind, "status": "True" if kind in true else "False", **common} for kind in kinds]
    stamp = {"lastUnpacked": STAMP} if unpacked else {}
    image = {"ref": ref, **({"pollInterval": poll} if poll else {})}
    return Catalog.load(
        {
            "metadata": {"name": "c", "generation": 1, **more.get("metadata", {})},
            "spec": {"source": {"type": "image", "image": image}, **more.get("spec", {})},
            "status": {"conditions": conditions, **stamp},
        }
    )


ALL = ("Ready", "Serving", "Unpacked")


@pytest.mark.parametrize(
    ("given", "looked", "expected"),
    [
        pytest.param(
            catalog(*ALL, poll="30s"),
            LOOKED_AT,
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 1,
                LAST_CHECK_METRIC: LOOKED_AT.timestamp(),
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
                POLL_INTERVAL_METRIC: 30,
            },
            id="one that is served and looked at",
        ),
        pytest.param(
            catalog("Ready", "Serving", poll="30s"),
            None,
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 0,
                LAST_CHECK_METRIC: UNPACKED_AT.timestamp(),
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
                POLL_INTERVAL_METRIC: 30,
            },
            id="after a restart that could not look yet, what is known of looks is that it was unpacked",
        ),
        pytest.param(
            catalog(*ALL, ref=f"r/c@{DIGEST}"),
            LOOKED_AT,
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 1,
                LAST_CHECK_METRIC: LOOKED_AT.timestamp(),
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
            },
            id="a digest has no interval: it is not looked at again",
        ),
        pytest.param(
            catalog(*ALL, poll="0s"),
            LOOKED_AT,
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 1,
                LAST_CHECK_METRIC: LOOKED_AT.timestamp(),
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
            },
            id="nor has a tag that is never polled",
        ),
        pytest.param(
            catalog(unpacked=False, poll="30s"),
            None,
            {SERVING_METRIC: 0, UP_TO_DATE_METRIC: 0, POLL_INTERVAL_METRIC: 30},
            id="a new one",
        ),
        pytest.param(
            catalog(spec={"availability": "Unavailable"}),
            LOOKED_AT,
            {},
            id="of what shall not be served nothing is told",
        ),
        pytest.param(catalog(*ALL, metadata={"deletionTimestamp": STAMP}), LOOKED_AT, {}, id="nor of what goes"),
    ],
)
def test_values(given: Catalog, looked: datetime | None, expected: dict[str, float]) -> None:
    told = metric_values(given, looked)
    if POLL_INTERVAL_METRIC in told:  # with the Catalog's own jitter
        assert 30 <= told[POLL_INTERVAL_METRIC] <= 30.3
        told = {**told, POLL_INTERVAL_METRIC: 30}
    assert told == expected


def test_the_default_interval_is_told_too() -> None:
    assert 600 <= metric_values(catalog(*ALL), None)[POLL_INTERVAL_METRIC] <= 606


def raw(of: Catalog, name: str, version: str) -> dict[str, Any]:
    """The object as the API server gives it."""
    body = of.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {**body, "metadata": {**body["metadata"], "name": name, "resourceVersion": version}}


def test_every_scrape_tells_what_is_so_now() -> None:
    seen: list[dict[str, Any]] = []
    looks: dict[str, datetime] = {}
    leads = True
    told = CatalogMetrics(lambda: seen, looks.get, lambda: leads)

    def scrape(metric: str) -> dict[str, float]:
        return {
            sample.labels["catalog"]: sample.value
            for family in told.collect()
            for sample in family.samples
            if sample.name == metric
        }

    assert scrape(SERVING_METRIC) == {}
    seen[:] = [raw(catalog(*ALL), "a", "1"), raw(catalog(unpacked=False), "b", "2")]
    assert scrape(SERVING_METRIC) == {"a": 1, "b": 0}
    assert scrape(LAST_CHECK_METRIC) == {"a": UNPACKED_AT.timestamp()}
    looks["a"] = looks["b"] = LOOKED_AT
    assert scrape(LAST_CHECK_METRIC) == {"a": LOOKED_AT.timestamp()}, "the version is the same, the look is new"
    seen[:] = [raw(catalog("Serving"), "b", "3")]
    assert (scrape(SERVING_METRIC), scrape(LAST_CHECK_METRIC)) == ({"b": 1}, {"b": LOOKED_AT.timestamp()})
    seen[:] = [{"metadata": {"name": "c", "resourceVersion": "4"}, "spec": {"source": 5}}]
    assert scrape(SERVING_METRIC) == {}, "what cannot be read has no series"
    seen[:] = [raw(catalog(*ALL), "a", "1")]
    leads = False
    assert scrape(SERVING_METRIC) == {}
