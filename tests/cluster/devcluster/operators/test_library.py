"""library as a process: the API server proxies its API, and it serves nobody else."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.operators.manifests import NEW, OLD, Bundle, bundles
from olmkit.api.meta import Kind
from olmkit.errors import Conflict, NotFound
from olmkit.runtime.client import Client
from tests.cluster.devcluster.operators.harness import (
    OperatorProcess,
    applied,
    certificates,
    deployment_of,
    namespace_object,
)
from tests.load import load

GROUP = "library.example.com"
ALPHA, BETA = (Kind(GROUP, version, "Book", "books", namespaced=True) for version in ("v1alpha1", "v1beta1"))
NAMESPACE = "library-process"
CERTIFICATE = ("apiserver.crt", "apiserver.key")
BUNDLES = {each.version: each for each in bundles() if each.package == "library"}
REQUESTS = 40
"""So many requests are made before and after each change."""

Object = dict[str, Any]


async def served(cluster: Cluster, bundle: Bundle) -> None:
    """Return when the APIServices of the bundle are Available, and discovery, which follows them, lists their kinds."""
    names = [f"apiservice/{each['version']}.{GROUP}" for each in bundle.api_services]
    cluster.kubectl("wait", "--for=condition=Available", "--timeout=60s", *names)
    expected = {(GROUP, each["version"], each["kind"]) for each in bundle.api_services}
    async with Client(str(cluster.kubeconfig)) as client:
        while not expected <= (await client.discover()).served.keys():
            pass


def book(name: str, title: str = "Notes") -> Object:
    return {"apiVersion": ALPHA.api_version, "kind": "Book", "metadata": {"name": name}, "spec": {"title": title}}


async def borrow(client: Client, number: int) -> None:
    """Create a Book and find it."""
    await client.create(ALPHA, book(f"book-{number}"), "default")
    found = await client.get(ALPHA, f"book-{number}", "default")
    assert found["spec"] == {"title": "Notes"}


async def status_without_certificate(process: OperatorProcess, path: str) -> int:
    """The status of the answer to a client that is not the API server, though it names a user of all rights."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"X-Remote-User": "devcluster:admin", "X-Remote-Group": "system:masters"}
    url = f"https://{process.host}:{process.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context, headers=headers) as answer:
        return answer.status


async def assert_serves(cluster: Cluster, process: OperatorProcess) -> None:
    """Create the Book algebra, list it, and see failures."""
    cluster.kubectl("create", "--validate=false", "--filename=-", input=json.dumps(book("algebra")))
    assert cluster.kubectl("get", "books", "--all-namespaces", "--output=name").split() == [f"book.{GROUP}/algebra"]
    with pytest.raises(DevclusterError, match=rf'books.{GROUP} "geometry" not found'):
        cluster.kubectl("get", "books", "geometry")
    assert await status_without_certificate(process, f"/apis/{GROUP}/v1alpha1") == 401


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
        await served(cluster, old.bundle)
        await assert_serves(cluster, old)
        async with Client(str(cluster.kubeconfig)) as client:
            with pytest.raises(Conflict, match="already exists"):
                await client.create(ALPHA, book("algebra"), "default")
            async with load(lambda number: borrow(client, number)) as requests:
                await requests.after(REQUESTS)
                old.write_certificate(second, *CERTIFICATE)
                old.until("library", "serving the second certificate", lambda: old.has_loaded(second))
                apply(old.objects(second))
                await requests.after(REQUESTS)
                new.write_certificate(second, *CERTIFICATE)
                new.run(deployment_of(new.rendered()))
                apply(new.objects(second))
                await served(cluster, new.bundle)
                old.stop()
                await requests.after(REQUESTS)
            assert requests.failures == []
            assert (await client.get(BETA, "algebra", "default"))["spec"] == {"title": "Notes"}
            await client.delete(BETA, "algebra", "default")
            with pytest.raises(NotFound):
                await client.get(ALPHA, "algebra", "default")
