"""Offers from servers that answer correctly, incorrectly, late or not at all: real HTTP on loopback, real files."""

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import ClientSession, ClientTimeout, web

from olmkit.api.catalogs import Catalog
from operator_controller.catalog_cache.client import (
    CONTENT_RETRY_DELAY_SECONDS,
    REQUEST_TIMEOUT,
    CatalogClient,
    CatalogSession,
)
from operator_controller.catalog_cache.content_store import MAX_PACKAGES, STATE_FILE
from operator_controller.catalog_cache.stored_documents import (
    DOCUMENTS_FILE,
    INDEX_FILE,
    MAX_DOCUMENT_BYTES,
    ContentDocuments,
)
from operator_controller.resolution.snapshot_inputs import catalog_source
from operator_controller.resolve.documents.catalog_documents import ParsedDocuments
from operator_controller.resolve.package.package_content import MAX_CHANNEL_ENTRIES
from operator_controller.resolve.snapshot.package_snapshot import CatalogOffer, CatalogState
from tests.servers.closing import close

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FIRST, SECOND = "sha256:" + "1" * 64, "sha256:" + "2" * 64
DIGEST_HEADER = "Olm-Catalog-Digest"


def document(digest: str, version: str = "1.0.0", package: str = "p") -> dict[str, Any]:
    rest = {
        "package": package,
        "defaultChannel": "a",
        "channels": [{"name": "a", "entries": [{"name": "b"}]}],
        "bundles": [{"name": "b", "image": "r/b", "version": version}],
    }
    return with_digest(digest, rest)


def with_digest(catalog_digest: str, rest: dict[str, Any]) -> dict[str, Any]:
    """The document as catalogd completes it."""
    rest = {key: value for key, value in rest.items() if key not in ("catalogDigest", "digest")}
    digest = hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return {**rest, "catalogDigest": catalog_digest, "digest": f"sha256:{digest}"}


def lines(documents: Iterable[Any]) -> bytes:
    """The body of a response with these documents."""
    return b"".join(orjson.dumps(each, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE) for each in documents)


def response(digest: str, *documents: Any) -> web.Response:
    return web.Response(body=lines(documents), headers={DIGEST_HEADER: digest})


def catalog(address: str, digest: str = FIRST, *, uid: str = "u", name: str = "c", **status: Any) -> dict[str, Any]:
    serving = {"type": "Serving", "status": "True", "reason": "Available", "message": ""}
    return {
        "metadata": {"name": name, "uid": uid, "generation": 1},
        "spec": {"source": {"type": "image", "image": {"ref": "r/c:v1"}}, "priority": 3},
        "status": {
            "conditions": [{**serving, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "contentURL": f"{address}/catalogs/{name}/all.json",
            "contentDigest": digest,
            "observedGeneration": 1,
            **status,
        },
    }


class Server:
    """Answers `/catalogs/<c>/api/v1/resolution` as the test defines, and records the digests that are requested."""

    def __init__(self) -> None:
        self.address = ""
        self.requested: list[str] = []
        self.answer: Handler = self.valid
        self.digest = FIRST

    async def valid(self, request: web.Request) -> web.StreamResponse:
        return response(self.digest, *(document(self.digest, package=package) for package in ("p", "q")))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requested.append(request.query.get("digest", ""))
        return await self.answer(request)


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    application = web.Application()
    application.router.add_get("/catalogs/{catalog}/api/v1/resolution", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await close(runner)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


@contextlib.asynccontextmanager
async def client(
    directory: Path | None = None, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[CatalogClient]:
    session = CatalogSession(ClientSession(timeout=REQUEST_TIMEOUT), clock=clock)
    connected = CatalogClient(session, directory)
    try:
        yield connected
    finally:
        await connected.close()


def content_directory(directory: Path, digest: str = FIRST) -> Path:
    return directory / digest.replace(":", "-")


def cached_contents(directory: Path) -> list[str]:
    """The digests of all contents on disk."""
    return sorted(path.name.replace("-", ":") for path in directory.iterdir() if path.name.startswith("sha256-"))


@dataclass(frozen=True)
class FoundOffer:
    """What a Catalog offers of a package, and whether the content has to be requested again."""

    offer: CatalogOffer
    needs_recheck: bool


async def find_offer(catalog_client: CatalogClient, raw: dict[str, Any], package: str) -> FoundOffer:
    """Read the content, and from its files the document of a package, as the Resolver and its solver process do."""
    result = await catalog_client.content(raw)
    source, documents = catalog_source(Catalog.load(raw), result), ContentDocuments(catalog_client.directory)
    try:
        offer = await asyncio.to_thread(ParsedDocuments().offer, documents, source, package)
    finally:
        documents.close_files()
    return FoundOffer(offer, result.needs_recheck)


def version(result: FoundOffer) -> str | None:
    package = result.offer.package
    return str(package.bundles["b"].version) if package else None


async def test_content_is_requested_once_per_digest(server: Server) -> None:
    async with client() as catalog_client:
        first = await find_offer(catalog_client, catalog(server.address), "p")
        assert (first.offer.catalog, first.offer.priority, version(first)) == ("c", 3, "1.0.0")
        assert (first.offer.state, first.needs_recheck) == (CatalogState.SERVING, False)
        assert await find_offer(catalog_client, catalog(server.address), "p") == first
        assert version(await find_offer(catalog_client, catalog(server.address), "q")) == "1.0.0"
        assert server.requested == [FIRST]
        server.digest = SECOND
        await find_offer(catalog_client, catalog(server.address, SECOND), "p")
        assert server.requested == [FIRST, SECOND]


async def test_content_survives_a_restart_on_disk(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as catalog_client:
        await find_offer(catalog_client, catalog(server.address), "p")
    async with client(tmp_path) as successor:
        assert version(await find_offer(successor, catalog("http://127.0.0.1:1"), "p")) == "1.0.0"
    assert server.requested == [FIRST]


async def test_every_document_is_read_from_disk_after_one_request(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as catalog_client:
        for package in ("p", "q", "p"):
            assert version(await find_offer(catalog_client, catalog(server.address), package)) == "1.0.0"
    assert server.requested == [FIRST]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"format": 1, "packages": {"p": [3, 0, 9]}, "provides": []}', None]
)
@pytest.mark.parametrize(
    "name", [f"content/{DOCUMENTS_FILE}", f"content/{INDEX_FILE}", "manifest.json", f"../{STATE_FILE}"]
)
async def test_content_of_a_damaged_file_is_requested_again(
    server: Server, tmp_path: Path, name: str, damage: bytes | None
) -> None:
    async with client(tmp_path) as catalog_client:
        await find_offer(catalog_client, catalog(server.address), "p")
    path = content_directory(tmp_path) / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    async with client(tmp_path) as successor:
        assert version(await find_offer(successor, catalog(server.address), "p")) == "1.0.0"
    assert server.requested == [FIRST, FIRST]
    async with client(tmp_path) as successor:
        assert version(await find_offer(successor, catalog(server.address), "p")) == "1.0.0"
    assert server.requested == [FIRST, FIRST]


async def test_the_absence_of_a_package_is_cached(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        async with client(tmp_path) as catalog_client:
            found = await find_offer(catalog_client, catalog(server.address), "absent")
            assert (found.offer.state, found.offer.package, found.needs_recheck) == (CatalogState.SERVING, None, False)
    assert server.requested == [FIRST]


async def refused(request: web.Request) -> web.StreamResponse:
    return web.Response(status=503, headers={"Retry-After": "0"})


async def unknown_catalog(request: web.Request) -> web.StreamResponse:
    return web.json_response({"error": "no such catalog"}, status=404)


async def garbage(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"<html>", headers={DIGEST_HEADER: SECOND})


async def another_shape(request: web.Request) -> web.StreamResponse:
    return response(SECOND, {**document(SECOND), "bundles": 3})


async def no_object(request: web.Request) -> web.StreamResponse:
    return response(SECOND, [])


async def no_digest(request: web.Request) -> web.StreamResponse:
    return web.Response(body=lines([document(SECOND)]))


async def redirect(request: web.Request) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})


async def cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000", DIGEST_HEADER: SECOND})
    await response.prepare(request)
    await response.write(lines([document(SECOND)]))
    assert request.transport is not None
    request.transport.close()
    return response


BAD = [
    pytest.param(refused, "catalogd answered 503", id="503"),
    pytest.param(unknown_catalog, "catalogd answered 404", id="an unknown catalog"),
    pytest.param(garbage, "catalogd's answer cannot be read: ", id="invalid JSON"),
    pytest.param(
        another_shape,
        "catalogd's answer cannot be read: Expected `array`, got `int` - at `$.bundles`; ",
        id="another shape",
    ),
    pytest.param(no_object, "catalogd's answer cannot be read: Expected `object`, got `array`; ", id="a list"),
    pytest.param(no_digest, "catalogd's answer cannot be read: it does not name the digest", id="no digest"),
    pytest.param(redirect, "catalogd answered 302", id="a redirect is not followed"),
    pytest.param(cut_off, "catalogd does not answer (ClientPayloadError)", id="a broken connection"),
]


@pytest.mark.parametrize(("answer", "message"), BAD)
async def test_the_last_content_is_used_after_a_failed_request(server: Server, answer: Handler, message: str) -> None:
    now = [1000.0]
    async with client(clock=lambda: now[0]) as catalog_client:
        await find_offer(catalog_client, catalog(server.address), "p")
        server.answer = answer
        cached = await find_offer(catalog_client, catalog(server.address, SECOND), "p")
        assert (cached.offer.state, version(cached), cached.needs_recheck) == (CatalogState.CACHED, "1.0.0", True)
        assert cached.offer.message.startswith(message)
        now[0] += CONTENT_RETRY_DELAY_SECONDS
        server.answer, server.digest = server.valid, SECOND
        current = await find_offer(catalog_client, catalog(server.address, SECOND), "p")
        assert (current.offer.state, current.needs_recheck) == (CatalogState.SERVING, False)


def large_package() -> dict[str, Any]:
    large = document(FIRST)
    large["channels"][0]["entries"] *= MAX_CHANNEL_ENTRIES + 1
    return with_digest(FIRST, large)


def large_document() -> dict[str, Any]:
    large = document(FIRST)
    large["bundles"][0]["properties"] = [{"type": "t", "value": " " * MAX_DOCUMENT_BYTES}]
    return with_digest(FIRST, large)


@pytest.mark.parametrize(
    ("large", "message"),
    [
        pytest.param(
            large_package, "it has 50,001 entries in its channels, and at most 50,000 are resolved", id="entries"
        ),
        pytest.param(large_document, "its document is larger than 32 MiB", id="bytes"),
    ],
)
async def test_a_package_that_is_too_large_is_refused_alone_and_not_requested_again(
    server: Server, tmp_path: Path, large: Callable[[], dict[str, Any]], message: str
) -> None:
    async def only_p_is_large(request: web.Request) -> web.StreamResponse:
        return response(FIRST, large(), document(FIRST, package="q"))

    server.answer = only_p_is_large
    async with client(tmp_path) as catalog_client:
        for _ in range(2):
            found = await find_offer(catalog_client, catalog(server.address), "p")
            assert (found.offer.state, found.offer.package, found.needs_recheck) == (
                CatalogState.TOO_LARGE,
                None,
                False,
            )
            assert found.offer.message == f"{message}; ask its publisher to remove old entries"
        assert version(await find_offer(catalog_client, catalog(server.address), "q")) == "1.0.0"
        assert server.requested == [FIRST]
        server.answer, server.digest = server.valid, SECOND
        assert version(await find_offer(catalog_client, catalog(server.address, SECOND), "p")) == "1.0.0"


async def too_many_packages(request: web.Request) -> web.StreamResponse:
    return response(SECOND, *(document(SECOND, package=f"p{number}") for number in range(MAX_PACKAGES + 1)))


async def test_a_catalog_that_was_too_large_is_requested_again_after_a_restart(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as catalog_client:
        assert version(await find_offer(catalog_client, catalog(server.address), "p")) == "1.0.0"
        server.answer = too_many_packages
        for _ in range(2):
            found = await find_offer(catalog_client, catalog(server.address, SECOND), "p")
            assert (found.offer.state, found.needs_recheck) == (CatalogState.TOO_LARGE, False)
            assert found.offer.message == (
                "its catalog has more than 10,000 packages; ask its publisher to split it or to remove old entries"
            )
        assert server.requested == [FIRST, SECOND]
    server.answer, server.digest = server.valid, SECOND
    async with client(tmp_path) as successor:
        assert version(await find_offer(successor, catalog(server.address, SECOND), "p")) == "1.0.0"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        pytest.param({}, CatalogState.UNREACHABLE, id="its packages are unknown"),
        pytest.param({"packages": "p,q", "packageCount": 2}, CatalogState.UNREACHABLE, id="it has the package"),
        pytest.param({"packages": "q,r", "packageCount": 2}, CatalogState.CACHED, id="it does not have the package"),
        pytest.param(
            {"packages": "q", "packageCount": 2}, CatalogState.UNREACHABLE, id="the list of packages is incomplete"
        ),
    ],
)
async def test_without_cached_content_the_status_decides_whether_the_catalog_matters(
    status: dict[str, Any], state: CatalogState
) -> None:
    async with client() as catalog_client:
        found = await find_offer(catalog_client, catalog("http://127.0.0.1:1", **status), "p")
        assert (found.offer.state, found.offer.package, found.needs_recheck) == (state, None, True)
        assert found.offer.message == "catalogd does not answer (no connection)"


async def test_no_request_is_sent_to_a_server_after_a_timeout(server: Server) -> None:
    forever = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        await forever.wait()
        return web.Response()

    server.answer = silent
    # Long enough for the request to arrive on a busy machine.
    catalog_client = CatalogClient(CatalogSession(ClientSession(timeout=ClientTimeout(total=2.0))), None)
    try:
        for package in ("p", "q", "r"):
            found = await find_offer(catalog_client, catalog(server.address), package)
            assert found.offer.message == "catalogd does not answer (no answer in time)"
        assert server.requested == [FIRST]
    finally:
        forever.set()
        await catalog_client.close()


async def test_content_of_another_digest_than_the_status_names_is_used_and_rechecked(server: Server) -> None:
    async with client() as catalog_client:
        ahead = await find_offer(catalog_client, catalog(server.address, SECOND), "p")
        assert (ahead.offer.state, version(ahead), ahead.needs_recheck) == (CatalogState.SERVING, "1.0.0", True)
        server.digest = SECOND
        assert not (await find_offer(catalog_client, catalog(server.address, SECOND), "p")).needs_recheck


async def test_cached_content_does_not_count_for_a_catalog_that_was_created_again(
    server: Server, tmp_path: Path
) -> None:
    async with client(tmp_path) as catalog_client:
        await find_offer(catalog_client, catalog(server.address), "p")
        again = await find_offer(catalog_client, catalog("http://127.0.0.1:1", uid="another"), "p")
        assert (again.offer.state, again.offer.package) == (CatalogState.UNREACHABLE, None)


async def test_a_catalog_that_is_not_served_receives_no_request(server: Server) -> None:
    waiting = {"type": "Unpacked", "status": "False", "reason": "Unpacking", "message": "pulling the image"}
    conditions = [{**waiting, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    async with client() as catalog_client:
        pending = await find_offer(catalog_client, catalog(server.address, conditions=conditions), "p")
        assert (pending.offer.state, pending.offer.message) == (CatalogState.PENDING, "pulling the image")
        unread = await find_offer(catalog_client, catalog(server.address, conditions=[]), "p")
        assert unread.offer.message == "it has not been read yet"
    assert server.requested == []


async def test_content_of_deleted_catalogs_is_removed(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as catalog_client:
        await find_offer(catalog_client, catalog(server.address), "p")
        await catalog_client.retain_only({"c": "u"})
        assert cached_contents(tmp_path) == [FIRST]
        await catalog_client.retain_only({"d": "u"})
        assert cached_contents(tmp_path) == []
        await find_offer(catalog_client, catalog(server.address), "p")
        await catalog_client.retain_only({"c": "of another one with this name"})
        assert cached_contents(tmp_path) == []
    assert server.requested == [FIRST, FIRST]


@pytest.mark.parametrize(
    "blocked",
    ["resolution", "resolution/.staging", f"resolution/{FIRST.replace(':', '-')}", f"resolution/{STATE_FILE}/"],
)
async def test_a_directory_that_cannot_be_written_disables_only_the_cache_on_disk(
    server: Server, tmp_path: Path, blocked: str
) -> None:
    directory = tmp_path / "resolution"
    await asyncio.to_thread((tmp_path / blocked).parent.mkdir, exist_ok=True)
    if blocked.endswith("/"):
        await asyncio.to_thread((tmp_path / blocked / "a directory in place of the file").mkdir, parents=True)
    else:
        await asyncio.to_thread((tmp_path / blocked).write_text, "a file in place of the directory")
    async with client(directory) as catalog_client:
        await catalog_client.retain_only({"c": "u"})
        assert version(await find_offer(catalog_client, catalog(server.address), "p")) == "1.0.0"
        assert version(await find_offer(catalog_client, catalog(server.address), "p")) == "1.0.0"
    assert server.requested == [FIRST]


async def test_a_failed_write_leaves_no_temporary_file(server: Server, tmp_path: Path) -> None:
    directory_in_its_place = tmp_path / STATE_FILE
    await asyncio.to_thread(directory_in_its_place.mkdir, parents=True)
    async with client(tmp_path) as catalog_client:
        assert version(await find_offer(catalog_client, catalog(server.address), "p")) == "1.0.0"
    assert sorted(os.listdir(tmp_path)) == [".staging", STATE_FILE, content_directory(tmp_path).name]
    assert os.listdir(tmp_path / ".staging") == []
