"""Catalogs are added, changed, checked and deleted, by the rights of the user alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import Object, fields, logged_in, words
from tests.console import Browser

pytestmark = pytest.mark.console

KIND = "catalog.catalogd.operatorframework.io"
NEW = "/catalogs/new"
DIGEST = f"example.com/a@sha256:{'0' * 64}"


@pytest.fixture
def clean(kind: Cluster) -> Iterator[None]:
    yield
    kind.kubectl("delete", KIND, "--all")


def get(cluster: Cluster, name: str) -> Object:
    found: Object = json.loads(cluster.kubectl("get", KIND, name, "-o", "json"))
    return found


async def test_a_catalog_is_added_and_changed(kind: Cluster, admin: Browser, clean: None) -> None:
    sent = {**fields(await admin.get(NEW)), "name": "mine", "image": DIGEST, "action": "save"}
    wrong = await admin.post(NEW, {**sent, "pollInterval": "10m"})
    assert (wrong.status, "a digest never changes" in words(wrong)) == (422, True)
    refused = await admin.post(NEW, {**sent, "image": "Not An Image"})
    assert (refused.status, "must be an image reference" in words(refused)) == (422, True)
    checked = await admin.post(NEW, {**sent, "action": "check"})
    assert "Nothing was created." in words(checked)
    assert kind.kubectl("get", KIND) == ""
    made = await admin.post(NEW, {**sent, "priority": "5", "packages": "a, b"})
    assert (made.status, made.headers["Location"]) == (303, "/catalogs/mine")
    assert get(kind, "mine")["spec"]["packages"] == ["a", "b"]
    assert "a Catalog of this name exists already" in words(await admin.post(NEW, sent))
    path = "/catalogs/mine/edit"
    sent = {**fields(await admin.get(path)), "action": "save"}
    saved = await admin.post(path, {**sent, "image": "example.com/a:v1", "pollInterval": "1h", "packages": ""})
    assert saved.status == 303
    spec = get(kind, "mine")["spec"]
    assert spec["source"] == {"type": "image", "image": {"ref": "example.com/a:v1", "pollInterval": "1h"}}
    assert (spec["priority"], "packages" in spec) == (5, False)
    late = await admin.post(path, {**sent, "priority": "9"})
    assert (late.status, "was changed meanwhile" in words(late)) == (409, True)


async def test_a_catalog_of_another_type(kind: Cluster, admin: Browser, clean: None) -> None:
    sent = {**fields(await admin.get(NEW)), "name": "code", "type": "git", "action": "save"}
    refused = await admin.post(NEW, {**sent, "repository": "ftp://x", "ref": "main"})
    assert (refused.status, "repository: " in words(refused)) == (422, True)
    await admin.post(NEW, {**sent, "repository": "https://git.example.com/x.git", "ref": "main"})
    git = {"repository": "https://git.example.com/x.git", "ref": {"branch": "main"}}
    assert get(kind, "code")["spec"]["source"] == {"type": "git", "git": git}


async def test_a_catalog_is_checked_and_deleted(kind: Cluster, admin: Browser, clean: None) -> None:
    sent = {**fields(await admin.get(NEW)), "name": "gone", "image": DIGEST, "action": "save"}
    await admin.post(NEW, sent)
    await admin.post("/catalogs/gone/refresh", {}, page=NEW)
    assert "catalogd.operatorframework.io/refresh" in get(kind, "gone")["metadata"]["annotations"]
    page = await admin.get("/catalogs/gone/delete")
    assert "No Operator was installed from it." in words(page)
    assert (await admin.post("/catalogs/gone/delete", fields(page))).headers["Location"] == "/catalogs"
    assert kind.kubectl("get", KIND) == ""


async def test_who_may_not_sees_why_and_is_refused(kind: Cluster, admin: Browser, clean: None) -> None:
    viewer = await logged_in(admin, kind, "viewer")
    page = await viewer.get(NEW)
    assert "You may not create catalogs.catalogd.operatorframework.io" in words(page)
    sent = {**fields(page), "name": "no", "image": DIGEST, "action": "save"}
    assert (await viewer.post(NEW, sent)).status == 403
    assert kind.kubectl("get", KIND) == ""
    nobody = await logged_in(admin, kind, "developer")
    assert "Name of a Secret of olm-suite-system." in words(await nobody.get(NEW))
