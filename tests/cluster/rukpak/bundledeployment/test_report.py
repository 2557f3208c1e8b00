"""What a BundleDeployment reports while it is installed, repaired and removed: conditions, Events and log lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import EVENT
from olmkit.runtime.informer import Change
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    deployment,
    gone,
    kind_of,
    namespace,
    plain,
    says,
    thing,
)


def unclear(raw: Object) -> bool:
    """Ready is False, and neither Reconciling nor Stalled is True."""
    held = {entry["type"]: entry["status"] for entry in raw["status"].get("conditions", ())}
    return held.get("Ready") == "False" and "True" not in (held.get("Reconciling"), held.get("Stalled"))


async def events(at: Harness, about: Object) -> list[Object]:
    """The Events about an object, the oldest first."""
    found, _ = await at.client.list(EVENT, "default")
    own = [event for event in found if event["involvedObject"].get("uid") == about["metadata"]["uid"]]
    return sorted(own, key=lambda event: int(event["metadata"]["resourceVersion"]))


async def event_that(at: Harness, so: Callable[[Object], bool]) -> Object:
    """An Event as soon as it is there."""
    return await at.when_any(EVENT, "default", so)


def mentions(text: str) -> Callable[[Object], bool]:
    """Whether the message of an Event holds the text."""
    return lambda event: text in event["message"]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("rukpak")]


async def test_an_ordinary_installation_and_rollout_are_no_warning_and_always_report_their_progress(
    at: Harness, running: Client
) -> None:
    statuses: list[Object] = []

    def on_change(change: Change) -> None:
        if change.new is not None:
            statuses.append(change.new)

    at.deployments.subscribe(on_change)
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name, replicas=3))))
    await at.until(READY)
    changed = deployment("engine", at.name, replicas=3, image="registry.example.com/x:v2")
    await at.install(at.push(plain(namespace(at.name), changed), "v2"))
    raw = await at.until(READY)
    at.deployments.unsubscribe(on_change)
    assert [status["status"] for status in statuses if unclear(status)] == []
    assert [event["message"] for event in await events(at, raw) if event["type"] != "Normal"] == []


async def test_drift_that_was_repaired_is_one_warning_that_names_the_object_and_who_changed_it(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, ours="1"))))
    raw = await at.until(READY)
    path = CONFIG_MAPS.path(at.name, "log") + "?fieldManager=somebody"
    await at.client.request("PATCH", path, body={"data": {"ours": "2"}}, content_type="application/merge-patch+json")
    await at.when(CONFIG_MAPS, "log", at.name, lambda found: data(found).get("ours") == "1")
    text = f"reverted ConfigMap {at.name}/log: changed by somebody"
    warning = await event_that(at, lambda event: event["reason"] == "DriftRepaired" and text in event["message"])
    assert (warning["type"], warning["count"]) == ("Warning", 1)
    assert [event["reason"] for event in await events(at, raw) if event["type"] == "Warning"] == ["DriftRepaired"]
    assert f"reverted ConfigMap {at.name}/log: changed by somebody" in lines(caplog)


async def test_drift_that_is_repaired_once_is_no_contest_and_never_makes_it_unready(
    at: Harness, running: Client
) -> None:
    # With a Deployment: a repair of the last phase alone writes no status.
    engine = deployment("engine", at.name)
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, ours="1"), engine)))
    raw = await at.until(READY)
    statuses: list[Object] = []

    def on_change(change: Change) -> None:
        if change.new is not None and change.new["metadata"]["generation"] == raw["metadata"]["generation"]:
            statuses.append(change.new)

    at.deployments.subscribe(on_change)
    await at.client.patch(CONFIG_MAPS, "log", {"data": {"ours": "2"}}, at.name)
    await at.when(CONFIG_MAPS, "log", at.name, lambda found: data(found).get("ours") == "1")
    await event_that(at, lambda event: event["reason"] == "DriftRepaired" and f"{at.name}/log" in event["message"])
    # One BundleDeployment has one pass at a time: when the next bundle is installed, the repair has been reported.
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, ours="3"), engine), "v2"))
    await at.until(READY)
    at.deployments.unsubscribe(on_change)
    assert [status["status"] for status in statuses if not says("Ready", "True")(status)] == []
    reported = [event["reason"] for event in await events(at, raw)]
    assert [reason for reason in reported if reason in ("DriftRepaired", "Unhealthy", "Recovered")] == ["DriftRepaired"]


async def test_what_was_deleted_with_a_definition_or_a_namespace_is_reported_until_spec_changes(
    at: Harness, running: Client
) -> None:
    boats, crd = kind_of(at.group), f"boats.{at.group}"
    ref = at.push(plain(namespace(at.name), definition(at.group), config_map("log", at.name)))
    await at.install(ref)
    raw = await at.until(READY)
    await at.read(boats)
    for name in ("ark", "dinghy"):
        await at.client.create(boats, thing(boats, name, at.name))
    await at.client.patch(bundledeployments.KIND, at.name, {"metadata": {"annotations": {COUNT_ANNOTATION: "1"}}})
    await at.until(lambda found: (found or {})["status"].get("lastHandledCount") == "1")
    await at.client.delete(CRDS, crd)
    lost = (
        f"CustomResourceDefinition {crd} was deleted by another client, and with it all its custom resources (2 when they were "
        "last counted); it was created again, empty"
    )
    await event_that(at, lambda event: event["reason"] == "DataLost" and event["message"] == lost)
    await at.until(says("Ready", "True", text=lost))
    await at.client.delete(NAMESPACES, at.name)
    emptied = (
        f"Namespace {at.name} was deleted by another client, and with it everything that was in it; it was created again, "
        "empty"
    )
    await event_that(at, lambda event: event["reason"] == "DataLost" and event["message"] == emptied)
    raw = await at.until(says("Ready", "True", text=f"{emptied}; {lost}"))
    assert [loss["name"] for loss in raw["status"]["losses"]] == [at.name, crd]
    await at.client.patch(bundledeployments.KIND, at.name, {"spec": {"deletionPolicy": "KeepCRDs"}})
    raw = await at.until(READY)
    assert "losses" not in raw["status"]


async def test_replicas_that_somebody_else_sets_are_no_drift(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    # Several: the Deployment controller may write a status before the change is handled, or after.
    engines = [f"engine-{number}" for number in range(8)]
    await at.install(at.push(plain(namespace(at.name), *(deployment(name, at.name) for name in engines))))
    raw = await at.until(READY)
    for name in engines:
        path = DEPLOYMENTS.path(at.name, name) + "/scale"
        await at.client.request(
            "PATCH", path, body={"spec": {"replicas": 3}}, content_type="application/merge-patch+json"
        )
    for name in engines:
        await at.when(
            DEPLOYMENTS, name, at.name, lambda found: bool(found and found["status"].get("availableReplicas") == 3)
        )
    # One BundleDeployment has one pass at a time: when the next bundle is installed, the change has been handled.
    changed = [deployment(name, at.name, image="registry.example.com/x:v2") for name in engines]
    await at.install(at.push(plain(namespace(at.name), *changed), "v2"))
    await at.until(READY)
    assert [line for line in lines(caplog) if line.startswith("reverted")] == []
    assert [event["message"] for event in await events(at, raw) if event["type"] == "Warning"] == []


async def test_each_object_that_is_in_the_way_is_an_event_and_a_log_line(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """All are refused for the same reason; a message that names one of them less is no other outcome."""
    caplog.set_level("INFO")
    await at.create(NAMESPACES, namespace(at.name))
    foreign = {name: config_map(name, at.name) for name in ("log", "rope")}
    for obj in foreign.values():
        await at.create(CONFIG_MAPS, obj)
    engine = deployment("engine", at.name)
    await at.create(DEPLOYMENTS, engine)
    await at.install(at.push(plain(namespace(at.name), *foreign.values(), engine)))

    def stalled_by(*found: str) -> Callable[[Object | None], bool]:
        """Whether it is stalled by these objects alone."""
        others = {"log", "rope", "engine"}.difference(found)
        is_stalled = [says("Stalled", "True", text=f"{at.name}/{name} already exists") for name in found]
        is_about_others = [says("Stalled", "True", text=f"{at.name}/{name}") for name in others]
        return lambda raw: all(one(raw) for one in is_stalled) and not any(one(raw) for one in is_about_others)

    await at.until(stalled_by("log", "rope"))
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    await at.until(stalled_by("rope"))
    await at.client.delete(CONFIG_MAPS, "rope", at.name)
    raw = await at.until(stalled_by("engine"))
    await event_that(at, lambda event: f"{at.name}/engine already exists" in event["message"])
    warnings = [event for event in await events(at, raw) if event["type"] == "Warning"]
    assert [event["reason"] for event in warnings] == ["InstallFailed", "InstallFailed"]
    assert f"{at.name}/log already exists" in warnings[0]["message"]
    refused = [
        record for record in caplog.records if "InstallFailed" in record.getMessage() and at.name in record.getMessage()
    ]
    assert len(refused) == 2, "each of them is one line about Installed"


async def test_an_object_that_somebody_deleted_is_one_warning(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name))))
    raw = await at.until(READY)
    await at.client.delete(DEPLOYMENTS, "engine", at.name)
    text = f"recreated Deployment.apps {at.name}/engine: it was deleted"
    await event_that(at, lambda event: text in event["message"])
    await at.when(
        DEPLOYMENTS, "engine", at.name, lambda found: bool(found and found["status"].get("availableReplicas"))
    )
    await at.until(READY)
    found = [event["reason"] for event in await events(at, raw) if event["type"] == "Warning"]
    assert found == ["DriftRepaired"]
    assert f"recreated Deployment.apps {at.name}/engine: it was deleted" in lines(caplog)


async def test_a_definition_a_namespace_or_a_bundle_that_somebody_deleted_is_reported(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    objects = (namespace(at.name), definition(at.group), config_map("log", at.name))
    await at.install(at.push(plain(*objects)))
    raw = await at.until(READY)
    caplog.clear()
    active, crd = raw["status"]["activeBundle"], f"boats.{at.group}"
    await at.read(kind_of(at.group))
    for kind, name, key, reason in (
        (CRDS, crd, f"CustomResourceDefinition.apiextensions.k8s.io {crd}", "DataLost"),
        (NAMESPACES, at.name, f"Namespace {at.name}", "DataLost"),
        (bundles.KIND, active, f"Bundle.core.rukpak.io {active}", "DriftRepaired"),
    ):
        await at.client.delete(kind, name)
        is_loss = reason == "DataLost"
        text = f"{name} was deleted by another client" if is_loss else f"recreated {key}: it was deleted"
        event = await event_that(at, mentions(text))
        assert (event["type"], event["reason"]) == ("Warning", reason)
        await at.until(READY)
        assert lines(caplog).count(f"recreated {key}: it was deleted") == 1
    assert [line for line in lines(caplog) if line.startswith("created")] == []
    assert {event["reason"] for event in await events(at, raw) if event["type"] == "Warning"} == {
        "DataLost",
        "DriftRepaired",
    }


async def test_a_log_line_tells_of_each_object_that_is_made_changed_or_removed(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    both = (config_map("log", at.name, ours="secret-value"), config_map("old", at.name))
    await at.install(at.push(plain(namespace(at.name), *both)))
    first = (await at.until(READY))["status"]["activeBundle"]
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, ours="2")), "v2"))
    second = (await at.until(lambda raw: READY(raw) and (raw or {})["status"]["activeBundle"] != first))["status"]
    await at.when(CONFIG_MAPS, "old", at.name, gone)
    await at.remove()
    await at.until(gone)
    found = lines(caplog)
    for line in (
        f"created Namespace {at.name} (bundle {first})",
        f"created ConfigMap {at.name}/log (bundle {first})",
        f"changed ConfigMap {at.name}/log (bundle {second['activeBundle']})",
        f"deleted ConfigMap {at.name}/old (no longer in the bundle)",
        f"deleted ConfigMap {at.name}/log (the BundleDeployment is being deleted)",
        f"deleted Namespace {at.name} (the BundleDeployment is being deleted)",
    ):
        assert found.count(line) == 1, line
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert not any("secret-value" in record.getMessage() for record in caplog.records)


async def test_a_pass_that_changes_nothing_logs_nothing(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
    await at.until(READY)
    caplog.set_level("INFO")
    caplog.clear()
    label = {"metadata": {"annotations": {"somebody": "was here"}}}
    await at.client.patch(CONFIG_MAPS, "log", label, at.name)
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name)), "same"))
    await at.until(says("Ready", "True"))
    assert [line for line in lines(caplog) if line.startswith(("created", "changed", "reverted"))] == []


async def test_an_object_that_is_deleted_at_any_moment_is_no_failed_pass(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    ref = at.push(plain(namespace(at.name), config_map("log", at.name)))
    moments = {
        "finalizer": lambda raw: bool(raw and raw["metadata"].get("finalizers")),
        "first": lambda raw: bool(raw and raw["status"].get("conditions")),
        "ready": READY,
    }
    for name, moment in moments.items():
        await at.install(ref, f"{at.name}-{name}")
        await at.until(moment, f"{at.name}-{name}")
        await at.remove(f"{at.name}-{name}")
    for name in moments:
        await at.until(gone, f"{at.name}-{name}")
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
