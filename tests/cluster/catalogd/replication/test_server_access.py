"""What replicas give one another is given to replicas only: to a token that the API server lets get /replication/*."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from prometheus_client import REGISTRY

from catalogd.storage.state_file import parse
from devcluster.cluster import Cluster
from devcluster.suite import NAMESPACE
from tests.cluster.catalogd.conftest import World, lines, package
from tests.cluster.catalogd.elected import Replica, Replicas
from tests.integration.catalogd.replicas import until

RECORDS = "/replication/v1/records"


async def token(world: World, account: str) -> str:
    """A token of a ServiceAccount of the system namespace."""
    printed = await asyncio.to_thread(world.cluster.kubectl, "create", "token", account, f"--namespace={NAMESPACE}")
    return printed.strip()


async def stranger(cluster: Cluster) -> str:
    """The name of a new ServiceAccount that may nothing."""
    name = f"stranger-{uuid.uuid4().hex[:6]}"
    await asyncio.to_thread(cluster.kubectl, "create", "serviceaccount", name, f"--namespace={NAMESPACE}")
    return name


async def answers(replicas: Replicas, replica: Replica, path: str) -> dict[str, int]:
    """The status for each sort of client."""
    world = replicas.world
    tokens = {
        "nobody": "",
        "nonsense": "nonsense",
        "an account": await token(world, await stranger(world.cluster)),
        "operator-controller": await token(world, "operator-controller"),
        "catalogd": await token(world, "catalogd"),
    }
    return {who: (await replicas.ask(replica, path, each))[0] for who, each in tokens.items()}


@pytest.mark.parametrize("flags", [(), ("--authenticate-requests",)], ids=["catalogs for all", "catalogs by token"])
async def test_only_replicas_can_read_records_and_content(
    world: World, replicas: Replicas, flags: tuple[str, ...]
) -> None:
    digest = await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref())
    replica = await replicas.start("first", *flags)
    await world.serves(digest)
    for path in (RECORDS, f"/replication/v1/content/{digest}", f"/replication/v1/content/{digest}/all.jsonl"):
        refused = {"nobody": 401, "nonsense": 401, "an account": 403, "operator-controller": 403}
        assert await answers(replicas, replica, path) == {**refused, "catalogd": 200}, path
    summary = f"/replication/v1/summaries/{world.name}/none"
    assert await answers(replicas, replica, summary) == {**refused, "catalogd": 404}, "there is no such bundle"
    _, _, body = await replicas.ask(replica, RECORDS, await token(world, "catalogd"))
    assert parse(body).records[world.name].digest == digest
    for path in ("//replication/v1/records", "/%72eplication/v1/records", "/replication/v1//records", "/replication/"):
        status, _, body = await replicas.ask(replica, path)
        assert status in (401, 404), path
        assert world.name not in body.decode(), path


async def test_replicas_authenticate_with_their_tokens(world: World, replicas: Replicas) -> None:
    digest = await world.push(lines(package("p", "1.0.0")))
    await world.catalog(world.ref())
    await replicas.start("first")
    await world.serves(digest)
    second = await replicas.start("second")
    await replicas.serves(second, digest)
    await until(lambda: REGISTRY.get_sample_value("catalogd_replication_behind") == 0)
