"""The lists and the page of instances: what is there, what the user may see, and what an instance owns."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from tests.cluster.console.pages.conftest import GROUP, KIND, LIST, PLURAL, Object, fields, logged_in, words
from tests.console import Browser, state_in

pytestmark = pytest.mark.console

OPERATOR = {
    "apiVersion": "operators.operatorframework.io/v1alpha1",
    "kind": "Operator",
    "metadata": {"name": "forms-operator"},
    "spec": {"packageName": "databases"},
}
APIS = [{"group": GROUP, "version": "v1", "kind": KIND, "displayName": "Small Database"}]


@pytest.fixture
def operated(kind: Cluster) -> Iterator[Cluster]:
    """An Operator that provides the kind, and an instance that owns objects."""
    kind.kubectl("apply", "-f", "-", input=json.dumps(OPERATOR))
    installed = {"name": "databases.v1", "version": "1.0.0", "catalog": "", "channel": "stable", "apis": APIS}
    status = json.dumps({"status": {"installed": installed}})
    name = f"operator.{OPERATOR['apiVersion'].partition('/')[0]}"  # type: ignore[attr-defined]
    kind.kubectl("patch", name, "forms-operator", "--subresource=status", "--type=merge", "-p", status)
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": "db", "namespace": "forms"},
        "spec": {"size": 2},
    }
    kind.kubectl("apply", "-f", "-", input=json.dumps(body))
    found = json.loads(kind.kubectl("get", f"{PLURAL}.{GROUP}", "db", "-n", "forms", "-o", "json"))
    condition = {"type": "Ready", "status": "False", "reason": "Waiting", "message": "waits for <b>disks</b>"}
    state = json.dumps({"status": {"conditions": [condition]}})
    kind.kubectl("patch", f"{PLURAL}.{GROUP}", "db", "-n", "forms", "--subresource=status", "--type=merge", "-p", state)
    _owned(kind, "ConfigMap", "db-settings", found, data={"a": "b"})
    _owned(kind, "Secret", "db-password", found, stringData={"password": "hunter2"})
    _owned(kind, "Role", "db-role", found, "rbac.authorization.k8s.io/v1", rules=[])
    labels = {"app": "db"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "db", "image": "registry.example.com/db"}]},
    }
    _owned(
        kind,
        "Deployment",
        "db-server",
        found,
        "apps/v1",
        spec={"selector": {"matchLabels": labels}, "template": template},
    )
    yield kind
    owned = (
        "configmap/db-settings",
        "secret/db-password",
        "role/db-role",
        "pvc/db-data",
    )  # the garbage collector would delete those of the next test
    kind.kubectl("delete", f"{PLURAL}.{GROUP}/db", *owned, "-n", "forms", "--ignore-not-found")
    kind.kubectl("delete", name, "forms-operator")


def _owned(cluster: Cluster, kind: str, name: str, owner: Object, version: str = "v1", **content: object) -> None:
    reference = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "name": "db", "uid": owner["metadata"]["uid"]}
    metadata = {"name": name, "namespace": "forms", "ownerReferences": [reference]}
    body = {"apiVersion": version, "kind": kind, "metadata": metadata, **content}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(body))


async def test_the_kinds_of_operators_and_their_instances(operated: Cluster, admin: Browser) -> None:
    page = words(await admin.get("/instances"))
    assert "Small Database forms.example.com/v1, from forms-operator" in page
    assert "Namespace forms" not in page
    assert "db forms" in page
    assert "None in namespace default yet" in words(await admin.get("/instances?ns=default"))
    listed = await admin.get(f"{LIST}?ns=forms")
    assert f'href="{LIST}/forms/db?ns=forms"' in listed.text
    assert "Create Small Database" in words(listed)


async def test_a_kind_that_may_not_be_listed_is_a_line(operated: Cluster, admin: Browser) -> None:
    developer = await logged_in(admin, operated, "developer")
    assert "db" in words(await developer.get("/instances?ns=forms"))
    page = words(await developer.get("/instances"))
    assert f"{PLURAL}.{GROUP} cannot be listed" in page


async def test_the_page_of_an_instance(operated: Cluster, admin: Browser) -> None:
    page = await admin.get(f"{LIST}/forms/db")
    assert "Not ready" in words(page)
    assert "waits for &lt;b&gt;disks&lt;/b&gt;" in page.text
    objects = await admin.get(f"{LIST}/forms/db/objects")
    assert "ConfigMap db-settings" in words(objects)
    assert "Secret db-password" in words(objects)
    assert re.search("Deployment db-server (InProgress|Healthy)", words(objects))  # its controller may have run already
    assert 'href="/instances/rbac.authorization.k8s.io/v1/roles/forms/db-role">db-role</a>' in objects.text
    assert "/secrets/" not in objects.text
    assert "hunter2" not in objects.text
    assert "aHVudGVyMg" not in objects.text
    assert (await admin.get(f"{LIST}/forms/db/events")).status == 200
    yaml = await admin.get(f"{LIST}/forms/db/yaml/download")
    assert (yaml.headers["Content-Disposition"], "size: 2" in yaml.text) == ('attachment; filename="db.yaml"', True)


async def test_pages_of_instances_follow_the_cluster(operated: Cluster, admin: Browser) -> None:
    name = f"{PLURAL}.{GROUP}"
    page = await admin.get(f"{LIST}/forms/db")
    async with admin.live(f"{LIST}/forms/db", state_in(page.text)) as events:
        change = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        operated.kubectl("patch", name, "db", "-n", "forms", "--subresource=status", "--type=merge", "-p", change)
        async with asyncio.timeout(30):
            async for _, data in events:
                if "Ready" in json.dumps(data) and "Not ready" not in json.dumps(data):
                    break
    page = await admin.get(f"{LIST}?ns=forms")
    async with admin.live(f"{LIST}?ns=forms", state_in(page.text)) as events:
        operated.kubectl("delete", name, "db", "-n", "forms")
        await _shown(events, "None in namespace forms yet")


async def test_the_overview_follows_the_instances_and_the_kinds_of_its_operators(
    operated: Cluster, admin: Browser
) -> None:
    name, operator = f"{PLURAL}.{GROUP}", f"operator.{OPERATOR['apiVersion'].partition('/')[0]}"  # type: ignore[attr-defined]
    page = await admin.get("/instances?ns=forms")
    async with admin.live("/instances?ns=forms", state_in(page.text)) as events:
        operated.kubectl("delete", name, "db", "-n", "forms")
        await _shown(events, "None in namespace forms yet")
        body = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": "db", "namespace": "forms"}}
        operated.kubectl("apply", "-f", "-", input=json.dumps({**body, "spec": {"size": 2}}))
        await _shown(events, f"{LIST}/forms/db")
        nothing = json.dumps({"status": {"installed": {"apis": []}}})
        operated.kubectl("patch", operator, "forms-operator", "--subresource=status", "--type=merge", "-p", nothing)
        await _shown(events, "No installed Operator provides a kind")


async def _shown(events: AsyncIterator[tuple[str, Any]], text: str) -> None:
    """Wait until the page shows the text."""
    async with asyncio.timeout(30):
        async for _, data in events:
            if text in json.dumps(data):
                return
    pytest.fail(f"the stream ended before {text}")


async def test_an_instance_is_deleted(operated: Cluster, admin: Browser) -> None:
    path = f"{LIST}/forms/db/delete"
    sent = fields(await admin.get(path))
    assert (await admin.post(path, {**sent, "uid": "another"})).status == 409
    gone = await admin.post(path, sent)
    assert (gone.status, gone.headers["Location"]) == (303, LIST)
    assert operated.kubectl("get", f"{PLURAL}.{GROUP}", "db", "-n", "forms", "--ignore-not-found") == ""


async def test_without_operators_the_way_to_the_catalog_is_shown(kind: Cluster, admin: Browser) -> None:
    assert "Find an Operator" in words(await admin.get("/instances"))
