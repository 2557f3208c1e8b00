"""library as a process: the API server proxies its API, and it serves nobody else."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest

from devcluster.cluster import Cluster
from devcluster.operators.manifests import NEW, OLD, bundles
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from tests.cluster.devcluster.operators.harness import (
    OperatorProcess,
    applied,
    certificates,
    deployment_of,
    namespace_object,
    rotate_and_upgrade,
)
from tests.library import ALPHA, BETA, assert_serves, assert_serves_both_versions, borrow, served
from tests.load import load

NAMESPACE, BORROWERS = "library-process", "library-borrowers"
CERTIFICATE = ("apiserver.crt", "apiserver.key")
BUNDLES = {each.version: each for each in bundles() if each.package == "library"}


async def status_without_certificate(process: OperatorProcess, path: str) -> int:
    """The status of the answer to a client that is not the API server, though it names a user of all rights."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"X-Remote-User": "devcluster:admin", "X-Remote-Group": "system:masters"}
    url = f"https://{process.host}:{process.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context, headers=headers) as answer:
        return answer.status


async def assert_deleted_with_its_namespace(cluster: Cluster, client: Client) -> None:
    """The namespace controller asks each API for the objects of a Namespace that is being deleted."""
    with applied(cluster, [namespace_object(BORROWERS)]):
        await borrow(client, BORROWERS, "overdue")
        with pytest.raises(ApiError) as refused:
            await client.request("PATCH", ALPHA.path(BORROWERS, "overdue"), body={})
        assert refused.value.status == 405
        await asyncio.to_thread(cluster.kubectl, "delete", "namespace", BORROWERS, "--timeout=60s")
    assert (await client.list(ALPHA, BORROWERS))[0] == []


async def test_it_serves_while_its_certificate_is_replaced_and_in_an_upgrade(cluster: Cluster, tmp_path: Path) -> None:
    first, second = (certificates(BUNDLES[OLD], NAMESPACE) for _ in range(2))
    with (
        applied(cluster, [namespace_object(NAMESPACE)]) as apply,
        OperatorProcess(cluster, BUNDLES[OLD], NAMESPACE, tmp_path / OLD) as old,
        OperatorProcess(cluster, BUNDLES[NEW], NAMESPACE, tmp_path / NEW) as new,
    ):
        old.write_certificate(first, *CERTIFICATE)
        apply(old.objects(first, second))
        old.run(deployment_of(old.rendered()))
        async with Client(str(cluster.kubeconfig)) as client:
            await served(cluster, client, [ALPHA])
            await assert_serves(client, "default")
            assert await status_without_certificate(old, ALPHA.path("default")) == 401
            await assert_deleted_with_its_namespace(cluster, client)
            async with load(lambda number: borrow(client, "default", f"book-{number}")) as requests:
                await rotate_and_upgrade(requests, old, new, second, CERTIFICATE, apply)
            assert requests.failures == []
            await served(cluster, client, [ALPHA, BETA])
            await assert_serves_both_versions(client, "default")
