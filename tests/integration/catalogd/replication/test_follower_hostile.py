"""What replicas ask and answer over raw sockets: nothing is given but content on the store, and nothing is believed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from catalogd.storage.state_file import dump
from tests.integration.catalogd.catalog_stores import ONE, TWO, publish, record
from tests.integration.catalogd.replicas import FollowerInputs, Replica, following, listening, log_text, until


async def ask(address: str, path: str) -> tuple[int, bytes]:
    """The path as it is, as no honest client would send it."""
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    "path",
    [
        f"{ONE}/manifest.json",
        f"{ONE}/../manifest.json",
        f"{ONE}/../../../secret",
        f"{ONE}/..%2F..%2F..%2Fsecret",
        f"{ONE}/%2e%2e/%2e%2e/%2e%2e/secret",
        f"{ONE}//etc/passwd",
        f"{ONE}/%2Fetc%2Fpasswd",
        f"{ONE}/./all.jsonl",
        f"{ONE}/all.jsonl/",
        f"{ONE}/all.jsonl%00",
        f"{ONE}/content/all.jsonl",
        f"{ONE}/..",
        f"{TWO}",
        f"{TWO}/all.jsonl",
        f"{ONE.replace(':', '-')}/all.jsonl",
        "..%2F..%2Fsecret",
        ".staging",
        "../../secret",
        "",
    ],
)
async def test_only_files_of_content_in_the_store_are_sent(leader: Replica, path: str) -> None:
    await leader.serve(ONE, "a")
    publish(leader.root, TWO)  # here, but on no store
    (leader.root.parent / "secret").write_text("secret")
    (leader.root / "secret").write_text("secret")
    status, body = await ask(leader.address, f"/replication/v1/content/{path}")
    assert status in (400, 404)
    assert b"secret" not in body
    assert (await ask(leader.address, f"/replication/v1/content/{ONE}/all.jsonl"))[0] == 200


async def test_retained_content_is_sent_and_removed_content_is_not(leader: Replica) -> None:
    await leader.serve(ONE, "a")
    await leader.serve(TWO, "a")
    assert (await ask(leader.address, f"/replication/v1/content/{ONE}/all.jsonl"))[0] == 200
    await leader.catalog_store.remove("a")
    assert (await ask(leader.address, f"/replication/v1/content/{ONE}"))[0] == 404


async def test_records_have_an_etag(leader: Replica) -> None:
    url = f"http://{leader.address}/replication/v1/records"
    async with aiohttp.ClientSession() as http:
        async with http.get(url) as before:
            tag = before.headers["ETag"]
        async with http.get(url, headers={"If-None-Match": tag}) as same:
            assert same.status == 304
        await leader.serve(ONE, "a")
        async with http.get(url, headers={"If-None-Match": tag}) as after:
            assert after.status == 200
            assert after.headers["ETag"] != tag


def _answers(status: int, body: bytes, **headers: str) -> web.Application:
    """A server that has one answer to everything."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, body=body, headers=headers)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    return application


NONSENSE = {
    "another program": _answers(200, b"<html>"),
    "nothing": _answers(200, b""),
    "an error": _answers(500, b"{}"),
    "a refusal": _answers(403, b"{}"),
    "a way elsewhere": _answers(302, b"", Location="/replication/v1/records"),
    "records of another version": _answers(200, b'{"format": 9, "catalogs": {"b": {}}, "kept": []}'),
    "records that are none": _answers(200, b'{"format": 2, "catalogs": {"b": 7, "c": {"digest": "x"}}, "kept": []}'),
}


@pytest.mark.parametrize("what", NONSENSE)
async def test_invalid_responses_of_a_leader_remove_nothing(leader: Replica, follower: Replica, what: str) -> None:
    await leader.serve(ONE, "a")
    inputs = FollowerInputs(leader.address)
    async with listening(NONSENSE[what]) as address, following(follower.catalog_store, inputs):
        await until(lambda: follower.served() == {"a": ONE})
        inputs.leader = address
        await asyncio.sleep(0.2)
        assert follower.served() == {"a": ONE}
        await leader.serve(TWO, "b")
        inputs.leader = leader.address
        await until(lambda: follower.served() == {"a": ONE, "b": TWO})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, "it wants the token of a ServiceAccount; give this replica a kubeconfig with one, or run it in a pod"),
        (403, "bind the ClusterRole olm-suite-catalogd to the account of this replica"),
    ],
)
async def test_a_replica_without_access_to_the_leader_reports_what_is_missing(
    follower: Replica, caplog: pytest.LogCaptureFixture, status: int, expected: str
) -> None:
    async with listening(_answers(status, b"")) as address, following(follower.catalog_store, FollowerInputs(address)):
        await until(lambda: f"the leader answered {status}: {expected}" in log_text(caplog))


async def test_a_leader_that_lists_files_outside_of_the_directory_writes_nothing(
    follower: Replica, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def records(_: web.Request) -> web.Response:
        return web.Response(body=dump({"a": record(ONE)}))

    async def manifest(_: web.Request) -> web.Response:
        files = {"../../../../escaped": [1, ["0" * 64]]}
        return web.json_response({"format": 2, "digest": ONE, "files": files})

    application = web.Application()
    application.router.add_get("/replication/v1/records", records)
    application.router.add_get("/replication/v1/content/{path:.*}", manifest)
    async with listening(application) as address, following(follower.catalog_store, FollowerInputs(address)):
        await until(lambda: "the checksums file lists an invalid file" in log_text(caplog))
    assert "escaped" not in str(await asyncio.to_thread(lambda: list(tmp_path.rglob("*"))))
