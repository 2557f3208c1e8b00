"""Where the client finds what a Catalog serves."""

from __future__ import annotations

import pytest

from operator_controller.catalog_cache.client import catalog_base_url


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:1/catalogs/c/all.json", "http://h:1/catalogs/c"),
        ("https://h/catalogs/all.json/all.json", "https://h/catalogs/all.json"),
        ("http://h/catalogs/c/", "http://h/catalogs/c"),
    ],
)
def test_the_base_url_of_a_catalog(url: str, base: str) -> None:
    assert catalog_base_url(url) == base
