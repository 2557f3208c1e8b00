"""Publishing on the real API server: the lock, fields that go, defaults that stay, and Events."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import catalogs
from olmkit.client import Client
from olmkit.conditions import Transition
from olmkit.errors import Conflict, NotFound
from olmkit.publish import EVENT, Publisher
from tests.cluster.olmkit.conftest import Object

BROKEN = Transition("Ready", "False", "NotServed", "nothing is served")


class Told:
    """Remembers own writes, as an informer does."""

    def __init__(self) -> None:
        self.last: Object = {}

    def saw(self, obj: Object) -> None:
        self.last = obj


def condition(status: str = "True", **more: Any) -> Object:
    facts = {"type": "Ready", "status": status, "reason": "Succeeded", "message": "served", "observedGeneration": 1}
    return {**facts, "lastTransitionTime": "2026-01-01T00:00:00Z", **more}


@pytest.fixture
async def catalog(client: Client, definitions: Cluster) -> AsyncIterator[Object]:
    """A new Catalog, which nobody reconciles."""
    name = f"runtime-{uuid.uuid4().hex[:10]}"
    spec = {"source": {"type": "image", "image": {"ref": "registry.example.com/catalog:v1"}}}
    obj = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": {"name": name}, "spec": spec}
    yield await client.create(catalogs.KIND, obj)
    await client.delete(catalogs.KIND, name)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def publish(client: Client, told: Told) -> Publisher:
    return Publisher(client, catalogs.KIND, "catalogd", told)


async def test_a_new_object_has_the_default_status_and_the_first_one_replaces_it(
    catalog: Object, publish: Publisher, told: Told
) -> None:
    assert catalog["status"] == {"observedGeneration": -1}
    status = {"observedGeneration": 1, "conditions": [condition()], "contentURL": "http://catalog"}
    await publish(catalog, status)
    assert told.last["status"] == status
    assert told.last["spec"] == catalog["spec"]


async def test_what_is_said_no_more_goes(catalog: Object, publish: Publisher, told: Told) -> None:
    other = condition(type="Serving")
    await publish(catalog, {"observedGeneration": 1, "conditions": [condition(), other], "contentURL": "http://x"})
    await publish(told.last, {"observedGeneration": 1, "conditions": [condition()]})
    assert told.last["status"] == {"observedGeneration": 1, "conditions": [condition()]}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"observedGeneration": 1, "conditions": [condition()]}, id="a status"),
        pytest.param({"observedGeneration": 1, "conditions": []}, id="a status with an empty list"),
        pytest.param({"observedGeneration": -1}, id="the default"),
    ],
)
async def test_the_same_status_is_not_written_again(
    client: Client, catalog: Object, publish: Publisher, told: Told, status: Object
) -> None:
    await publish(catalog, status)
    first = await client.get(catalogs.KIND, catalog["metadata"]["name"])
    told.last = {}
    await publish(first, status)
    assert told.last == {}, "nothing was sent"
    assert await client.get(catalogs.KIND, catalog["metadata"]["name"]) == first


async def test_a_pass_over_an_old_object_overwrites_nothing(
    client: Client, catalog: Object, publish: Publisher, told: Told
) -> None:
    newer = {"observedGeneration": 1, "conditions": [condition()]}
    await publish(catalog, newer)
    with pytest.raises(Conflict):
        await publish(catalog, {"observedGeneration": 1, "conditions": [condition("False")]}, [BROKEN])
    assert (await client.get(catalogs.KIND, catalog["metadata"]["name"]))["status"] == newer
    assert await events(client, catalog) == [], "what was not written did not happen"


async def test_an_object_that_is_gone_or_another_by_now_is_not_found_or_a_conflict(
    client: Client, catalog: Object, publish: Publisher
) -> None:
    name = catalog["metadata"]["name"]
    await client.delete(catalogs.KIND, name)
    with pytest.raises(NotFound):
        await publish(catalog, {"observedGeneration": 1})
    again = {key: catalog[key] for key in ("apiVersion", "kind", "spec")}
    await client.create(catalogs.KIND, {**again, "metadata": {"name": name}})
    with pytest.raises(Conflict):
        await publish(catalog, {"observedGeneration": 1})


async def test_a_transition_is_an_event_once(client: Client, catalog: Object, publish: Publisher) -> None:
    name = catalog["metadata"]["name"]
    long = Transition("Stalled", "True", "Blocked", "é" * 2000)
    await publish(catalog, {"observedGeneration": 1}, [BROKEN, long])
    await publish({**catalog, "status": {"observedGeneration": 1}}, {"observedGeneration": 1}, [BROKEN])
    found = {event["reason"]: event for event in await events(client, catalog)}
    assert set(found) == {"NotServed", "Blocked"}
    event = found["NotServed"]
    assert (event["type"], event["note"], event["action"]) == ("Warning", "nothing is served", "Ready")
    assert event["reportingController"] == "catalogd"
    assert event["regarding"]["name"] == name
    assert event["metadata"]["namespace"] == "default"
    assert len(await events(client, catalog)) == 2


async def test_who_may_not_write_events_still_writes_the_status(
    definitions: Cluster, namespace: str, catalog: Object, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    definitions.kubectl("create", "serviceaccount", "writer", f"--namespace={namespace}")
    resource = "--resource=catalogs.catalogd.operatorframework.io/status"
    definitions.kubectl("create", "clusterrole", namespace, "--verb=patch", resource)
    account = f"--serviceaccount={namespace}:writer"
    definitions.kubectl("create", "clusterrolebinding", namespace, f"--clusterrole={namespace}", account)
    try:
        async with await Client.connect(str(definitions.token_kubeconfig(namespace, "writer"))) as client:
            publish = Publisher(client, catalogs.KIND, "catalogd", told)
            await publish(catalog, {"observedGeneration": 1}, [BROKEN])
    finally:
        definitions.kubectl("delete", "clusterrolebinding,clusterrole", namespace)
    assert told.last["status"] == {"observedGeneration": 1}
    assert [record.levelname for record in caplog.records if record.name == "olmkit.publish"] == ["WARNING"]


async def events(client: Client, about: Object) -> list[Object]:
    found, _ = await client.list(EVENT, "default")
    return [event for event in found if event["regarding"].get("uid") == about["metadata"]["uid"]]
