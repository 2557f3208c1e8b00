"""The metrics of Catalogs at /metrics of catalogd."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from devcluster.allocation import free_port
from olmkit.api import catalogs
from olmkit.runtime.lease_holder import LEASE
from olmkit.tls.client_tls import client_context
from olmkit.tls.service import CA_KEY, CATALOG_SERVICE, CONFIG_MAP
from tests.cluster.catalogd.conftest import NAMESPACE, World, lines, package, running
from tests.cluster.olmkit.conftest import NAMESPACE as NAMESPACES
from tests.servers.registry_proxy import status

PREFIX = "catalogd_catalog_"


async def scraped(world: World, port: int) -> dict[str, dict[str, float]]:
    """The values of this test's Catalogs by name, and by metric without its prefix."""
    text = (await world.fetch(f"http://127.0.0.1:{port}/metrics")).decode()
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for each in family.samples:
            if each.name.startswith(PREFIX) and each.labels["catalog"].startswith(world.name):
                found.setdefault(each.labels["catalog"], {})[each.name.removeprefix(PREFIX)] = each.value
    return found


async def scraped_when(
    world: World, port: int, holds: Callable[[dict[str, dict[str, float]]], object]
) -> dict[str, float]:
    """The values of this test's Catalog as soon as this holds. A watch of the test may report a change before the informer of
    catalogd, from which the values are computed."""
    async with asyncio.timeout(60):
        while not holds(found := await scraped(world, port)):  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)
    return found.get(world.name, {})


@contextlib.asynccontextmanager
async def keys_namespace(world: World) -> AsyncIterator[str]:
    """A namespace for the keys of catalogd."""
    name = f"{world.name}-keys"
    await world.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        yield name
    finally:
        await world.client.delete(NAMESPACES, name)


@contextlib.asynccontextmanager
async def held_lease(world: World) -> AsyncIterator[None]:
    """Another process leads."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now}
    metadata = {"name": "catalogd", "namespace": NAMESPACE}
    await world.client.create(
        LEASE, {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": metadata, "spec": spec}
    )
    try:
        yield
    finally:
        await world.client.delete(LEASE, "catalogd", NAMESPACE)


async def test_the_metrics_of_a_catalog_until_it_is_deleted(world: World, tmp_path: Path) -> None:
    port, began = free_port(), int(time.time())
    await world.push(lines(package("p", "1.0.0")))
    async with running(world, tmp_path / "cache", "--metrics-bind-address", f"127.0.0.1:{port}"):
        await world.catalog(world.ref(), poll="1s")
        await world.ready()
        first = await scraped_when(world, port, lambda found: found.get(world.name, {}).get("up_to_date"))
        assert first["serving"] == first["up_to_date"] == 1
        assert began <= first["last_unpack_timestamp_seconds"] <= time.time()
        assert 1 <= first["poll_interval_seconds"] <= 1.01

        await world.wait_for_requests("/manifests/", 2)
        later = (await scraped(world, port))[world.name]
        assert later["last_look_success_timestamp_seconds"] > first["last_look_success_timestamp_seconds"]
        assert later["last_unpack_timestamp_seconds"] == first["last_unpack_timestamp_seconds"]

        world.proxy.on("/manifests/", status(500))
        await world.when("Unpacked", "False", "UnpackFailed")
        failing = await scraped_when(world, port, lambda found: not found[world.name]["up_to_date"])
        assert (failing["serving"], failing["up_to_date"]) == (1, 0)
        await world.wait_for_requests("/manifests/", 1)
        again = (await scraped(world, port))[world.name]
        key = "last_look_success_timestamp_seconds"
        assert again[key] == failing[key], "a failed check does not count"

        other = await world.catalog(world.ref(":never"), f"{world.name}-other")
        await world.when("Reconciling", "True", "Retrying", other)
        assert (await scraped(world, port))[other].keys() == {"serving", "up_to_date", "poll_interval_seconds"}

        await world.remove(world.name)
        await world.client.patch(catalogs.KIND, other, {"spec": {"availability": "Unavailable"}})
        await world.when("Ready", "True", "UserSpecifiedUnavailable", other)
        assert await scraped_when(world, port, lambda found: not found) == {}


async def test_the_time_of_the_last_check_does_not_go_back_with_a_restart(world: World, tmp_path: Path) -> None:
    """The source is away since before the restart: this process has not checked it, whenever its content was unpacked."""
    port, key = free_port(), "last_look_success_timestamp_seconds"
    flags = ("--metrics-bind-address", f"127.0.0.1:{port}")
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref(), poll="1s")
    async with running(world, tmp_path / "cache", *flags):
        await world.ready()
        assert await scraped_when(world, port, lambda found: key in found.get(world.name, {}))
        world.proxy.on("/manifests/", status(500))
        await world.when("Unpacked", "False", "UnpackFailed")
    async with running(world, tmp_path / "cache", *flags):
        await world.wait_for_requests("/manifests/", 1)
        away = (await scraped(world, port))[world.name]
        assert away.keys() == {"serving", "up_to_date", "last_unpack_timestamp_seconds", "poll_interval_seconds"}
        world.proxy.on("/manifests/", None)
        await world.when("Unpacked", "True", "UnpackSuccessful")
        assert await scraped_when(world, port, lambda found: key in found[world.name])


async def test_a_replica_that_does_not_lead_exports_no_metrics_of_catalogs(world: World, tmp_path: Path) -> None:
    port = free_port()
    await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref())
    async with running(world, tmp_path / "cache"):
        await world.ready()
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(held_lease(world))
        keys = await stack.enter_async_context(keys_namespace(world))
        flags = ("--keys-namespace", keys, "--metrics-bind-address", f"127.0.0.1:{port}")
        await stack.enter_async_context(running(world, tmp_path / "cache", *flags, role=()))
        found = await world.client.get(CONFIG_MAP, CATALOG_SERVICE.config_map, NAMESPACE)
        tls = client_context(found["data"][CA_KEY], with_system=False)
        url = f"https://{world.served_at}/catalogs/{world.name}/all.json"
        async with aiohttp.ClientSession() as http, http.get(url, ssl=tls) as answer:
            assert answer.status == 200
        assert await scraped(world, port) == {}
