"""What is read from the status of a Catalog."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.catalogs import Catalog, package_names, served_digest
from tests.unit.operator_controller.operator.worlds import catalog


@pytest.mark.parametrize(
    ("status", "digest"),
    [
        pytest.param({}, "sha256:1", id="served"),
        pytest.param({"conditions": []}, "", id="no condition"),
        pytest.param({"contentURL": None}, "", id="without an address"),
        pytest.param({"contentDigest": None}, "", id="without a digest"),
    ],
)
def test_the_digest_that_is_served(status: dict[str, Any], digest: str) -> None:
    assert served_digest(Catalog.load(catalog(status))) == digest


def test_a_catalog_that_is_being_deleted_serves_nothing() -> None:
    raw = catalog()
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert served_digest(Catalog.load(raw)) == ""


@pytest.mark.parametrize(
    ("text", "names"), [(None, ()), ("", ()), ("a", ("a",)), ("a,b", ("a", "b")), ("a, b,", ("a", "b"))]
)
def test_the_packages_of_the_status(text: str | None, names: tuple[str, ...]) -> None:
    assert package_names(Catalog.load(catalog({"packages": text}))) == names
