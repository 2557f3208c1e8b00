"""library as a process: the API server proxies its API, and it serves nobody else."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp

from devcluster.cluster import Cluster
from devcluster.operators.manifests import NEW, OLD, bundles
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

NAMESPACE = "library-process"
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
            async with load(lambda number: borrow(client, "default", f"book-{number}")) as requests:
                await rotate_and_upgrade(requests, old, new, second, CERTIFICATE, apply)
            assert requests.failures == []
            await served(cluster, client, [ALPHA, BETA])
            await assert_serves_both_versions(client, "default")
