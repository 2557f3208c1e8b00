"""`olm` in front of an API server that is busy: a proxy answers the first requests in its place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmctl.cluster.retrying_client import MAX_RETRIES
from olmctl.main import main
from tests.cluster import proxy

BUSY = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\n%b"
    b"Content-Length: 20\r\n\r\nToo many requests...\n"
)


class BusyServer:
    """Replaces the first answers, `times` of them."""

    def __init__(self, times: int, headers: bytes) -> None:
        self.left = times
        self.headers = headers
        self.replaced = 0

    def __call__(self, answer: bytes) -> bytes:
        if not self.left:
            return answer
        self.left -= 1
        self.replaced += 1
        return BUSY % self.headers


@pytest.mark.parametrize(
    ("times", "headers", "expected_status", "expected_replaced"),
    [
        pytest.param(2, b"Retry-After: 0\r\n", 0, 2, id="it waits as Retry-After says and asks again"),
        pytest.param(1, b"", 1, 1, id="without Retry-After the refusal is final"),
        pytest.param(1000, b"Retry-After: 0\r\n", 1, MAX_RETRIES + 1, id="the number of retries is limited"),
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
