"""Publishing on the real API server: preconditions, removed fields, defaults, and Events."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import catalogs
from olmkit.api.catalogs import CatalogStatus
from olmkit.api.conditions import Cause, PendingEvent, StatusReport, Transition
from olmkit.errors import Conflict, NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import BURST, EVENT
from olmkit.runtime.status_publisher import ProgressRules, Publisher
from tests.cluster.olmkit.conftest import Object, until_allowed

BROKEN = Transition("Ready", "False", "NotServed", "nothing is served")


class Written:
    """Records own writes, as an informer does."""

    def __init__(self) -> None:
        self.last: Object = {}

    def record_write(self, obj: Object) -> None:
        self.last = obj


def condition(status: str = "True", **more: Any) -> Object:
    facts = {"type": "Ready", "status": status, "reason": "Succeeded", "message": "served", "observedGeneration": 1}
    return {**facts, "lastTransitionTime": "2026-01-01T00:00:00Z", **more}


def broken() -> Object:
    """The condition of BROKEN."""
    return condition(BROKEN.status, reason=BROKEN.reason, message=BROKEN.message)


@pytest.fixture
async def catalog(client: Client, definitions: Cluster) -> AsyncIterator[Object]:
    """A new Catalog without a controller."""
    name = f"runtime-{uuid.uuid4().hex[:10]}"
    spec = {"source": {"type": "image", "image": {"ref": "registry.example.com/catalog:v1"}}}
    obj = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": {"name": name}, "spec": spec}
    yield await client.create(catalogs.KIND, obj)
    await client.delete(catalogs.KIND, name)


def report(
    status: Object, transitions: Sequence[Transition] = (), events: Sequence[PendingEvent] = (), subject: str = ""
) -> StatusReport[CatalogStatus]:
    """`subject`: what Ready is False about, if it is a failure."""
    causes = {"Ready": Cause("NotServed", frozenset({subject}))} if subject else {}
    return StatusReport(CatalogStatus.model_validate(status), tuple(transitions), tuple(events), causes=causes)


@pytest.fixture
def written() -> Written:
    return Written()


@pytest.fixture
def publish(client: Client, written: Written) -> Publisher:
    return Publisher(client, catalogs.KIND, "catalogd", written)


async def test_the_first_status_replaces_the_default(catalog: Object, publish: Publisher, written: Written) -> None:
    assert catalog["status"] == {"observedGeneration": -1}
    status = {"observedGeneration": 1, "conditions": [condition()], "contentURL": "http://catalog"}
    await publish(catalog, report(status))
    assert written.last["status"] == status
    assert written.last["spec"] == catalog["spec"]


async def test_omitted_fields_are_removed(catalog: Object, publish: Publisher, written: Written) -> None:
    other = condition(type="Serving")
    await publish(
        catalog, report({"observedGeneration": 1, "conditions": [condition(), other], "contentURL": "http://x"})
    )
    await publish(written.last, report({"observedGeneration": 1, "conditions": [condition()]}))
    assert written.last["status"] == {"observedGeneration": 1, "conditions": [condition()]}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"observedGeneration": 1, "conditions": [condition()]}, id="a status"),
        pytest.param({"observedGeneration": 1, "conditions": []}, id="a status with an empty list"),
        pytest.param({"observedGeneration": -1}, id="the default"),
    ],
)
async def test_the_same_status_is_not_written_again(
    client: Client, catalog: Object, publish: Publisher, written: Written, status: Object
) -> None:
    await publish(catalog, report(status))
    first = await client.get(catalogs.KIND, catalog["metadata"]["name"])
    written.last = {}
    await publish(first, report(status))
    assert written.last == {}, "nothing was sent"
    assert await client.get(catalogs.KIND, catalog["metadata"]["name"]) == first


async def test_what_others_have_written_into_the_status_is_removed(
    client: Client, catalog: Object, publish: Publisher, written: Written
) -> None:
    name = catalog["metadata"]["name"]
    status = {"observedGeneration": 1, "conditions": [condition()]}
    await publish(catalog, report(status))
    foreign = {"phase": "Edited", "conditions": [condition(), condition(type="Available")]}
    edited = await client.patch(catalogs.KIND, name, {"status": foreign}, subresource="status")
    await publish(edited, report(status))
    assert written.last["status"] == status
    written.last = {}
    await publish(await client.get(catalogs.KIND, name), report(status))
    assert written.last == {}, "nothing is written again"


async def test_a_kind_that_chooses_its_events_has_those_of_its_reports_only(
    client: Client, catalog: Object, written: Written
) -> None:
    publish = Publisher(client, catalogs.KIND, "catalogd", written, chooses_events=False)
    own = PendingEvent("Normal", "Served", "served", "Serve")
    await publish(catalog, report({"observedGeneration": 1, "conditions": [broken()]}, [BROKEN], [own]))
    assert [event["reason"] for event in await events(client, catalog)] == ["Served"]


async def test_progress_is_written_if_it_lasts_and_an_outcome_at_once(
    client: Client, catalog: Object, written: Written, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "olmkit.runtime.status_publisher")
    delays: asyncio.Queue[tuple[str, timedelta]] = asyncio.Queue()
    rules = ProgressRules(lambda name, delay: delays.put_nowait((name, delay)), frozenset({"phase"}))
    publish = Publisher(client, catalogs.KIND, "catalogd", written, rules)
    working = [
        condition("False", reason="Unpacking", message="reading"),
        condition(type="Reconciling", reason="Unpacking", message="reading"),
    ]
    progress = report({"observedGeneration": 1, "phase": "Unpacking", "conditions": working})
    assert not await publish(catalog, progress)
    assert (written.last, caplog.records) == ({}, []), "nothing is written or logged"
    name, delay = await delays.get()
    assert name == catalog["metadata"]["name"]
    await asyncio.sleep(delay.total_seconds())  # as the queue does
    assert await publish(catalog, progress)
    assert written.last["status"]["phase"] == "Unpacking"
    served = Transition("Ready", "True", "Succeeded", "served")
    assert await publish(written.last, report({"observedGeneration": 1, "conditions": [condition()]}, [served]))
    assert written.last["status"]["conditions"] == [condition()]
    assert [event["reason"] for event in await events(client, catalog)] == ["Succeeded"]


async def test_progress_that_the_next_step_depends_on_is_written_at_once(
    client: Client, catalog: Object, written: Written
) -> None:
    publish = Publisher(client, catalogs.KIND, "catalogd", written, ProgressRules(lambda name, delay: None))
    working = [condition("False", reason="Unpacking"), condition(type="Reconciling", reason="Unpacking")]
    progress = report({"observedGeneration": 1, "conditions": working})
    assert await publish(catalog, replace(progress, is_required=True))
    assert len(written.last["status"]["conditions"]) == 2


async def test_an_outdated_object_is_a_conflict(
    client: Client, catalog: Object, publish: Publisher, written: Written
) -> None:
    newer = {"observedGeneration": 1, "conditions": [condition()]}
    await publish(catalog, report(newer))
    with pytest.raises(Conflict):
        await publish(catalog, report({"observedGeneration": 1, "conditions": [condition("False")]}, [BROKEN]))
    assert (await client.get(catalogs.KIND, catalog["metadata"]["name"]))["status"] == newer
    assert await events(client, catalog) == [], "no Event for a status that was not written"


async def test_a_deleted_object_is_not_found_and_a_recreated_one_a_conflict(
    client: Client, catalog: Object, publish: Publisher
) -> None:
    name = catalog["metadata"]["name"]
    await client.delete(catalogs.KIND, name)
    with pytest.raises(NotFound):
        await publish(catalog, report({"observedGeneration": 1}))
    again = {key: catalog[key] for key in ("apiVersion", "kind", "spec")}
    await client.create(catalogs.KIND, {**again, "metadata": {"name": name}})
    with pytest.raises(Conflict):
        await publish(catalog, report({"observedGeneration": 1}))


async def test_a_failure_is_one_event_that_kubectl_can_sort(
    client: Client, catalog: Object, publish: Publisher
) -> None:
    stalled = Transition("Stalled", "True", "Blocked", "nothing is served")
    failed = Transition("Unpacked", "False", "UnpackFailed", "é" * 2000)
    conditions = [
        condition(entry.status, type=entry.type, reason=entry.reason, message=entry.message)
        for entry in (failed, BROKEN, stalled)
    ]
    await publish(catalog, report({"observedGeneration": 1, "conditions": conditions}, [failed, BROKEN, stalled]))
    (event,) = await events(client, catalog)
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "UnpackFailed", "Unpacked")
    assert event["message"].startswith("ééé")
    assert event["firstTimestamp"] == event["lastTimestamp"] is not None
    assert (event["count"], event["source"], event["eventTime"]) == (1, {"component": "catalogd"}, None)
    assert event["reportingComponent"] == "catalogd"
    assert event["metadata"]["namespace"] == "default"


async def test_a_repeated_event_is_counted_once_per_version_of_the_object(
    client: Client, catalog: Object, publish: Publisher, written: Written
) -> None:
    repaired = PendingEvent("Warning", "DriftRepaired", "set it back", "Repair")
    await publish(catalog, report(catalog["status"], events=[repaired]))
    await publish(catalog, report(catalog["status"], events=[repaired]))
    (event,) = await events(client, catalog)
    assert event["count"] == 1, "the same version of the object: the pass was repeated"
    await publish(catalog, report({"observedGeneration": 1}))
    await publish(written.last, report(written.last["status"], events=[repaired]))
    (event,) = await events(client, catalog)
    assert (event["count"], event["involvedObject"]["resourceVersion"]) == (
        2,
        written.last["metadata"]["resourceVersion"],
    )


async def test_a_recovery_is_an_event_that_names_the_failure(
    client: Client, catalog: Object, publish: Publisher, written: Written
) -> None:
    await publish(catalog, report({"observedGeneration": 1, "conditions": [broken()]}, [BROKEN]))
    served = Transition("Ready", "True", "Succeeded", "served")
    await publish(written.last, report({"observedGeneration": 1, "conditions": [condition()]}, [served]))
    found = {event["reason"]: event for event in await events(client, catalog)}
    assert set(found) == {"NotServed", "Recovered"}
    assert (found["Recovered"]["type"], found["Recovered"]["message"]) == (
        "Normal",
        "recovered from: nothing is served; served",
    )


async def test_a_new_blocker_under_the_same_reason_is_a_log_line_and_an_event(
    client: Client, catalog: Object, publish: Publisher, written: Written, caplog: pytest.LogCaptureFixture
) -> None:
    await publish(catalog, report({"observedGeneration": 1, "conditions": [broken()]}, [BROKEN], subject="a"))
    caplog.set_level("INFO", "olmkit.runtime.status_publisher")
    for subject, message in (("a", "in other words"), ("b", "0 of 1 is served"), ("b", "1 of 2 is served")):
        status = {"observedGeneration": 1, "conditions": [{**broken(), "message": message}]}
        await publish(written.last, report(status, subject=subject))
        await publish(written.last, report(status, subject=subject))
    assert [record.getMessage() for record in caplog.records if record.name == "olmkit.runtime.status_publisher"] == [
        "Ready is False (NotServed): 0 of 1 is served"
    ]
    found = [(event["reason"], event["message"], event["count"]) for event in await events(client, catalog)]
    assert sorted(found) == [("NotServed", "0 of 1 is served", 1), ("NotServed", "nothing is served", 1)]


async def test_an_object_that_changes_again_and_again_has_a_number_of_events(
    client: Client, catalog: Object, publish: Publisher, written: Written
) -> None:
    written.record_write(catalog)
    for number in range(2 * BURST):
        message = f"cannot be read because of {chr(ord('a') + number % 26)}{number // 26 * 'x'}"
        status = {"observedGeneration": 1, "conditions": [{**broken(), "message": message}]}
        await publish(written.last, report(status, [BROKEN][number:], subject=message))
    assert written.last["status"]["conditions"][0]["message"] == message
    assert len(await events(client, catalog)) == BURST


async def test_a_recovery_that_another_process_reported_is_not_reported_again(
    client: Client, catalog: Object, publish: Publisher, written: Written
) -> None:
    served, conditions = Transition("Ready", "True", "Succeeded", "served"), [condition()]
    await publish(catalog, report({"observedGeneration": 1, "conditions": [broken()]}, [BROKEN]))
    other = Publisher(client, catalogs.KIND, "catalogd", written)
    await other(written.last, report({"observedGeneration": 1, "conditions": conditions}, [served]))
    publish.reset()  # this process starts to lead again
    await publish(written.last, report({"observedGeneration": 1, "conditions": conditions}))
    found = [(event["reason"], event["count"]) for event in await events(client, catalog)]
    assert sorted(found) == [("NotServed", 1), ("Recovered", 1)]


async def test_each_transition_is_a_log_line(
    catalog: Object, publish: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "olmkit.runtime.status_publisher")
    await publish(catalog, report({"observedGeneration": 1, "conditions": [broken()]}, [BROKEN]))
    (record,) = [record for record in caplog.records if record.name == "olmkit.runtime.status_publisher"]
    assert record.getMessage() == "Ready is False (NotServed): nothing is served"
    assert (vars(record)["kind"], vars(record)["condition"]) == ("Catalog", "Ready")


async def test_a_removed_condition_is_a_log_line(
    catalog: Object, publish: Publisher, written: Written, caplog: pytest.LogCaptureFixture
) -> None:
    stalled = condition(type="Stalled", reason="Blocked", message="nothing is served")
    await publish(catalog, report({"observedGeneration": 1, "conditions": [condition(), stalled]}))
    caplog.set_level("INFO", "olmkit.runtime.status_publisher")
    await publish(written.last, report({"observedGeneration": 1, "conditions": [condition()]}))
    (record,) = [record for record in caplog.records if record.name == "olmkit.runtime.status_publisher"]
    assert record.getMessage() == "Stalled is removed (was True, Blocked): nothing is served"
    facts = ("Catalog", "Stalled", "Removed", "Blocked")
    assert tuple(vars(record)[key] for key in ("kind", "condition", "status", "reason")) == facts
    caplog.clear()
    await publish(written.last, report({"observedGeneration": 1, "conditions": [condition()]}))
    assert not caplog.records, "once"


async def test_the_status_is_written_without_permission_for_events(
    definitions: Cluster,
    client: Client,
    namespace: str,
    catalog: Object,
    written: Written,
    caplog: pytest.LogCaptureFixture,
) -> None:
    definitions.kubectl("create", "serviceaccount", "writer", f"--namespace={namespace}")
    resource = "--resource=catalogs.catalogd.operatorframework.io/status"
    definitions.kubectl("create", "clusterrole", namespace, "--verb=patch", resource)
    account = f"--serviceaccount={namespace}:writer"
    definitions.kubectl("create", "clusterrolebinding", namespace, f"--clusterrole={namespace}", account)
    allowed = {"verb": "patch", "group": catalogs.KIND.group, "resource": catalogs.KIND.plural, "subresource": "status"}
    try:
        await until_allowed(client, f"{namespace}:writer", resourceAttributes=allowed)
        async with await Client.connect(str(definitions.token_kubeconfig(namespace, "writer"))) as writer:
            publish = Publisher(writer, catalogs.KIND, "catalogd", written)
            await publish(catalog, report({"observedGeneration": 1}, [BROKEN]))
    finally:
        definitions.kubectl("delete", "clusterrolebinding,clusterrole", namespace)
    assert written.last["status"] == {"observedGeneration": 1}
    warned = [
        record
        for record in caplog.records
        if record.name == "olmkit.runtime.event_recorder" and record.levelname == "WARNING"
    ]
    assert [record.getMessage() for record in warned] == ["event not written"]


async def events(client: Client, about: Object) -> list[Object]:
    found, _ = await client.list(EVENT, "default")
    return [event for event in found if event["involvedObject"].get("uid") == about["metadata"]["uid"]]
