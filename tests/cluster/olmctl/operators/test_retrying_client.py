"""`olm` in front of an API server that is busy: a proxy answers the first requests in its place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from devcluster.cluster import Cluster
from olmctl.main import main
from olmctl.operators import retrying_client
from olmctl.operators.retrying_client import JSON_PATCH, MAX_HANDSHAKES, RetryingClient
from olmctl.questions.catalogd import MAX_REPLICAS_ASKED, proxy_path
from olmctl.questions.port_forward import PROTOCOL
from olmkit.errors import ApiError, Unavailable
from olmkit.tls.service import CATALOG_SERVICE
from tests.cluster import proxy
from tests.cluster.olmctl.conftest import Desk

TOO_MANY = b"429 Too Many Requests"
UNAVAILABLE = b"503 Service Unavailable"
BUSY = (
    b"HTTP/1.1 %b\r\nContent-Type: text/plain\r\nConnection: close\r\n%b"
    b"Content-Length: 20\r\n\r\nToo many requests...\n"
)
MERGE_PATCH = "application/merge-patch+json"
PROXY = proxy_path("default")
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class BusyServer:
    """Replaces the first answers, `times` of them. Each is the last one of its connection."""

    def __init__(self, times: int, headers: bytes, status: bytes = TOO_MANY, only: bytes = b"") -> None:
        self.left = times
        self.only = only
        self.headers = headers
        self.status = status
        self.replaced = 0
        self._connections: WeakSet[asyncio.Task[Any]] = WeakSet()
        """The tasks of the proxy that move the answers of connections with a replaced one."""

    def __call__(self, answer: bytes) -> bytes:
        connection = asyncio.current_task()
        assert connection is not None
        if connection in self._connections:
            return b""
        if not self.left or self.only not in answer or not answer.startswith(b"HTTP/1.1 "):
            return answer  # also the rest of an answer that comes in several parts
        self.left -= 1
        self.replaced += 1
        self._connections.add(connection)
        return BUSY % (self.status, self.headers)


@pytest.mark.parametrize(
    ("times", "headers", "expected_status", "expected_replaced"),
    [
        pytest.param(2, b"Retry-After: 0\r\n", 0, 2, id="it waits as Retry-After says and asks again"),
        pytest.param(1, b"", 1, 1, id="without Retry-After the refusal is final"),
        pytest.param(11, b"Retry-After: 0\r\n", 0, 11, id="it asks again for many seconds"),
        pytest.param(1, b"Retry-After: 86400\r\n", 1, 1, id="a day is too long to wait"),
    ],
)
async def test_a_busy_api_server(
    times: int,
    headers: bytes,
    expected_status: int,
    expected_replaced: int,
    definitions: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    busy = BusyServer(times, headers)
    async with proxy.run(definitions.kubeconfig, tmp_path) as before:
        before.touch(busy)
        status = await asyncio.to_thread(main, ["list", "--kubeconfig", str(before.kubeconfig)])
    out, err = capsys.readouterr()
    assert (status, busy.replaced) == (expected_status, expected_replaced), err
    assert ("Too many requests" in err) == (expected_status != 0), (out, err)


async def test_the_time_that_a_request_waits_for_is_limited(
    definitions: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying_client, "MAX_WAIT_SECONDS", 0.5)
    busy = BusyServer(1000, b"Retry-After: 0\r\n")
    async with (
        proxy.run(definitions.kubeconfig, tmp_path) as before,
        RetryingClient(str(before.kubeconfig)) as client,
    ):
        before.touch(busy)
        with pytest.raises(Unavailable, match="Too many requests"):
            await client.request("GET", CONFIG_MAPS)
    assert busy.replaced == 3


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status", "is_repeated"),
    [
        pytest.param("GET", CONFIG_MAPS, None, UNAVAILABLE, True, id="a reading is repeated"),
        pytest.param("POST", CONFIG_MAPS, None, TOO_MANY, True, id="what the API server has not begun is repeated"),
        pytest.param(
            "POST", CONFIG_MAPS, None, UNAVAILABLE, False, id="what may have been created is not created again"
        ),
        pytest.param("PATCH", f"{CONFIG_MAPS}/busy", MERGE_PATCH, UNAVAILABLE, True, id="a merge patch is repeated"),
        pytest.param("PATCH", f"{CONFIG_MAPS}/busy", JSON_PATCH, UNAVAILABLE, False, id="steps of a patch are not"),
        pytest.param("GET", f"{PROXY}/catalogs/a", None, UNAVAILABLE, False, id="the answer of catalogd is its own"),
        pytest.param("GET", f"{PROXY}/catalogs/a", None, TOO_MANY, False, id="also if it is busy"),
    ],
)
async def test_only_what_does_no_harm_twice_is_repeated(
    method: str,
    path: str,
    content_type: str | None,
    status: bytes,
    is_repeated: bool,
    definitions: Cluster,
    tmp_path: Path,
) -> None:
    busy = BusyServer(1, b"Retry-After: 0\r\n", status)
    body = [] if content_type == JSON_PATCH else {"metadata": {"generateName": "busy-"}}
    async with (
        proxy.run(definitions.kubeconfig, tmp_path) as before,
        RetryingClient(str(before.kubeconfig)) as client,
    ):
        before.touch(busy)
        options = {"body": body, "content_type": content_type} if method != "GET" else {}
        message = ""
        try:
            await client.request(method, path, **options)
        except ApiError as error:
            message = error.message
    assert (busy.replaced, message != "Too many requests...") == (1, is_repeated)


@pytest.mark.parametrize(
    ("times", "status", "expected_replaced", "expected"),
    [
        pytest.param(
            2, b"500 Internal Server Error", 2, 404, id="a kubelet that is not reached for a moment is waited for"
        ),
        pytest.param(99, b"500 Internal Server Error", MAX_HANDSHAKES, 500, id="one that is never reached is reported"),
        pytest.param(1, b"403 Forbidden", 1, 403, id="a refusal is final"),
    ],
)
async def test_a_websocket_is_asked_for_again_while_nothing_has_been_sent_over_it(
    times: int, status: bytes, expected_replaced: int, expected: int, definitions: Cluster, tmp_path: Path
) -> None:
    busy = BusyServer(times, b"", status)
    async with (
        proxy.run(definitions.kubeconfig, tmp_path) as before,
        RetryingClient(str(before.kubeconfig)) as client,
    ):
        before.touch(busy)
        with pytest.raises(ApiError) as found:
            async with client.websocket("/api/v1/namespaces/default/pods/absent/portforward", PROTOCOL, {"ports": 1}):
                pass
    assert (busy.replaced, found.value.status) == (expected_replaced, expected)


async def test_a_catalog_that_no_replica_serves_does_not_stop_the_command(
    definitions: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], desk: Desk
) -> None:
    package = desk.package("unserved", "stable")
    busy = BusyServer(1000, b"Retry-After: 30\r\n", UNAVAILABLE, only=CATALOG_SERVICE.name.encode())
    async with proxy.run(definitions.kubeconfig, tmp_path) as before:
        before.touch(busy)
        async with asyncio.timeout(25):  # less than one Retry-After
            status = await asyncio.to_thread(
                main, ["show", package, "--kubeconfig", str(before.kubeconfig), "--system-namespace", "of-nobody"]
            )
    out, err = capsys.readouterr()
    assert (status, busy.replaced) == (0, MAX_REPLICAS_ASKED), err
    assert "Too many requests" in err, (out, err)
