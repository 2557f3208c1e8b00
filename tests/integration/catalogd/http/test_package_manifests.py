"""PackageManifests over real HTTP on loopback, without an API server. Its clients are tested in tests/cluster."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalogd.http.package_manifests import CatalogFacts, PackageManifestRoutes
from catalogd.storage.catalog_store import CatalogStore
from olmkit.fbc.icon_types import MAX_ICON_BYTES
from tests.cluster.catalogd.conftest import package
from tests.integration.catalogd.catalog_server import DIGEST, Site, put, serving

OTHER, THIRD = "sha256:" + "2" * 64, "sha256:" + "3" * 64
UIDS = {"c": "uid-of-c", "vendor": "uid-of-vendor", "fresh": "uid-of-fresh"}
FACTS = {"c": CatalogFacts(0, "Community", "ACME"), "vendor": CatalogFacts(1)}
BASE = "/apis/packages.operators.coreos.com/v1"
LIST = f"{BASE}/namespaces/team-a/packagemanifests"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PICTURE = b"\x89PNG\r\n\x1a\n and so on"
DRAWING = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def icon(data: bytes, media_type: str) -> dict[str, str]:
    return {"base64data": base64.b64encode(data).decode(), "mediatype": media_type}


CONTENT = [
    package("p", "1.0.0", "1.1.0", icon=icon(PICTURE, "text/html")),
    package("q", "1.0.0", icon=icon(DRAWING, "image/png")),
    package("page", "1.0.0", icon=icon(b"<html><script>alert(1)</script>", "image/svg+xml")),
    package("large", "1.0.0", icon=icon(PICTURE + b"x" * MAX_ICON_BYTES, "image/png")),
    package("<b>&\u202eevil", "1.0.0"),
    package("many", *(f"1.{number}.0" for number in range(2_000))),
]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """The Catalogs `c` and `vendor`, which has the higher priority and offers p alone; of `gone` nothing is served."""
    store = CatalogStore(tmp_path)
    await put(store, "c", DIGEST, [blob for blobs in CONTENT for blob in blobs])
    for name in ("vendor", "gone"):
        await put(store, name, OTHER, [*package("p", "2.0.0"), *package("secret", "1.0.0")])
    served = store.get("vendor")
    assert served is not None
    await store.put("vendor", replace(served.record, packages=("p",)))
    routes = PackageManifestRoutes(
        store, lambda name: UIDS.get(name, ""), lambda name: FACTS.get(name, CatalogFacts()), "olm-suite-system"
    )
    async with serving(store, mount=routes.add_routes) as site:
        yield site


async def get(site: Site, path: str, **headers: str) -> Any:
    status, body, _ = await site.ask(path, **headers)
    assert status == 200, body
    return json.loads(body)


async def test_all_packages_of_all_catalogs_are_listed_in_any_namespace(site: Site) -> None:
    found = await get(site, LIST)
    assert (found["apiVersion"], found["kind"]) == ("packages.operators.coreos.com/v1", "PackageManifestList")
    names = [(each["metadata"]["name"], each["status"]["catalogSource"]) for each in found["items"]]
    assert names == [
        ("<b>&\u202eevil", "c"), ("large", "c"), ("many", "c"), ("p", "c"), ("p", "vendor"), ("page", "c"), ("q", "c"),
    ]  # fmt: skip
    assert {each["metadata"]["namespace"] for each in found["items"]} == {"team-a"}
    everywhere = await get(site, f"{BASE}/packagemanifests")
    assert {each["metadata"]["namespace"] for each in everywhere["items"]} == {"olm-suite-system"}


async def test_one_package_comes_from_the_catalog_of_the_highest_priority(site: Site) -> None:
    found = await get(site, f"{LIST}/p")
    assert found["metadata"] == {
        "name": "p",
        "namespace": "team-a",
        "labels": {"catalog": "vendor", "catalog-namespace": "team-a"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    status = found["status"]
    assert (status["catalogSource"], status["catalogSourceDisplayName"]) == ("vendor", "vendor")
    assert status["catalogSourceNamespace"] == "team-a"
    assert (status["packageName"], status["defaultChannel"]) == ("p", "stable")
    assert status["channels"][0]["currentCSV"] == "p.v2.0.0"
    listed = await get(site, f"{LIST}?labelSelector=catalog%3Dc&fieldSelector=metadata.name%3Dp")
    (other,) = listed["items"]
    assert (other["status"]["catalogSourceDisplayName"], other["status"]["catalogSourcePublisher"]) == (
        "Community",
        "ACME",
    )
    assert [each["version"] for each in other["status"]["channels"][0]["entries"]] == ["1.1.0", "1.0.0"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("labelSelector=catalog%3Dvendor", ["p"], id="a catalog"),
        pytest.param("labelSelector=catalog%20in%20(vendor,x)", ["p"], id="one of some catalogs"),
        pytest.param("labelSelector=catalog%21%3Dc,catalog", ["p"], id="not a catalog"),
        pytest.param("fieldSelector=metadata.name%3Dq", ["q"], id="a name"),
        pytest.param("fieldSelector=metadata.namespace%3Dteam-b", [], id="another namespace"),
        pytest.param("labelSelector=catalog%3Dnobody", [], id="no catalog"),
        pytest.param(
            "limit=500&resourceVersion=0&timeoutSeconds=5&labelSelector=catalog%3Dvendor&x=1", ["p"], id="other options"
        ),
    ],
)
async def test_what_is_selected(site: Site, query: str, names: list[str]) -> None:
    assert [each["metadata"]["name"] for each in (await get(site, f"{LIST}?{query}"))["items"]] == names


async def test_a_table(site: Site) -> None:
    found = await get(site, f"{LIST}?labelSelector=catalog%3Dvendor", Accept=TABLE)
    assert found["kind"] == "Table"
    assert [each["name"] for each in found["columnDefinitions"]] == ["Name", "Catalog", "Age"]
    (row,) = found["rows"]
    assert row["cells"] == ["p", "vendor", "2026-01-02T03:04:05Z"]
    assert (row["object"]["kind"], row["object"]["metadata"]["name"]) == ("PartialObjectMetadata", "p")
    assert (await get(site, f"{LIST}/q", Accept=TABLE))["rows"][0]["cells"][:2] == ["q", "c"]
    assert (await get(site, LIST, Accept="application/json"))["kind"] == "PackageManifestList"


@pytest.mark.parametrize("path", [LIST, f"{LIST}/p", f"{LIST}/p/icon"])
async def test_what_a_client_has_is_not_sent_again(site: Site, path: str) -> None:
    path = path.replace("/p/icon", "/q/icon")
    status, body, headers = await site.ask(path)
    assert (status, headers["Content-Length"]) == (200, str(len(body)))
    head, nothing, head_headers = await site.ask(path, "HEAD")
    assert (head, nothing, head_headers["ETag"]) == (200, b"", headers["ETag"])
    assert (await site.ask(path, If_None_Match=headers["ETag"]))[:2] == (304, b"")
    assert (await site.ask(path, If_Match='"other"'))[0] == 412
    await put(site.catalog_store, "c", THIRD, [*package("p", "2.0.0"), *package("q", "1.0.0", icon=icon(PICTURE, ""))])
    FACTS["vendor"] = CatalogFacts(1, "Renamed")
    try:
        assert (await site.ask(path, If_None_Match=headers["ETag"]))[0] == 200
    finally:
        FACTS["vendor"] = CatalogFacts(1)


async def test_a_table_is_another_representation(site: Site) -> None:
    tag = (await site.ask(LIST))[2]["ETag"]
    status, _, headers = await site.ask(LIST, Accept=TABLE, If_None_Match=tag)
    assert (status, headers["Vary"]) == (200, "Accept")


@pytest.mark.parametrize(
    ("name", "media_type", "is_attached"),
    [
        pytest.param("p", None, False, id="the preferred catalog has no icon"),
        pytest.param("q", "image/svg+xml", False, id="a drawing with a script that is said to be a picture"),
        pytest.param("page", "application/octet-stream", True, id="a page that is said to be a drawing"),
        pytest.param("large", None, False, id="a picture that is too large"),
    ],
)
async def test_icons_are_what_their_bytes_are(site: Site, name: str, media_type: str | None, is_attached: bool) -> None:
    status, body, headers = await site.ask(f"{LIST}/{name}/icon?resourceVersion=p.stable.p.v1")
    if media_type is None:
        assert (status, json.loads(body)["reason"]) == (404, "NotFound")
        return
    assert (status, headers["Content-Type"]) == (200, media_type)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Content-Security-Policy"].endswith("; sandbox")
    assert ("Content-Disposition" in headers) is is_attached


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        pytest.param(f"{LIST}/nobody", 404, "NotFound", id="no such package"),
        pytest.param(f"{LIST}/secret", 404, "NotFound", id="a package that the Catalog does not offer"),
        pytest.param(f"{LIST}/nobody/icon", 404, "NotFound", id="an icon of no package"),
        pytest.param(f"{LIST}/..%2f..%2fall.jsonl", 404, "NotFound", id="a path"),
        pytest.param(f"{BASE}/namespaces/%3Cb%3E/packagemanifests", 400, "BadRequest", id="no name of a namespace"),
        pytest.param(f"{LIST}?watch=true", 405, "MethodNotAllowed", id="a watch"),
        pytest.param(f"{LIST}?labelSelector=((", 400, "BadRequest", id="no selector"),
        pytest.param(f"{LIST}?labelSelector={'a' * 2_000}", 400, "BadRequest", id="a long selector"),
        pytest.param(f"{LIST}?fieldSelector=status.x%3Dy", 400, "BadRequest", id="another field"),
    ],
)
async def test_what_is_refused_is_a_status(site: Site, path: str, status: int, reason: str) -> None:
    code, body, headers = await site.ask(path)
    found = json.loads(body)
    assert (code, found["code"], found["kind"], found["reason"]) == (status, status, "Status", reason)
    assert headers["Content-Type"] == "application/json"


async def test_what_a_client_discovers(site: Site) -> None:
    groups = await get(site, "/apis")
    assert [each["name"] for each in groups["groups"]] == ["packages.operators.coreos.com"]
    assert (await get(site, "/apis/packages.operators.coreos.com"))["kind"] == "APIGroup"
    resources = (await get(site, BASE))["resources"]
    assert {each["name"]: each["verbs"] for each in resources} == {
        "packagemanifests": ["get", "list"],
        "packagemanifests/icon": ["get"],
    }


async def test_content_that_is_damaged_is_an_error_and_no_half_answer(site: Site) -> None:
    served = site.catalog_store.get("c")
    assert served is not None
    served.content.manifests_path.unlink()
    code, body, headers = await site.ask(LIST)
    assert (code, json.loads(body)["reason"], headers["Retry-After"]) == (503, "ServiceUnavailable", "2")
    assert (await site.ask(f"{LIST}/p"))[0] == 200, "another catalog is not affected"
