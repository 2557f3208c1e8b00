"""What the client makes of servers that answer well, badly, late or not at all: real HTTP on loopback, real files."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import ClientSession, ClientTimeout, web

from operator_controller.catalog_client.cache import PackageCache
from operator_controller.catalog_client.client import CatalogClient, OfferResult
from operator_controller.catalog_client.http import MAX_RESPONSE_BYTES, CatalogServers
from operator_controller.resolve.package import MAX_CHANNEL_ENTRIES
from operator_controller.resolve.snapshot import CatalogState

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FIRST, SECOND = "sha256:1", "sha256:2"


def document(digest: str, version: str = "1.0.0") -> dict[str, Any]:
    return {
        "catalogDigest": digest,
        "package": "p",
        "defaultChannel": "a",
        "channels": [{"name": "a", "entries": [{"name": "b"}]}],
        "bundles": [{"name": "b", "image": "r/b", "version": version}],
    }


def catalog(address: str, digest: str = FIRST, *, uid: str = "u", **status: Any) -> dict[str, Any]:
    serving = {"type": "Serving", "status": "True", "reason": "Available", "message": ""}
    return {
        "metadata": {"name": "c", "uid": uid},
        "spec": {"source": {"type": "image", "image": {"ref": "r/c:v1"}}, "priority": 3},
        "status": {
            "conditions": [{**serving, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "contentURL": f"{address}/catalogs/c/all.json",
            "contentDigest": digest,
            **status,
        },
    }


class Server:
    """Answers `/catalogs/c/api/v1/resolution` as the test says, and counts."""

    def __init__(self) -> None:
        self.address = ""
        self.asked: list[str] = []
        self.answer: Handler = self.whole
        self.digest = FIRST

    async def whole(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(document(self.digest), headers={"Olm-Catalog-Digest": self.digest})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.query["package"])
        return await self.answer(request)


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    application = web.Application()
    application.router.add_get("/catalogs/c/api/v1/resolution", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


@contextlib.asynccontextmanager
async def client(folder: Path | None = None) -> AsyncIterator[CatalogClient]:
    made = await CatalogClient.connect(folder)
    try:
        yield made
    finally:
        await made.close()


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def version(answer: OfferResult) -> str | None:
    package = answer.offer.package
    return str(package.bundles["b"].version) if package else None


async def test_a_package_is_asked_for_once_per_digest(server: Server) -> None:
    async with client() as ours:
        first = await ours.get_offer(catalog(server.address), "p")
        assert (first.offer.catalog, first.offer.priority, version(first)) == ("c", 3, "1.0.0")
        assert (first.offer.state, first.needs_recheck) == (CatalogState.SERVING, False)
        assert await ours.get_offer(catalog(server.address), "p") == first
        assert server.asked == ["p"]
        server.digest = SECOND
        await ours.get_offer(catalog(server.address, SECOND), "p")
        assert server.asked == ["p", "p"]


async def test_content_survives_a_restart_on_disk(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as ours:
        await ours.get_offer(catalog(server.address), "p")
    async with client(tmp_path) as successor:
        assert version(await successor.get_offer(catalog("http://127.0.0.1:1"), "p")) == "1.0.0"
    assert server.asked == ["p"]


async def test_content_that_has_no_room_in_memory_is_read_again_from_disk(server: Server, tmp_path: Path) -> None:
    size = len(orjson.dumps(document(FIRST)))
    memory = PackageCache(max_bytes=size + 1)
    async with ClientSession() as session:
        ours = CatalogClient(CatalogServers(session), tmp_path, memory)
        for package in ("p", "q", "p"):
            assert version(await ours.get_offer(catalog(server.address), package)) == "1.0.0"
        assert memory.get(("c", "q")) is None
        assert memory.get(("c", "p")) is not None
    assert server.asked == ["p", "q"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"uid": "u", "digest": "sha256:1", "document": {"bundles": 3}}']
)
async def test_a_damaged_file_is_asked_for_again(server: Server, tmp_path: Path, damage: bytes) -> None:
    async with client(tmp_path) as ours:
        await ours.get_offer(catalog(server.address), "p")
    (tmp_path / "c" / "p.json").write_bytes(damage)
    async with client(tmp_path) as successor:
        assert version(await successor.get_offer(catalog(server.address), "p")) == "1.0.0"
    assert server.asked == ["p", "p"]


async def test_a_package_that_is_not_there_is_remembered_as_such(server: Server, tmp_path: Path) -> None:
    async def absent(request: web.Request) -> web.StreamResponse:
        return web.json_response({"error": "no such package"}, status=404, headers={"Olm-Catalog-Digest": FIRST})

    server.answer = absent
    for _ in range(2):
        async with client(tmp_path) as ours:
            found = await ours.get_offer(catalog(server.address), "p")
            assert (found.offer.state, found.offer.package, found.needs_recheck) == (CatalogState.SERVING, None, False)
    assert server.asked == ["p"]


async def refused(request: web.Request) -> web.StreamResponse:
    return web.Response(status=503, headers={"Retry-After": "0"})


async def unknown_catalog(request: web.Request) -> web.StreamResponse:
    return web.json_response({"error": "no such catalog"}, status=404)


async def garbage(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"<html>")


async def another_shape(request: web.Request) -> web.StreamResponse:
    return web.json_response({"bundles": 3})


async def no_object(request: web.Request) -> web.StreamResponse:
    return web.json_response([])


async def elsewhere(request: web.Request) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})


async def cut_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"{")
    assert request.transport is not None
    request.transport.close()
    return response


async def flood(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b" " * (MAX_RESPONSE_BYTES + 1))


BAD = [
    pytest.param(flood, "catalogd's answer is larger than 33554432 bytes", id="a flood"),
    pytest.param(refused, "catalogd answered 503", id="503"),
    pytest.param(unknown_catalog, "catalogd answered 404", id="a catalog it does not know"),
    pytest.param(garbage, "catalogd's answer cannot be read: ", id="no JSON"),
    pytest.param(another_shape, "catalogd's answer cannot be read: bundles is no list", id="another shape"),
    pytest.param(no_object, "catalogd's answer cannot be read: the document is no mapping", id="a list"),
    pytest.param(elsewhere, "catalogd answered 302", id="a redirect is not followed"),
    pytest.param(cut_off, "catalogd does not answer (ClientPayloadError)", id="a connection that breaks"),
]


@pytest.mark.parametrize(("answer", "message"), BAD)
async def test_a_bad_answer_leaves_the_last_content_in_force(server: Server, answer: Handler, message: str) -> None:
    async with client() as ours:
        await ours.get_offer(catalog(server.address), "p")
        server.answer = answer
        away = await ours.get_offer(catalog(server.address, SECOND), "p")
        assert (away.offer.state, version(away), away.needs_recheck) == (CatalogState.CACHED, "1.0.0", True)
        assert away.offer.message.startswith(message)
        server.answer, server.digest = server.whole, SECOND
        back = await ours.get_offer(catalog(server.address, SECOND), "p")
        assert (back.offer.state, back.needs_recheck) == (CatalogState.SERVING, False)


async def large_package(request: web.Request) -> web.StreamResponse:
    made = document(FIRST)
    made["channels"][0]["entries"] *= MAX_CHANNEL_ENTRIES + 1
    return web.json_response(made, headers={"Olm-Catalog-Digest": FIRST})


async def large_document(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b" " * (MAX_RESPONSE_BYTES + 1), headers={"Olm-Catalog-Digest": FIRST})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            large_package, "it has 50,001 entries in its channels, and at most 50,000 are resolved", id="entries"
        ),
        pytest.param(large_document, "its document is larger than 32 MiB", id="bytes"),
    ],
)
async def test_a_package_that_is_too_large_is_refused_alone_and_not_asked_for_again(
    server: Server, tmp_path: Path, answer: Handler, message: str
) -> None:
    async def only_p_is_large(request: web.Request) -> web.StreamResponse:
        return await (answer if request.query["package"] == "p" else server.whole)(request)

    server.answer = only_p_is_large
    async with client(tmp_path) as ours:
        for _ in range(2):
            large = await ours.get_offer(catalog(server.address), "p")
            assert (large.offer.state, large.offer.package, large.needs_recheck) == (
                CatalogState.TOO_LARGE,
                None,
                False,
            )
            assert large.offer.message == f"{message}; ask its publisher to remove old entries"
        assert version(await ours.get_offer(catalog(server.address), "q")) == "1.0.0"
        assert server.asked == ["p", "q"]
        server.answer, server.digest = server.whole, SECOND
        assert version(await ours.get_offer(catalog(server.address, SECOND), "p")) == "1.0.0"


async def test_what_was_too_large_is_asked_for_again_after_a_restart(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as ours:
        assert version(await ours.get_offer(catalog(server.address), "p")) == "1.0.0"
        server.answer = large_package
        await ours.get_offer(catalog(server.address, SECOND), "p")
    server.answer, server.digest = server.whole, SECOND
    async with client(tmp_path) as successor:
        assert version(await successor.get_offer(catalog(server.address, SECOND), "p")) == "1.0.0"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        pytest.param({}, CatalogState.UNREACHABLE, id="nothing is known of its packages"),
        pytest.param({"packages": "p,q", "packageCount": 2}, CatalogState.UNREACHABLE, id="the package is there"),
        pytest.param({"packages": "q,r", "packageCount": 2}, CatalogState.CACHED, id="the package is not there"),
        pytest.param({"packages": "q", "packageCount": 2}, CatalogState.UNREACHABLE, id="the list of packages is cut"),
    ],
)
async def test_without_content_it_matters_whether_the_package_was_there(
    status: dict[str, Any], state: CatalogState
) -> None:
    async with client() as ours:
        found = await ours.get_offer(catalog("http://127.0.0.1:1", **status), "p")
        assert (found.offer.state, found.offer.package, found.needs_recheck) == (state, None, True)
        assert found.offer.message == "catalogd does not answer (no connection)"


async def test_a_server_that_is_silent_is_not_asked_by_everybody(server: Server) -> None:
    forever = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        await forever.wait()
        return web.Response()

    server.answer = silent
    # Long enough for the question to arrive on a busy machine.
    ours = CatalogClient(CatalogServers(ClientSession(timeout=ClientTimeout(total=2.0))), None)
    try:
        for package in ("p", "q", "r"):
            found = await ours.get_offer(catalog(server.address), package)
            assert found.offer.message == "catalogd does not answer (no answer in time)"
        assert server.asked == ["p"]
    finally:
        forever.set()
        await ours.close()


async def test_an_answer_of_other_content_than_the_status_names_is_used_and_asked_for_again(server: Server) -> None:
    async with client() as ours:
        ahead = await ours.get_offer(catalog(server.address, SECOND), "p")
        assert (ahead.offer.state, version(ahead), ahead.needs_recheck) == (CatalogState.SERVING, "1.0.0", True)
        server.digest = SECOND
        assert not (await ours.get_offer(catalog(server.address, SECOND), "p")).needs_recheck


async def test_a_catalog_that_was_made_again_has_no_past(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as ours:
        await ours.get_offer(catalog(server.address), "p")
        again = await ours.get_offer(catalog("http://127.0.0.1:1", uid="another"), "p")
        assert (again.offer.state, again.offer.package) == (CatalogState.UNREACHABLE, None)


async def test_a_catalog_that_does_not_serve_is_not_asked(server: Server) -> None:
    waiting = {"type": "Unpacked", "status": "False", "reason": "Unpacking", "message": "pulling the image"}
    conditions = [{**waiting, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    async with client() as ours:
        pending = await ours.get_offer(catalog(server.address, conditions=conditions), "p")
        assert (pending.offer.state, pending.offer.message) == (CatalogState.PENDING, "pulling the image")
        silent = await ours.get_offer(catalog(server.address, conditions=[]), "p")
        assert silent.offer.message == "it has not been read yet"
    assert server.asked == []


async def test_content_of_catalogs_that_are_gone_is_dropped(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as ours:
        await ours.get_offer(catalog(server.address), "p")
        await ours.retain_only({"c"}, {"p"})
        assert orjson.loads((tmp_path / "c" / "p.json").read_bytes())["digest"] == FIRST
        await ours.retain_only({"d"}, {"p"})
        assert kept(tmp_path) == []
        await ours.get_offer(catalog(server.address), "p")
    assert server.asked == ["p", "p"]


@pytest.mark.parametrize("in_the_way", ["resolution", "resolution/c"])
async def test_a_folder_that_cannot_be_written_costs_only_the_memory_of_restarts(
    server: Server, tmp_path: Path, in_the_way: str
) -> None:
    folder = tmp_path / "resolution"
    await asyncio.to_thread((tmp_path / in_the_way).parent.mkdir, exist_ok=True)
    await asyncio.to_thread((tmp_path / in_the_way).write_text, "in the way")
    async with client(folder) as ours:
        await ours.retain_only({"c"}, {"p"})
        assert version(await ours.get_offer(catalog(server.address), "p")) == "1.0.0"
        assert version(await ours.get_offer(catalog(server.address), "p")) == "1.0.0"
    assert server.asked == ["p"]


async def test_a_file_that_cannot_be_written_leaves_no_other(server: Server, tmp_path: Path) -> None:
    in_its_place = tmp_path / "c" / "p.json"
    await asyncio.to_thread(in_its_place.mkdir, parents=True)
    async with client(tmp_path) as ours:
        assert version(await ours.get_offer(catalog(server.address), "p")) == "1.0.0"
    assert os.listdir(tmp_path / "c") == ["p.json"]
