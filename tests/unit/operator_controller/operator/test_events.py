"""Which changes of a Catalog and a BundleDeployment bear on Operators."""

from __future__ import annotations

from typing import Any

import pytest

from operator_controller.operator.events import resolution_inputs
from operator_controller.operator.informers import packages_of
from tests.unit.operator_controller.operator.builders import catalog, deployment

Object = dict[str, Any]


def leaving() -> Object:
    raw = catalog()
    return {**raw, "metadata": {**raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("after", "bears"),
    [
        pytest.param(catalog(), False, id="nothing"),
        pytest.param(
            catalog({"lastUnpacked": "2026-01-01T00:00:00Z", "packageCount": 3}), False, id="what is only told"
        ),
        pytest.param(catalog({"phase": "Failing"}), False, id="the new content cannot be read, the old is served"),
        pytest.param(catalog({"contentDigest": "sha256:2"}), True, id="a new digest"),
        pytest.param(
            catalog({"resolvedSource": {"type": "image", "image": {"ref": "m@sha256:1"}}}), False, id="the same digest"
        ),
        pytest.param(catalog({"contentURL": "http://other/catalogs/c/all.json"}), True, id="another address"),
        pytest.param(catalog({"conditions": []}), True, id="not served any more"),
        pytest.param(catalog(priority=1), True, id="another priority"),
        pytest.param(catalog(availability="Unavailable"), True, id="shall not be served any more"),
        pytest.param(leaving(), True, id="going"),
        pytest.param(None, True, id="gone"),
    ],
)
def test_what_resolution_inputs(after: Object | None, bears: bool) -> None:
    assert (resolution_inputs(catalog()) != resolution_inputs(after)) is bears


def test_a_deployment_is_found_by_its_package() -> None:
    assert packages_of(dict(deployment("1.0.0").raw)) == ["p"]
    assert packages_of(dict(deployment("1.0.0", annotations={}).raw)) == []
    assert packages_of({"spec": {"template": {}}}) == []
