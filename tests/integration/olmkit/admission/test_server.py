"""The webhook server over TLS: what it answers, and what it survives."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from olmkit.admission.review import AdmissionRequest, Denial
from olmkit.admission.server import CONNECTION_LIMITS, MAX_CONCURRENT_REVIEWS, MAX_REVIEW_BYTES, AdmissionServer
from tests.integration.tls import contexts_in

Answer = tuple[int, Any]


async def deny_deletions(request: AdmissionRequest) -> Denial | None:
    """Denies a deletion, and fails for an object without a spec."""
    if request.obj is not None:
        assert "spec" in request.obj
    return Denial("it stays") if request.obj is None else None


class Site:
    """A client of the server."""

    def __init__(self, session: aiohttp.ClientSession, port: int, context: ssl.SSLContext) -> None:
        self.session, self.url, self.port, self.context = session, f"https://127.0.0.1:{port}", port, context

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context)

    async def post(
        self, body: bytes | io.BytesIO | AsyncIterator[bytes] | None = None, path: str = "/things", **request: Any
    ) -> Answer:
        named = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        review = {**named, "request": {"uid": "u", "operation": "CREATE", **request}}
        data = io.BytesIO(json.dumps(review).encode()) if body is None else body
        async with self.session.post(self.url + path, data=data) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    served, trusted = contexts_in(tmp_path)
    server = AdmissionServer("example", {"/things": deny_deletions})
    port = await server.start("127.0.0.1:0", served)
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
            yield Site(session, port, trusted)
    finally:
        await server.close()


async def test_requests_are_allowed_and_denied(site: Site) -> None:
    thing = {"metadata": {"name": "a"}, "spec": {}}
    status, review = await site.post(object=thing)
    assert (status, review["response"]) == (200, {"uid": "u", "allowed": True})
    status, review = await site.post(operation="DELETE", oldObject=thing)
    assert (status, review["response"]["allowed"], review["response"]["status"]["reason"]) == (200, False, "it stays")


async def test_what_is_no_review_is_an_error_of_the_client(site: Site) -> None:
    assert await site.post(b"hello") == (400, {"error": "the body is not JSON"})
    assert (await site.post(path="/others"))[0] == 404
    async with site.session.get(f"{site.url}/things") as answer:
        assert answer.status == 405


async def test_reviews_of_the_largest_objects_are_answered(site: Site) -> None:
    """An object may have 1.5 MiB, and a review has it before and after a change. More come at once than are read at once."""
    thing = {"metadata": {"annotations": {"a": "x" * (3 * 1024 * 1024 // 2)}}, "spec": {}}
    answers = await asyncio.gather(
        *(site.post(object=thing, oldObject=thing) for _ in range(MAX_CONCURRENT_REVIEWS + 2))
    )
    assert [(status, review["response"]["allowed"]) for status, review in answers] == [(200, True)] * len(answers)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(io.BytesIO(b"x" * (64 * 1024 * 1024)), id="it is announced, and sent to its end"),
        pytest.param(None, id="it comes in chunks"),
    ],
)
async def test_a_body_that_is_too_large_is_answered_with_413(site: Site, body: io.BytesIO | None) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(MAX_REVIEW_BYTES // 65536 + 100):
            yield b"x" * 65536

    error = f"the body of the request is longer than {MAX_REVIEW_BYTES} bytes"
    assert await site.post(body or chunks()) == (413, {"error": error})
    assert (await site.post(object={"metadata": {}, "spec": {}}))[0] == 200


async def test_a_validator_that_fails_allows_nothing(site: Site) -> None:
    """The API server then decides by the failurePolicy of the webhook."""
    assert await site.post(object={"metadata": {}}) == (500, {"error": "internal error, see the log of example"})


async def test_a_client_that_sends_no_body_does_not_keep_its_connection(site: Site) -> None:
    """One that keeps all connections would keep the API server from asking: nothing that is guarded could be written."""
    header = b"POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"
    silent = [await site.connect() for _ in range(CONNECTION_LIMITS.max_connections)]
    for _, writer in silent:
        writer.write(header)
    answers = await asyncio.gather(*(reader.read() for reader, _ in silent))
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
    assert (await site.post(object={"metadata": {}, "spec": {}}))[0] == 200
    for _, writer in silent:
        writer.close()
