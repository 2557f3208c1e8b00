"""The catalog, its packages and the Catalogs at the real API server, while catalogd is away."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from olmkit.api.package_annotations import CHANNELS_ANNOTATION, LATEST_VERSION_ANNOTATION
from olmkit.api.packages import CATALOG_LABEL, PACKAGE_LABEL
from tests.cluster.console.pages.conftest import logged_in, words
from tests.console import Browser

pytestmark = pytest.mark.console

CATALOGS, PACKAGES = "catalogs.catalogd.operatorframework.io", "packages.catalogd.operatorframework.io"
ATTACK = "<script>alert(1)</script>"


@pytest.fixture
def shop(kind: Cluster) -> Iterator[Cluster]:
    """A Catalog that cannot be read any more, and a package of it whose publisher attacks."""
    catalog = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": "shop"},
        "spec": {"priority": 7, "source": {"type": "image", "image": {"ref": "registry.example/shop:v1"}}},
    }
    ready = {"type": "Ready", "status": "True", "reason": "ServingOldContent", "message": f"older {ATTACK}"}
    condition = {**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    entries = [{"name": "etcd.v1.0.0"}, {"name": "etcd.v1.1.0", "replaces": "etcd.v1.0.0"}]
    package = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Package",
        "metadata": {
            "name": "shop-etcd",
            "labels": {CATALOG_LABEL: "shop", PACKAGE_LABEL: "etcd"},
            "annotations": {LATEST_VERSION_ANNOTATION: "1.1.0", CHANNELS_ANNOTATION: "stable"},
        },
        "spec": {
            "catalog": {"name": "shop"},
            "packageName": "etcd",
            "description": f"# A store {ATTACK}\n[x](javascript:alert(1))",
            "defaultChannel": "stable",
            "channels": [{"name": "stable", "entries": entries}],
        },
    }
    for body in (catalog, package):
        kind.kubectl("apply", "-f", "-", input=json.dumps(body))
    patch = json.dumps({"status": {"observedGeneration": 1, "conditions": [condition], "packageCount": 1}})
    kind.kubectl("patch", CATALOGS, "shop", "--subresource=status", "--type=merge", "-p", patch)
    yield kind
    kind.kubectl("delete", CATALOGS, "shop")
    kind.kubectl("delete", PACKAGES, "shop-etcd", "--ignore-not-found")


async def test_cards_are_there_without_catalogd_and_the_page_says_what_is_missing(
    shop: Cluster, admin: Browser
) -> None:
    page = await admin.get("/catalog")

    assert page.status == 200
    assert "1 package from 1 catalog." in words(page)
    assert "Catalog shop serves older content." in words(page)
    assert "are not shown for catalog shop" in words(page)
    assert 'href="/catalog/shop/etcd"' in page.text
    assert "<script>alert" not in page.text
    assert 'href="javascript' not in page.text


async def test_a_package_is_shown_without_catalogd(shop: Cluster, admin: Browser) -> None:
    page = await admin.get("/catalog/shop/etcd")

    assert page.status == 200
    assert "The catalog cannot be read." in words(page)
    assert "A store" in words(page)
    assert 'href="/catalog/shop/etcd/install?version=1.1.0"' in page.text
    assert 'href="javascript' not in page.text
    assert "<script>alert" not in page.text


@pytest.mark.parametrize(
    ("path", "status", "expected"),
    [
        pytest.param("/catalog/shop/etcd/versions", 200, "Head of stable", id="versions"),
        pytest.param("/catalog/shop/etcd/requirements", 200, "Nothing that its catalog names.", id="requirements"),
        pytest.param("/catalog/shop/etcd/permissions", 200, "may do on your cluster", id="permissions"),
        pytest.param("/catalog/shop/etcd/apis", 200, "no kinds that its catalog describes", id="kinds"),
        pytest.param(
            "/catalog/shop/etcd?version=9", 404, "has no version 9: it has 1.1.0, 1.0.0", id="an unknown version"
        ),
        pytest.param("/catalog/shop/etcd?channel=x", 404, "has no channel x: it has stable", id="an unknown channel"),
        pytest.param("/catalog/shop/none", 404, "none", id="an unknown package"),
        pytest.param("/catalog/gone/etcd", 404, "there is no Catalog gone", id="an unknown catalog"),
        pytest.param("/catalog?q=etdc", 200, "etcd", id="a word with two letters swapped"),
        pytest.param(
            "/catalog?q=nothing-like-it", 200, "No package matches nothing-like-it", id="words that nothing has"
        ),
        pytest.param("/catalog?type=odd", 400, "type: odd is none of", id="a type that is none"),
        pytest.param("/catalog?page=0", 400, "page: 0 is no number", id="a page that is none"),
        pytest.param("/catalogs", 200, "registry.example/shop:v1", id="the Catalogs"),
        pytest.param("/catalogs/shop", 200, "Priority 7", id="a Catalog"),
        pytest.param("/catalogs/shop/problems", 200, "None.", id="its problems"),
        pytest.param("/catalogs/shpo", 404, "There is no Catalog shpo.", id="an unknown Catalog"),
    ],
)
async def test_the_pages_of_a_catalog(shop: Cluster, admin: Browser, path: str, status: int, expected: str) -> None:
    page = await admin.get(path)

    assert (page.status, expected in words(page)) == (status, True)


async def test_a_package_without_an_icon_has_letters(shop: Cluster, admin: Browser) -> None:
    icon = await admin.get("/icons/shop/etcd")

    assert (icon.status, icon.headers["Content-Type"]) == (200, "image/svg+xml")
    assert ">Et</text>" in icon.text
    assert "sandbox" in icon.headers["Content-Security-Policy"]
    assert icon.headers["X-Content-Type-Options"] == "nosniff"


async def test_who_may_not_change_sees_why(shop: Cluster, admin: Browser) -> None:
    viewer = await logged_in(admin, shop, "viewer")

    assert "You may not create operators.operators.operatorframework.io" in words(
        await viewer.get("/catalog/shop/etcd")
    )
    assert f"You may not create {CATALOGS}" in words(await viewer.get("/catalogs"))
    assert f"You may not delete {CATALOGS} shop" in words(await viewer.get("/catalogs/shop"))
    assert "aria-disabled" not in (await admin.get("/catalogs")).text


async def test_without_a_catalog_the_page_says_what_to_do(kind: Cluster, admin: Browser) -> None:
    assert "there is no Catalog yet: create one" in words(await admin.get("/catalog"))
    assert "There is no Catalog yet." in words(await admin.get("/catalogs"))


async def test_the_first_page_leads_to_the_catalog(kind: Cluster, admin: Browser) -> None:
    page = await admin.get("/")

    assert (page.status, page.headers["Location"]) == (303, "/catalog")
