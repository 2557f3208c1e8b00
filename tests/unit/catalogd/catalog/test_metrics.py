"""The metrics of one Catalog."""

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

UNPACKED_AT, CHECKED_AT = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
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
    ("given", "expected"),
    [
        pytest.param(
            catalog(*ALL, poll="30s"),
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 1,
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
                POLL_INTERVAL_METRIC: 30,
            },
            id="one that is served",
        ),
        pytest.param(
            catalog("Ready", "Serving", poll="30s"),
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 0,
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
                POLL_INTERVAL_METRIC: 30,
            },
            id="one whose source cannot be read",
        ),
        pytest.param(
            catalog(*ALL, ref=f"r/c@{DIGEST}"),
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 1,
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
            },
            id="a digest has no interval, because it is not checked again",
        ),
        pytest.param(
            catalog(*ALL, poll="0s"),
            {
                SERVING_METRIC: 1,
                UP_TO_DATE_METRIC: 1,
                LAST_UNPACK_METRIC: UNPACKED_AT.timestamp(),
            },
            id="nor does a tag that is never polled",
        ),
        pytest.param(
            catalog(unpacked=False, poll="30s"),
            {SERVING_METRIC: 0, UP_TO_DATE_METRIC: 0, POLL_INTERVAL_METRIC: 30},
            id="a new one",
        ),
        pytest.param(
            catalog(spec={"availability": "Unavailable"}),
            {},
            id="an Unavailable Catalog has no series",
        ),
        pytest.param(
            catalog(*ALL, metadata={"deletionTimestamp": STAMP}),
            {},
            id="nor does one that is being deleted",
        ),
    ],
)
def test_values(given: Catalog, expected: dict[str, float]) -> None:
    values = metric_values(given)
    if POLL_INTERVAL_METRIC in values:  # with jitter
        assert 30 <= values[POLL_INTERVAL_METRIC] <= 30.3
        values = {**values, POLL_INTERVAL_METRIC: 30}
    assert values == expected


def test_the_default_interval_is_exported_too() -> None:
    assert 600 <= metric_values(catalog(*ALL))[POLL_INTERVAL_METRIC] <= 606


def raw(of: Catalog, name: str, version: str) -> dict[str, Any]:
    """The object as the API server gives it."""
    body = of.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {**body, "metadata": {**body["metadata"], "name": name, "resourceVersion": version}}


def test_every_scrape_exports_the_current_state() -> None:
    known: list[dict[str, Any]] = []
    checks: dict[str, datetime] = {}
    leads = True
    metrics = CatalogMetrics(lambda: known, checks.get, lambda: leads)

    def scrape(metric: str) -> dict[str, float]:
        return {
            sample.labels["catalog"]: sample.value
            for family in metrics.collect()
            for sample in family.samples
            if sample.name == metric
        }

    assert scrape(SERVING_METRIC) == {}
    known[:] = [raw(catalog(*ALL), "a", "1"), raw(catalog(unpacked=False), "b", "2")]
    assert scrape(SERVING_METRIC) == {"a": 1, "b": 0}
    assert scrape(LAST_CHECK_METRIC) == {}, "this process has checked nothing yet, whenever the content was unpacked"
    checks["a"] = CHECKED_AT
    assert scrape(LAST_CHECK_METRIC) == {"a": CHECKED_AT.timestamp()}, "the version is the same, the check is new"
    checks["b"] = CHECKED_AT
    known[:] = [raw(catalog("Serving"), "b", "3")]
    assert (scrape(SERVING_METRIC), scrape(LAST_CHECK_METRIC)) == ({"b": 1}, {"b": CHECKED_AT.timestamp()})
    known[:] = [raw(catalog(*ALL, spec={"availability": "Unavailable"}), "b", "4")]
    assert scrape(LAST_CHECK_METRIC) == {}, "an Unavailable Catalog has no series"
    known[:] = [{"metadata": {"name": "c", "resourceVersion": "5"}, "spec": {"source": 5}}]
    assert scrape(SERVING_METRIC) == {}, "a Catalog that cannot be parsed has no series"
    known[:] = [raw(catalog(*ALL), "a", "1")]
    leads = False
    assert scrape(SERVING_METRIC) == {}
