"""Who may read resolutions: tokens that the real API server reviews, over TLS with the certificate that the process makes."""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import logging
import time
import urllib.request
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.suite import NAMESPACE as SUITE_NAMESPACE
from olmkit.runtime.client import Client
from olmkit.runtime.manager import Manager, Settings
from olmkit.tls.certificate_rotator import SECRET
from olmkit.tls.client_tls import client_context
from olmkit.tls.service import CA_KEY, OPERATOR_SERVICE
from operator_controller.debug.server import serve_resolutions
from operator_controller.resolve.answers.answer import Answer, AnswerKind
from tests.cluster.accounts import READER, STRANGER, accounts, published_ca
from tests.cluster.olmkit.conftest import NAMESPACE, until_allowed
from tests.cluster.operator_controller.conftest import Scene

ROLE = "olm-suite-resolution-reader"
PARTY = Answer("party", "u", "sha256:1", AnswerKind.CHOSEN, is_resolved=True, message="", text="the newest")
CA_CONFIG_MAP = ("configmap", OPERATOR_SERVICE.config_map, f"--namespace={SUITE_NAMESPACE}")


@dataclass
class Answers:
    """The answers of a Snapshot."""

    snapshot_number: int = 1
    answers: Mapping[str, Answer] = field(default_factory=lambda: {"party": PARTY})


@dataclass
class Site:
    """The server, with the namespaces and the tokens of the test."""

    http: aiohttp.ClientSession
    url: str
    client: Client
    keys: str
    tokens: Mapping[str, str]

    async def get(self, path: str, token: str | None) -> tuple[int, Any]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with self.http.get(self.url + path, headers=headers) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def site(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Site]:
    name = f"debug-{uuid.uuid4().hex[:8]}"
    keys = f"{name}-keys"
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(await Client.connect(str(cluster.kubeconfig)))
        for each in (name, keys):
            await client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})
            stack.push_async_callback(client.delete, NAMESPACE, each)
        tokens = await asyncio.to_thread(accounts, cluster, name, "resolution-reader")
        stack.callback(cluster.kubectl, "delete", "clusterrolebinding", name)
        allowed = {"verb": "get", "path": "/debug/resolutions/any"}
        await until_allowed(client, f"{name}:{READER}", nonResourceAttributes=allowed)
        manager = Manager("operator-controller", _settings(cluster, tmp_path, name, keys), client)
        stack.push_async_callback(manager.close)
        port = await serve_resolutions(manager, Answers())
        run = asyncio.create_task(manager.run())
        stack.push_async_callback(asyncio.wait, [run])
        stack.callback(manager.stop)
        context = client_context(await published_ca(client, name, OPERATOR_SERVICE), with_system=False)
        http = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context), timeout=aiohttp.ClientTimeout(30))
        )
        yield Site(http, f"https://localhost:{port}", client, keys, tokens)


def _settings(cluster: Cluster, directory: Path, namespace: str, keys: str) -> Settings:
    return Settings(
        cache_dir=directory,
        kubeconfig=str(cluster.kubeconfig),
        system_namespace=namespace,
        keys_namespace=keys,
        metrics_bind_address="0",
        health_probe_bind_address="0",
        leader_elect=False,
        extra=argparse.Namespace(debug_bind_address="127.0.0.1:0"),
    )


async def test_a_resolution_is_for_those_who_may_get_its_path(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reader, stranger = site.tokens[READER], site.tokens[STRANGER]
    status, found = await site.get("/debug/resolutions/party", reader)
    assert (status, found["operator"], found["text"], found["snapshot"]) == (200, "party", "the newest", 1)
    status, found = await site.get("/debug/resolutions", reader)
    assert (status, found["resolutions"]) == (200, [{"operator": "party", "digest": "sha256:1"}])
    status, found = await site.get("/debug/resolutions/nobody", reader)
    assert (status, found["error"].startswith('the Operator "nobody" has no resolution')) == (404, True)
    for path in ("/debug/resolutions", "/debug/resolutions/party", "/debug/resolutions/nobody"):
        status, found = await site.get(path, None)
        assert (status, found) == (401, {"error": "send a token: Authorization: Bearer <token>"})
        status, found = await site.get(path, "nonsense")
        assert (status, found) == (401, {"error": "the token is not valid or has expired"})
        status, found = await site.get(path, stranger)
        assert status == 403
        assert f":{STRANGER} may not get this path" in found["error"]
    secret = await site.client.get(SECRET, OPERATOR_SERVICE.secret, site.keys)
    key = base64.b64decode(secret["data"]["tls.key"]).decode()
    for text in (reader, stranger, key.splitlines()[1]):
        assert text not in caplog.text


def test_operator_controller_serves_the_resolution_of_an_operator_under_its_own_account(scene: Scene) -> None:
    scene.ready_catalog(scene.catalog_of("1.0.0", "1.1.0"))
    name = scene.operator(scene.name, version="1.0.0")
    scene.deployment_when(name, "1.0.0")
    account = f"{scene.name}-reader"
    kubectl, path = scene.cluster.kubectl, f"/debug/resolutions/{name}"
    kubectl("create", "serviceaccount", account, "--namespace=default")
    kubectl("create", "clusterrolebinding", account, f"--clusterrole={ROLE}", f"--serviceaccount=default:{account}")
    try:
        _eventually(
            lambda: "yes" in kubectl("auth", "can-i", "get", path, f"--as=system:serviceaccount:default:{account}")
        )
        token = kubectl("create", "token", account, "--namespace=default").strip()
        _eventually(lambda: bool(kubectl("get", *CA_CONFIG_MAP, "--ignore-not-found")))
        bundle = json.loads(kubectl("get", *CA_CONFIG_MAP, "--output=json"))["data"][CA_KEY]
        address = scene.suite.addresses["operator-controller"].debug
        request = urllib.request.Request(f"https://{address}{path}", headers={"Authorization": f"Bearer {token}"})
        context = client_context(bundle, with_system=False)
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            found = json.load(answer)
    finally:
        kubectl("delete", "clusterrolebinding", account)
        kubectl("delete", "serviceaccount", account, "--namespace=default")
    assert (found["operator"], found["kind"], found["bundle"]["version"]) == (name, "chosen", "1.0.0")
    assert found["snapshot"] > 0


def _eventually(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(DevclusterError):  # `kubectl auth can-i` fails for "no"
            if so():
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def test_the_server_can_be_disabled(cluster: Cluster, tmp_path: Path) -> None:
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        settings = Settings(cache_dir=tmp_path, extra=argparse.Namespace(debug_bind_address="0"))
        assert await serve_resolutions(Manager("operator-controller", settings, client), Answers()) is None
