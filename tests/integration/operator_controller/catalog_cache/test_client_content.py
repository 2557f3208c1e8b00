"""Whole contents of catalogs: requested once, shared, verified, replaced. Servers on loopback, real files, real disks."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.store.store import Store
from operator_controller.catalog_cache.client import CONTENT_RETRY_DELAY_SECONDS, CatalogContentResult
from operator_controller.catalog_cache.content_store import STATE_FILE
from operator_controller.catalog_cache.stored_documents import DOCUMENTS_FILE, ContentDocuments
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.integration.disk import fill_up
from tests.integration.operator_controller.catalog_cache.test_client import (
    DIGEST_HEADER,
    FIRST,
    SECOND,
    Server,
    cached_contents,
    catalog,
    client,
    content_directory,
    document,
    find_offer,
    lines,
    refused,
    response,
    server,
    version,
    with_digest,
)

__all__ = ["server"]
THIRD = "sha256:" + "3" * 64


def packages(result: CatalogContentResult) -> list[str] | None:
    return [*result.content.index.packages] if result.content is not None else None


async def test_the_content_is_read_by_other_processes(server: Server, tmp_path: Path) -> None:
    async with client(tmp_path) as catalog_client:
        result = await catalog_client.content(catalog(server.address))
        assert (result.state, packages(result), result.message) == (CatalogState.SERVING, ["p", "q"], "")
        documents = ContentDocuments(catalog_client.directory)
        assert json.loads(documents.read_text(FIRST, "p")) == document(FIRST)
        documents.close_files()


async def test_passes_that_need_the_same_content_share_one_request(server: Server) -> None:
    async with client() as catalog_client:
        calls = [catalog_client.content(catalog(server.address)) for _ in range(20)]
        offers = [find_offer(catalog_client, catalog(server.address), "p") for _ in range(20)]
        found, _ = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*offers))
        assert [packages(result) for result in found] == [["p", "q"]] * 20
        assert server.requested == [FIRST]


async def test_a_pass_that_is_cancelled_does_not_cancel_the_request_of_others(server: Server) -> None:
    arrived, released = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        arrived.set()
        await released.wait()
        return await server.valid(request)

    server.answer = slow
    async with client() as catalog_client:
        first, second = (asyncio.create_task(catalog_client.content(catalog(server.address))) for _ in range(2))
        async with asyncio.timeout(30):
            await arrived.wait()
        first.cancel()
        released.set()
        assert packages(await second) == ["p", "q"]
        assert server.requested == [FIRST]


async def test_a_client_that_closes_cancels_its_requests(server: Server, tmp_path: Path) -> None:
    arrived, forever = asyncio.Event(), asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        arrived.set()
        await forever.wait()
        return web.Response()

    server.answer = silent
    async with client(tmp_path) as catalog_client:
        call = asyncio.create_task(catalog_client.content(catalog(server.address)))
        async with asyncio.timeout(30):
            await arrived.wait()
    await asyncio.wait([call])
    assert call.cancelled()
    assert os.listdir(tmp_path / ".staging") == []
    forever.set()


async def test_catalogs_with_equal_content_share_it(server: Server, tmp_path: Path) -> None:
    forever = asyncio.Event()

    async def header(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Length": "1000", DIGEST_HEADER: FIRST})
        await stream.prepare(request)
        await forever.wait()
        return stream

    async with client(tmp_path) as catalog_client:
        first = await catalog_client.content(catalog(server.address, name="a"))
        stored = (content_directory(tmp_path) / "content" / DOCUMENTS_FILE).stat()
        server.answer = header
        async with asyncio.timeout(30):
            second = await catalog_client.content(catalog(server.address, name="b"))
        forever.set()
        assert first == second
        assert (content_directory(tmp_path) / "content" / DOCUMENTS_FILE).stat().st_ino == stored.st_ino
        assert server.requested == [FIRST, FIRST]
        await catalog_client.retain_only({"b": "u"})
        assert await catalog_client.content(catalog("http://127.0.0.1:1", name="b")) == second
        assert cached_contents(tmp_path) == [FIRST]


async def test_a_compressed_response_is_decompressed(server: Server) -> None:
    accepted: list[str] = []

    async def compressed(request: web.Request) -> web.StreamResponse:
        accepted.append(request.headers["Accept-Encoding"])
        headers = {DIGEST_HEADER: FIRST, "Content-Encoding": "gzip"}
        return web.Response(body=gzip.compress(lines([document(FIRST)])), headers=headers)

    server.answer = compressed
    async with client() as catalog_client:
        assert packages(await catalog_client.content(catalog(server.address))) == ["p"]
    assert accepted == ["gzip"]


async def another_encoding(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x", headers={DIGEST_HEADER: SECOND, "Content-Encoding": "br"})


async def truncated_gzip(request: web.Request) -> web.StreamResponse:
    body = gzip.compress(lines([document(SECOND)]))[:-4]
    return web.Response(body=body, headers={DIGEST_HEADER: SECOND, "Content-Encoding": "gzip"})


async def without_a_length(request: web.Request) -> web.StreamResponse:
    """As a server of HTTP/1.0: the end of the connection is the end of the body, also if it broke."""
    assert request.transport is not None
    request.transport.write(b"HTTP/1.0 200 OK\r\n%s: %s\r\n\r\n" % (DIGEST_HEADER.encode(), SECOND.encode()))
    request.transport.write(lines([document(SECOND)]))
    request.transport.close()
    return web.Response()


async def broken_chunks(request: web.Request) -> web.StreamResponse:
    stream = web.StreamResponse(headers={DIGEST_HEADER: SECOND})
    await stream.prepare(request)
    await stream.write(lines([document(SECOND)]))
    assert request.transport is not None
    request.transport.close()
    return stream


async def of_another_content(request: web.Request) -> web.StreamResponse:
    return response(SECOND, document(SECOND), document(FIRST, package="q"))


async def twice(request: web.Request) -> web.StreamResponse:
    return response(SECOND, document(SECOND), document(SECOND))


async def no_digest_at_all(request: web.Request) -> web.StreamResponse:
    return web.Response(body=lines([document(SECOND)]), headers={DIGEST_HEADER: "../../etc"})


UNREADABLE = "catalogd's answer cannot be read: "


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(another_encoding, UNREADABLE + "its encoding was not requested", id="another encoding"),
        pytest.param(truncated_gzip, UNREADABLE + "its compressed form is not complete or damaged", id="cut gzip"),
        pytest.param(without_a_length, UNREADABLE + "it does not name its length", id="a body without a length"),
        pytest.param(broken_chunks, "catalogd does not answer (ClientPayloadError)", id="cut between two lines"),
        pytest.param(of_another_content, UNREADABLE + "the document belongs to another content", id="mixed contents"),
        pytest.param(twice, UNREADABLE + 'package "p" is listed more than once', id="a package twice"),
        pytest.param(no_digest_at_all, UNREADABLE + "it does not name the digest of its content", id="a path"),
    ],
)
async def test_the_old_content_stays_until_the_new_one_is_complete(
    server: Server, tmp_path: Path, answer: Callable[[web.Request], object], message: str
) -> None:
    now = [1000.0]
    async with client(tmp_path, clock=lambda: now[0]) as catalog_client:
        first = await catalog_client.content(catalog(server.address))
        server.answer = answer  # type: ignore[assignment]
        failed = await catalog_client.content(catalog(server.address, SECOND))
        assert (failed.state, failed.content, failed.needs_recheck) == (CatalogState.CACHED, first.content, True)
        assert failed.message.startswith(message)
        assert cached_contents(tmp_path) == [FIRST]
        assert os.listdir(tmp_path / ".staging") == []
        now[0] += CONTENT_RETRY_DELAY_SECONDS
        server.answer, server.digest = server.valid, SECOND
        second = await catalog_client.content(catalog(server.address, SECOND))
        assert (second.state, second.needs_recheck) == (CatalogState.SERVING, False)
    async with client(tmp_path) as successor:
        assert packages(await successor.content(catalog("http://127.0.0.1:1", SECOND))) == ["p", "q"]


async def test_content_that_cannot_be_used_is_not_requested_by_every_pass(server: Server) -> None:
    now = [1000.0]
    async with client(clock=lambda: now[0]) as catalog_client:
        server.answer = twice
        first = await catalog_client.content(catalog(server.address, SECOND))
        assert (first.state, first.needs_recheck) == (CatalogState.UNREACHABLE, True)
        now[0] += CONTENT_RETRY_DELAY_SECONDS - 1
        assert await catalog_client.content(catalog(server.address, SECOND)) == first
        assert server.requested == [SECOND]
        server.answer = server.valid
        assert packages(await catalog_client.content(catalog(server.address, FIRST))) == ["p", "q"]
        server.digest = SECOND
        assert packages(await catalog_client.content(catalog(server.address, SECOND))) == ["p", "q"]


async def test_a_catalog_that_is_away_counts_by_its_last_content_after_a_restart(
    server: Server, tmp_path: Path
) -> None:
    async with client(tmp_path) as catalog_client:
        await catalog_client.content(catalog(server.address))
    async with client(tmp_path) as successor:
        away = await successor.content(catalog("http://127.0.0.1:1", SECOND))
        assert (away.state, packages(away), away.needs_recheck) == (CatalogState.CACHED, ["p", "q"], True)
        assert away.message == "catalogd does not answer (no connection)"
        assert version(await find_offer(successor, catalog("http://127.0.0.1:1", SECOND), "p")) == "1.0.0"


async def test_content_that_was_replaced_before_the_status_arrived_is_requested_without_a_digest(
    server: Server,
) -> None:
    async def only_the_second(request: web.Request) -> web.StreamResponse:
        if request.query.get("digest", SECOND) != SECOND:
            return web.json_response({"error": "the catalog does not have this content"}, status=404)
        return response(SECOND, document(SECOND, "2.0.0"))

    server.answer = only_the_second
    async with client() as catalog_client:
        ahead = await find_offer(catalog_client, catalog(server.address, FIRST), "p")
        assert (ahead.offer.state, version(ahead), ahead.needs_recheck) == (CatalogState.SERVING, "2.0.0", True)
        assert server.requested == [FIRST, ""]
        current = await find_offer(catalog_client, catalog(server.address, SECOND), "p")
        assert (version(current), current.needs_recheck) == ("2.0.0", False)
        assert server.requested == [FIRST, ""]


async def test_the_content_before_the_last_is_kept_for_the_solver(server: Server, tmp_path: Path) -> None:
    kept: list[list[str]] = []
    async with client(tmp_path) as catalog_client:
        for digest in (FIRST, SECOND, THIRD):
            server.digest = digest
            await catalog_client.content(catalog(server.address, digest))
            kept.append(cached_contents(tmp_path))
        assert kept == [[FIRST], [FIRST, SECOND], [SECOND, THIRD]]


async def test_directories_that_are_no_content_are_removed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "p.json").write_text("{}")
    async with client(tmp_path) as catalog_client:
        await catalog_client.content(catalog(server.address))
        await catalog_client.retain_only({"c": "u"})
    assert sorted(os.listdir(tmp_path)) == [".staging", STATE_FILE, content_directory(tmp_path).name]


async def test_a_document_with_another_shape_affects_its_own_package_only(server: Server) -> None:
    async def odd(request: web.Request) -> web.StreamResponse:
        return response(FIRST, with_digest(FIRST, {**document(FIRST), "bundles": [3]}), document(FIRST, package="q"))

    server.answer = odd
    async with client() as catalog_client:
        found = await find_offer(catalog_client, catalog(server.address), "p")
        assert (found.offer.state, found.needs_recheck) == (CatalogState.UNREACHABLE, False)
        message = 'its document of package "p" cannot be read: Expected `object`, got `int` - at `$.bundles[0]`; '
        assert found.offer.message.startswith(message)
        assert version(await find_offer(catalog_client, catalog(server.address), "q")) == "1.0.0"
        assert server.requested == [FIRST]


@pytest.mark.parametrize("name", [f"content/{DOCUMENTS_FILE}", "."])
async def test_content_that_is_damaged_while_it_is_used_is_requested_again(
    server: Server, tmp_path: Path, name: str
) -> None:
    async with client(tmp_path) as catalog_client:
        await catalog_client.content(catalog(server.address))
        if name == ".":
            Store(tmp_path).remove(FIRST)
        else:
            (content_directory(tmp_path) / name).write_bytes(b"x" * 10_000)
        damaged = await find_offer(catalog_client, catalog(server.address), "p")
        assert (damaged.offer.state, damaged.offer.package) == (CatalogState.UNREACHABLE, None)
        await catalog_client.report_damage(FIRST)
        assert version(await find_offer(catalog_client, catalog(server.address), "p")) == "1.0.0"
        assert server.requested == [FIRST, FIRST]
        Store(tmp_path).remove(FIRST)
        await catalog_client.report_damage(FIRST)
        server.answer = refused
        gone = await catalog_client.content(catalog(server.address))
        assert (gone.state, gone.content, gone.needs_recheck) == (CatalogState.UNREACHABLE, None, True)


FULL = (
    "its content cannot be stored: the disk that keeps the content is full: "
    "free some space or give the cache a larger volume"
)


@pytest.mark.parametrize(
    ("free", "size"),
    [
        pytest.param(0, 200, id="for the response"),
        pytest.param(500_000, 1000, id="for its documents"),
    ],
)
async def test_a_full_disk_is_reported_and_the_old_content_stays(
    server: Server, disk: Path, free: int, size: int
) -> None:
    async def large(request: web.Request) -> web.StreamResponse:
        return response(SECOND, *(document(SECOND, package=f"p{number}") for number in range(size)))

    now = [1000.0]
    async with client(disk, clock=lambda: now[0]) as catalog_client:
        first = await catalog_client.content(catalog(server.address))
        room = disk / "room"
        await asyncio.to_thread(room.write_bytes, b"x" * free)
        full = await asyncio.to_thread(fill_up, disk)
        room.unlink()
        server.answer = large
        failed = await catalog_client.content(catalog(server.address, SECOND))
        assert (failed.state, failed.content, failed.needs_recheck) == (CatalogState.CACHED, first.content, True)
        assert failed.message == FULL
        assert (cached_contents(disk), os.listdir(disk / ".staging")) == ([FIRST], [])
        full.unlink()
        now[0] += CONTENT_RETRY_DELAY_SECONDS
        recovered = await catalog_client.content(catalog(server.address, SECOND))
        assert (recovered.state, len(packages(recovered) or ())) == (CatalogState.SERVING, size)
