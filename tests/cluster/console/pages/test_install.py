"""An Operator is installed by a form and a review: what is wrong stands at its field, and nothing is written before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import Object, fields, logged_in, words
from tests.console import Browser, state_in

KIND = "operator.operators.operatorframework.io"
PATH = "/catalog/shop/database-operator/install"
CATALOG = "catalog.catalogd.operatorframework.io"
CATALOGD = "catalogd.operatorframework.io/v1alpha1"


@pytest.fixture(scope="module")
def offered(kind: Cluster) -> Iterator[Cluster]:
    """A package of a Catalog that catalogd does not serve: what its Package object has must do."""
    digest = "sha256:" + "0" * 64
    source = {"type": "image", "image": {"ref": f"example.com/a@{digest}"}}
    catalog = {"apiVersion": CATALOGD, "kind": "Catalog", "metadata": {"name": "shop"}, "spec": {"source": source}}
    kind.kubectl("apply", "-f", "-", input=json.dumps(catalog))
    serving = {"type": "Serving", "status": "True", "reason": "Available", "message": "m"}
    status = {
        "contentURL": "https://example.com/catalogs/shop/all.json",
        "contentDigest": digest,
        "packages": "database-operator",
        "conditions": [{**serving, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    body = json.dumps({"status": status})
    kind.kubectl("patch", CATALOG, "shop", "--subresource=status", "--type=merge", "-p", body)
    entries = [{"name": "database-operator.v1.0.0"}]
    metadata = {
        "name": "shop-database-operator",
        "labels": {"catalog": "shop", "package": "database-operator"},
        "annotations": {"catalogd.operatorframework.io/versions": "1.1.0,1.0.0"},
    }
    spec = {
        "catalog": {"name": "shop"},
        "packageName": "database-operator",
        "channels": [{"name": name, "entries": entries} for name in ("stable", "beta")],
        "defaultChannel": "stable",
    }
    package = {"apiVersion": CATALOGD, "kind": "Package", "metadata": metadata, "spec": spec}
    kind.kubectl("apply", "-f", "-", input=json.dumps(package))
    yield kind
    kind.kubectl("delete", "package.catalogd.operatorframework.io", "shop-database-operator")
    kind.kubectl("delete", CATALOG, "shop")


@pytest.fixture
def clean(offered: Cluster) -> Iterator[None]:
    yield
    offered.kubectl("delete", KIND, "--all")


def get(cluster: Cluster, name: str) -> Object:
    found: Object = json.loads(cluster.kubectl("get", KIND, name, "-o", "json", "--show-managed-fields"))
    return found


async def test_an_operator_is_installed_from_the_form(offered: Cluster, admin: Browser, clean: None) -> None:
    page = await admin.get(PATH)
    assert "Some of this is not known." in words(page)
    sent = fields(page)
    assert (sent["name"], sent["approval"]) == ("database-operator", "Manual")
    asked = {**sent, "channel": "beta", "namespace": "databases", "account": "installer", "deletionPolicy": "KeepCRDs"}
    wrong = await admin.post(f"{PATH}/review", {**asked, "namespace": "kube-system", "name": "A", "env": "["})
    assert wrong.status == 422
    for text in ("belong to Kubernetes", "a name has lower-case letters", "Environment: line"):
        assert text in words(wrong)
    by_server = await admin.post(f"{PATH}/review", {**asked, "catalog": "x" * 300})
    assert by_server.status in (200, 422)
    review = await admin.post(f"{PATH}/review", asked)
    assert review.status == 200
    for text in (
        "Install without preview",
        "ServiceAccount databases/installer",
        "kubectl apply -f -",
        "Argo CD",
        "Kustomization",
    ):
        assert text in words(review)
    assert offered.kubectl("get", KIND) == ""
    again = await admin.post(PATH, fields(review))
    assert "Install without preview" in words(again)
    assert offered.kubectl("get", KIND) == ""
    done = await admin.post(PATH, {**fields(review), "agree": "yes"})
    assert (done.status, done.headers["Location"]) == (303, "/operators/database-operator")
    found = get(offered, "database-operator")
    assert found["spec"] == {
        "packageName": "database-operator",
        "channel": "beta",
        "approval": "Manual",
        "install": {"namespace": "databases", "deletionPolicy": "KeepCRDs", "serviceAccount": {"name": "installer"}},
    }
    assert [each["manager"] for each in found["metadata"]["managedFields"]] == ["olm-console"]
    assert "annotations" not in found["metadata"]  # the newest version was not known: nothing was approved
    page = await admin.get(PATH)
    assert "Operator database-operator manages it." in words(page)
    assert 'href="/operators/database-operator"' in page.text
    taken = await admin.post(f"{PATH}/review", fields(page))
    assert "an Operator of this name exists already" in words(taken)


async def test_what_the_api_server_refuses_stands_at_its_field(admin: Browser, offered: Cluster) -> None:
    sent = fields(await admin.get(PATH))
    answer = await admin.post(f"{PATH}/review", {**sent, "channel": "not a channel"})
    assert (answer.status, "channel: " in words(answer)) == (422, True)


async def test_who_may_not_sees_why_and_is_refused(offered: Cluster, admin: Browser) -> None:
    viewer = await logged_in(admin, offered, "viewer")
    review = await viewer.post(f"{PATH}/review", fields(await viewer.get(PATH)))
    assert "cannot patch resource" in words(review) or "cannot create resource" in words(review)
    assert 'aria-disabled="true"' in review.text
    assert (await viewer.post(PATH, {**fields(review), "agree": "yes"})).status == 403
    assert offered.kubectl("get", KIND) == ""


@pytest.mark.parametrize("path", ["/catalog/shop/gone/install", "/catalog/gone/database-operator/install"])
async def test_a_package_that_is_not_offered(admin: Browser, offered: Cluster, path: str) -> None:
    assert (await admin.get(path)).status == 404


async def test_the_form_says_what_it_would_install_and_follows_what_that_rests_on(
    offered: Cluster, admin: Browser
) -> None:
    page = await admin.get(PATH)
    for text in ("This installs", "database-operator 1.1.0", "Not computed"):
        assert text in words(page)
    assert f'data-page="{PATH}/basis"' in page.text
    assert "data-signal" in page.text
    again = await admin.post(f"{PATH}/preview", {**fields(page), "follow": "pinned", "version": "1.0.0", "name": "A"})
    assert (again.status, "database-operator 1.0.0" in words(again)) == (200, False)
    assert "version: 1.0.0" in words(again), "the commands follow the form"
    basis = await admin.get(f"{PATH}/basis")
    assert f"shop sha256:{'0' * 64}" in words(basis)
    patch = json.dumps({"status": {"contentDigest": "sha256:" + "1" * 64}})
    async with admin.live(f"{PATH}/basis", state_in(basis.text)) as messages, asyncio.timeout(20):
        assert (await anext(messages))[0] == "hello"
        offered.kubectl("patch", CATALOG, "shop", "--subresource=status", "--type=merge", "-p", patch)
        name, data = await anext(messages)
    assert (name, "1" * 64 in str(data)) == ("parts", True)


async def test_a_preview_is_asked_for_by_the_own_pages_alone(admin: Browser, offered: Cluster) -> None:
    sent = fields(await admin.get(PATH))
    foreign = await admin.post(f"{PATH}/preview", sent, headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status == 403
