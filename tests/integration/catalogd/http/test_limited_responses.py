"""What spec.packages leaves of the responses over real HTTP, and how caches notice that the list has changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from catalogd.storage.catalog_store import CatalogStore
from tests.cluster.catalogd.conftest import package
from tests.integration.catalogd.catalog_server import DIGEST, Site, put, serving

PICTURE = {"base64data": "aGVsbG8=", "mediatype": "image/png"}
GVK = {"type": "olm.gvk", "value": {"group": "example.com", "version": "v1", "kind": "Party"}}
OTHER = "sha256:" + "2" * 64
CHANGED, CHANGED_DATE = "2026-02-03T04:05:06Z", "Tue, 03 Feb 2026 04:05:06 GMT"
SUMMARIES, RESOLUTION = "api/v1/packages", "api/v1/resolution"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A server with a catalog `c` of the packages p, q and r, all with an icon and the same kind."""
    catalog_store = CatalogStore(tmp_path)
    found = [package(name, "1.0.0", icon=PICTURE) for name in "pqr"]
    for blobs in found:
        blobs[2]["properties"].append(GVK)
    await put(catalog_store, "c", DIGEST, [blob for blobs in found for blob in blobs])
    async with serving(catalog_store) as site:
        yield site


async def select(site: Site, *names: str, changed: str = CHANGED) -> None:
    """Offer these packages; all of them without names."""
    served = site.catalog_store.get("c")
    assert served is not None
    await site.catalog_store.put("c", replace(served.record, packages=names or None, packages_changed=changed))


async def listed(site: Site, path: str) -> list[str]:
    """The packages in a response."""
    status, body, headers = await site.ask(f"/catalogs/c/{path}")
    assert (status, headers["Olm-Catalog-Digest"], headers["Content-Length"]) == (200, DIGEST, str(len(body)))
    if path.startswith(SUMMARIES):
        return [each["name"] for each in json.loads(body)["packages"]]
    return [json.loads(line)["package"] for line in body.splitlines()]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param((), ["p", "q", "r"], id="all without a list"),
        pytest.param(("r", "p"), ["p", "r"], id="some of them, in the order of the catalog"),
        pytest.param(("q", "r"), ["q", "r"], id="some without the first"),
        pytest.param(("q",), ["q"], id="one"),
        pytest.param(("p", "q", "r"), ["p", "q", "r"], id="all by name"),
        pytest.param(("q", "z"), ["q"], id="one, and one that the catalog lacks"),
        pytest.param(("z",), [], id="none that the catalog has"),
    ],
)
async def test_a_list_limits_summaries_and_documents(site: Site, names: tuple[str, ...], expected: list[str]) -> None:
    await select(site, *names)
    assert await listed(site, SUMMARIES) == expected
    assert await listed(site, RESOLUTION) == expected
    assert await listed(site, f"{RESOLUTION}?provides=example.com/Party") == expected
    assert await listed(site, f"{RESOLUTION}?all=true") == ["p", "q", "r"]
    assert await listed(site, f"{RESOLUTION}?provides=example.com/Party&all=true") == ["p", "q", "r"]


async def test_a_list_does_not_limit_the_catalog_itself(site: Site) -> None:
    paths = [f"/catalogs/c/{path}" for path in ("all.json", "api/v1/all", "api/v1/metas", "api/v1/metas?package=p")]
    before = [await site.ask(path) for path in paths]
    await select(site, "q")
    for path, (status, body, headers) in zip(paths, before, strict=True):
        found = await site.ask(path, If_None_Match=headers["ETag"])
        assert (found[0], found[2]["Last-Modified"]) == (304, headers["Last-Modified"])
        assert (await site.ask(path))[:2] == (status, body)


@pytest.mark.parametrize("path", ["api/v1/packages/p/icon", f"{RESOLUTION}?package=p"])
async def test_a_package_that_the_list_does_not_name_is_refused_and_the_reason_said(site: Site, path: str) -> None:
    assert (await site.ask(f"/catalogs/c/{path}"))[0] == 200
    await select(site, "q")
    status, body, _ = await site.ask(f"/catalogs/c/{path}")
    assert (status, json.loads(body)) == (404, {"error": "spec.packages of the Catalog does not name the package"})
    assert (await site.ask(f"/catalogs/c/{RESOLUTION}?package=p&all=true"))[0] == 200


@pytest.mark.parametrize("path", [SUMMARIES, RESOLUTION, f"{RESOLUTION}?provides=example.com/Party"])
async def test_a_response_that_a_list_limits_changes_its_tag_and_its_date_with_the_list(site: Site, path: str) -> None:
    path = f"/catalogs/c/{path}"
    seen = [(await site.ask(path))[2]]
    for names, changed in ((("q",), CHANGED), (("q", "r"), "2026-02-03T04:05:07Z"), ((), "2026-02-03T04:05:08Z")):
        await select(site, *names, changed=changed)
        stale = await site.ask(path, If_None_Match=seen[-1]["ETag"])
        assert stale[0] == 200
        assert (await site.ask(path, If_Modified_Since=seen[-1]["Last-Modified"]))[0] == 200
        assert (await site.ask(path, If_None_Match=stale[2]["ETag"]))[0] == 304
        seen.append(stale[2])
    tags = [each["ETag"] for each in seen]
    assert tags[0] == tags[-1]
    assert len({*tags}) == 3
    assert seen[1]["Last-Modified"] == CHANGED_DATE


@pytest.mark.parametrize("path", [SUMMARIES, RESOLUTION, f"{RESOLUTION}?provides=example.com/Party"])
async def test_a_response_that_a_list_limits_says_so(site: Site, path: str) -> None:
    header = "Olm-Catalog-Packages"
    assert header not in (await site.ask(f"/catalogs/c/{path}"))[2]
    await select(site, "p", "q", "r")
    limited = (await site.ask(f"/catalogs/c/{path}"))[2]
    assert limited[header] == "selected"
    assert (await site.ask(f"/catalogs/c/{path}", If_None_Match=limited["ETag"]))[2][header] == "selected"
    if path.startswith(RESOLUTION):
        everything = f"{path}{'&' if '?' in path else '?'}all=true"
        assert header not in (await site.ask(f"/catalogs/c/{everything}"))[2]


async def test_ranges_of_a_limited_response(site: Site) -> None:
    await select(site, "p", "r")
    _, whole, _ = await site.ask(f"/catalogs/c/{SUMMARIES}")
    status, part, headers = await site.ask(f"/catalogs/c/{SUMMARIES}", Range="bytes=5-60")
    assert (status, part, headers["Content-Range"]) == (206, whole[5:61], f"bytes 5-60/{len(whole)}")


async def test_replaced_content_is_offered_by_the_list_of_today(site: Site) -> None:
    await put(site.catalog_store, "c", OTHER, package("q", "2.0.0"))
    await select(site, "q")
    assert await listed(site, f"{SUMMARIES}?digest={DIGEST}") == ["q"]
    assert (await site.ask(f"/catalogs/c/{RESOLUTION}?package=p&digest={DIGEST}"))[0] == 404


async def test_a_list_survives_a_restart(site: Site, tmp_path: Path) -> None:
    await select(site, "q")
    restarted = CatalogStore(tmp_path)
    await restarted.restore()
    found, before = restarted.get("c"), site.catalog_store.get("c")
    assert found is not None
    assert before is not None
    assert found.record == before.record


@pytest.mark.parametrize("value", ["yes", "TRUE", "1"])
async def test_all_is_true_or_false(site: Site, value: str) -> None:
    status, body, _ = await site.ask(f"/catalogs/c/{RESOLUTION}?all={value}")
    assert (status, json.loads(body)) == (400, {"error": "all must be true or false"})
