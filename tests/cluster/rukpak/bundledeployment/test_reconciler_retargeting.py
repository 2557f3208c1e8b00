"""Another bundle can be asked for while one hangs in any phase, and what hangs keeps nobody else waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.render.phases import PHASE_NAMES
from rukpak.setup import MAX_CONCURRENT_RECONCILES
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    cluster_role,
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

API_SERVICES = Kind("apiregistration.k8s.io", "v1", "APIService", "apiservices")
Wait = Callable[[Object | None], bool]


async def _terminating(at: Harness) -> tuple[list[Object], Wait]:
    """A Namespace that is being deleted, and cannot be."""
    name = f"{at.name}-going"
    await at.create(NAMESPACES, namespace(name))
    held = config_map("held", name)
    held["metadata"]["finalizers"] = ["example.com/held"]
    await at.create(CONFIG_MAPS, held)
    await at.client.delete(NAMESPACES, name)
    return [namespace(name)], says("Ready", "False", "", f"waiting until it is gone: Namespace {name}")


async def _conflicting_names(at: Harness) -> tuple[list[Object], Wait]:
    """A CustomResourceDefinition of a kind that another one has."""
    await at.create(CRDS, definition(at.group, "Ship"))
    second = definition(at.group, "Raft")
    second["spec"]["names"]["kind"] = "Ship"
    return [second], says("Ready", "False", "", "waiting for CustomResourceDefinitions: rafts")


async def _role_of_others(at: Harness) -> tuple[list[Object], Wait]:
    await at.create(CLUSTER_ROLES, cluster_role(at.name, rules=[]))
    return [cluster_role(at.name, rules=[])], says("Stalled", "True", "Blocked", "already exists")


async def _config_map_of_others(at: Harness) -> tuple[list[Object], Wait]:
    await at.create(CONFIG_MAPS, config_map("taken", at.name))
    return [config_map("taken", at.name)], says("Stalled", "True", "Blocked", "already exists")


async def _no_node(at: Harness) -> tuple[list[Object], Wait]:
    return [stuck(at.name)], says("Healthy", "Unknown", "Progressing", "Deployment.apps")


async def _no_service(at: Harness) -> tuple[list[Object], Wait]:
    """An API of which nobody answers."""
    spec = {
        "group": f"none.{at.group}",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": at.name, "name": "nobody"},
    }
    body = {"apiVersion": API_SERVICES.api_version, "kind": API_SERVICES.kind, "spec": spec}
    return [{**body, "metadata": {"name": f"v1.none.{at.group}"}}], says(
        "Healthy", "Unknown", "Progressing", "APIService"
    )


async def _rejected_resource(at: Harness) -> tuple[list[Object], Wait]:
    return [definition(at.group), thing(kind_of(at.group), "Not_A_Name", at.name)], says("Stalled", "True", "Blocked")


HANGING: dict[str, Callable[[Harness], Awaitable[tuple[list[Object], Wait]]]] = dict(
    zip(
        PHASE_NAMES,
        (
            _terminating,
            _conflicting_names,
            _role_of_others,
            _config_map_of_others,
            _no_node,
            _no_service,
            _rejected_resource,
        ),
        strict=True,
    )
)
"""Phase -> objects that hang in it, and what is reported then."""


def stuck(namespace: str) -> Object:
    """A Deployment whose pods no node can run."""
    body = deployment("engine", namespace)
    body["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/none": "true"}
    return body


@pytest.mark.parametrize("phase", PHASE_NAMES)
async def test_an_upgrade_that_hangs_can_be_replaced_in_any_phase(at: Harness, running: Client, phase: str) -> None:
    space = namespace(at.name)
    await at.install(at.push(plain(space, config_map("log", at.name, v="1"), deployment("engine", at.name))))
    await at.until(READY)
    objects, hangs = await HANGING[phase](at)
    extra = [config_map("log", at.name, v="2"), config_map("second", at.name)]
    await at.install(at.push(plain(space, *extra, *objects), "v2"))
    await at.until(hangs)

    await at.install(at.push(plain(space, config_map("log", at.name, v="3"), deployment("engine", at.name)), "v3"))
    raw = await at.until(READY)
    last = raw["status"]["activeBundle"]
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "3"}
    await at.when(CONFIG_MAPS, "second", at.name, gone)
    found = await at.client.get(DEPLOYMENTS, "engine", at.name)
    assert "nodeSelector" not in found["spec"]["template"]["spec"]
    await at.until(lambda _: [name for _, name in at.bundles.objects if name.startswith(f"{at.name}-")] == [last])
    await _release(at)


@pytest.mark.parametrize("phase", PHASE_NAMES)
async def test_a_first_installation_that_hangs_can_be_replaced_in_any_phase(
    at: Harness, running: Client, phase: str
) -> None:
    space = namespace(at.name)
    if phase == "configuration":
        await at.create(NAMESPACES, space)
    objects, hangs = await HANGING[phase](at)
    await at.install(at.push(plain(space, config_map("first", at.name), *objects)))
    await at.until(hangs)
    await at.install(at.push(plain(space, config_map("log", at.name, v="2")), "v2"))
    await at.until(READY)
    await at.when(CONFIG_MAPS, "first", at.name, gone)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "2"}
    await _release(at)


async def _release(at: Harness) -> None:
    """The Namespace that is being deleted is let go."""
    if await at.find(CONFIG_MAPS, "held", f"{at.name}-going") is not None:
        patch = {"metadata": {"finalizers": None}}
        await at.client.patch(CONFIG_MAPS, "held", patch, f"{at.name}-going")


async def test_pods_that_never_start_keep_no_worker_busy(at: Harness, running: Client) -> None:
    names = [f"{at.name}-{number}" for number in range(MAX_CONCURRENT_RECONCILES + 1)]
    for name in names:
        await at.install(at.push(plain(namespace(name), stuck(name)), name), name)
    for name in names:
        await at.until(says("Healthy", "Unknown", "Progressing", "Deployment.apps"), name)
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name))))
    await at.until(READY)
    for name in names:
        assert says("Healthy", "Unknown", "Progressing")(at.deployments.get(name))
