"""Custom resources counted on a real API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from olmkit.api.bundledeployment_status import CustomResourceCount
from olmkit.api.customresourcedefinitions import definition_of
from olmkit.api.ownership import manager_name
from olmkit.runtime.informer import Informer
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.inventory import OWNER_INDEX
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, RestMapper
from rukpak.bundledeployment.cluster.usage import COUNT_PAGE, UsageReader
from rukpak.bundledeployment.world import Usage
from tests.cluster.rukpak.harness import OWNER, WITHIN, Harness, Object, definition, kind_of, running_informers, thing


@contextlib.asynccontextmanager
async def reader(at: Harness, max_counted: int = 10_000) -> AsyncIterator[UsageReader]:
    """A UsageReader with its own informers."""
    crds = Informer(at.client, CRDS, transform=transforms.crd)
    crds.add_index(OWNER_INDEX, transforms.owner_uid_index)
    api_services = Informer(at.client, API_SERVICES, transform=transforms.api_service)
    mapper = RestMapper(at.client, crds, api_services)
    async with running_informers(crds, api_services):
        await mapper.refresh()
        yield UsageReader(at.client, mapper, crds, asyncio.Semaphore(4), max_counted)


async def crd(at: Harness, kind: str = "Boat") -> str:
    """An established CRD that a BundleDeployment applied, whose name is also its uid; returns its name."""
    body = definition(at.group, kind)
    body["metadata"]["labels"] = {OWNER: at.name}
    await at.client.apply(CRDS, body, manager_name(at.name))
    name: str = body["metadata"]["name"]
    await at.when(CRDS, name, "", is_established)
    return name


def is_established(raw: Object | None) -> bool:
    conditions = ((raw or {}).get("status") or {}).get("conditions") or ()
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)


def is_terminating(raw: Object | None) -> bool:
    crd = definition_of(raw)
    return crd is not None and crd.is_terminating


async def boats(at: Harness, count: int, prefix: str = "boat", **labels: str) -> None:
    kind = kind_of(at.group)
    bodies = [thing(kind, f"{prefix}-{number}", "default", labels=labels) for number in range(count)]
    for first in range(0, count, 50):
        await asyncio.gather(*(at.client.create(kind, body) for body in bodies[first : first + 50]))


async def test_all_custom_resources_count_but_those_that_it_applied_itself(at: Harness) -> None:
    name, other = await crd(at), await crd(at, "Raft")
    await boats(at, COUNT_PAGE - 1)
    for uid, deployment in ((at.name, at.name), ("another", "another"), ("earlier", at.name)):
        body = thing(kind_of(at.group), f"of-{uid}", "default", labels={OWNER: uid})
        await at.client.apply(kind_of(at.group), body, manager_name(deployment))
    copied = definition(at.group, "Buoy")
    copied["metadata"]["labels"] = {OWNER: at.name}
    await at.create(CRDS, copied)
    async with reader(at) as usage:
        assert await usage.custom_resources(at.name, at.name) == (
            CustomResourceCount(group=at.group, kind="Boat", plural="boats", count=COUNT_PAGE + 1),
            CustomResourceCount(group=at.group, kind="Raft", plural="rafts", count=0),
        )
        assert await usage.custom_resources("another", at.name) == ()
        assert await usage.crd(name) is Usage.IN_USE
        assert await usage.crd(other) is Usage.UNUSED


async def test_counting_stops_at_a_limit_and_says_so(at: Harness) -> None:
    await crd(at)
    await boats(at, 30)
    async with reader(at, max_counted=25) as usage:
        assert await usage.custom_resources(at.name, at.name) == (
            CustomResourceCount(group=at.group, kind="Boat", plural="boats", count=25, truncated=True),
        )


async def test_a_crd_that_is_being_deleted_has_no_count(at: Harness) -> None:
    name = await crd(at)
    kind = kind_of(at.group)
    await at.client.create(kind, thing(kind, "held", "default", finalizers=["test.example.com/hold"]))
    async with reader(at) as usage:
        is_changed = asyncio.Event()
        usage.crds.subscribe(lambda change: is_changed.set() if is_terminating(change.new) else None)
        await at.client.delete(CRDS, name)
        async with asyncio.timeout(WITHIN):
            await is_changed.wait()
        (found,) = await usage.custom_resources(at.name, at.name)
        assert found.message == "the API server does not serve the kind"
    await at.client.patch(kind, "held", {"metadata": {"finalizers": None}}, "default")
