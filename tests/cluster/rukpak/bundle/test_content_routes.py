"""The files of Bundles: for tokens that the real API server allows, over TLS with the certificate that rukpak makes."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import logging
import random
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from devcluster.services import free_address
from olmkit.api import bundles
from olmkit.store.store import Store
from olmkit.tls.client_tls import client_context
from olmkit.tls.service import RUKPAK_SERVICE
from rukpak.bundle.leader_forwarding import FORWARDED_HEADER
from rukpak.bundle.recorded_sources import resolved_digest
from tests.cluster.accounts import READER, STRANGER, accounts, published_ca
from tests.cluster.olmkit.conftest import until_allowed
from tests.cluster.rukpak.admission.conftest import Place, place, spec_of
from tests.cluster.rukpak.harness import Object, config_map, namespace, plain
from tests.conditions import triple

__all__ = ["place"]


@dataclass
class Site:
    """A client of the server at the address of the webhooks, and the tokens of two accounts."""

    place: Place
    http: aiohttp.ClientSession
    tokens: Mapping[str, str]

    async def send(
        self, path: str, token: str | None = READER, method: str = "GET", **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """The status, the headers and the body of the answer to a request with the token of an account, or with this token."""
        if token is not None:
            headers["Authorization"] = f"Bearer {self.tokens.get(token, token)}"
        url = f"https://localhost:{self.place.address.rpartition(':')[2]}{path}"
        async with self.http.request(method, url, headers=headers) as answer:
            return answer.status, answer.headers, await answer.read()


@asynccontextmanager
async def site_of(place: Place) -> AsyncIterator[Site]:
    """The Site of a rukpak that runs."""
    at = place.at
    async with AsyncExitStack() as stack:
        tokens = await asyncio.to_thread(accounts, at.cluster, place.system, "bundle-reader")
        stack.callback(at.cluster.kubectl, "delete", "clusterrolebinding", place.system)
        allowed = {"verb": "get", "path": "/bundles/any.tgz"}
        await until_allowed(at.client, f"{place.system}:{READER}", nonResourceAttributes=allowed)
        context = client_context(await published_ca(at.client, place.system, RUKPAK_SERVICE), with_system=False)
        connector = aiohttp.TCPConnector(ssl=context)
        yield Site(place, await stack.enter_async_context(aiohttp.ClientSession(connector=connector)), tokens)


async def created(place: Place, ref: str, suffix: str = "") -> str:
    """Create a Bundle of an image; returns its name."""
    name = f"{place.at.name}{suffix}"
    body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": name}}
    await place.at.create(bundles.KIND, {**body, "spec": spec_of(ref)})
    return name


async def when_unpacked(place: Place, name: str, status: str = "True") -> Object:
    found = await place.at.when(bundles.KIND, name, "", lambda raw: triple(raw or {}, "Unpacked")[0] == status)
    assert found is not None
    return found


def unpacked(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as archive:
        files = {each.name: archive.extractfile(each) for each in archive}
    return {name: file.read() for name, file in files.items() if file is not None}


async def test_the_files_of_a_bundle_are_for_those_who_may_get_its_path(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    files = plain(namespace(place.at.name), config_map("log", place.at.name))
    async with place.rukpak(), site_of(place) as site:
        name = await created(place, place.at.push({**files, "README.md": b"x"}))
        found = await when_unpacked(place, name)
        path = f"/bundles/{name}.tgz"
        assert found["status"]["contentURL"] == f"https://rukpak.{place.system}.svc{path}"
        status, headers, data = await site.send(path)
        assert (status, headers["Content-Type"], unpacked(data)) == (200, "application/gzip", files)
        assert headers["ETag"] == f'"{resolved_digest(found).partition(":")[2]}"'
        assert (await site.send(path))[2] == data, "the same bytes each time"
        assert (await site.send(path, **{"If-None-Match": headers["ETag"]}))[0] == 304
        status, of_head, nothing = await site.send(path, method="HEAD")
        assert (status, of_head["Content-Length"], nothing) == (200, str(len(data)), b"")

        status, _, error = await site.send("/bundles/nobody.tgz")
        assert (status, error) == (404, b'{"error":"there is no Bundle nobody"}\n')
        for each in (path, "/bundles/nobody.tgz"):
            assert (await site.send(each, None))[0] == 401
            assert (await site.send(each, "nonsense"))[0] == 401
            status, _, error = await site.send(each, STRANGER)
            assert (status, b"may not get this path" in error) == (403, True)
    for token in site.tokens.values():
        assert token not in caplog.text


async def test_a_bundle_that_has_no_content_has_no_address(place: Place) -> None:
    async with place.rukpak(), site_of(place) as site:
        name = await created(place, f"{place.at.cluster.registry}/bundles/{place.at.name}:missing")
        found = await when_unpacked(place, name, "False")
        assert "contentURL" not in found["status"]
        status, _, error = await site.send(f"/bundles/{name}.tgz")
        assert (status, error) == (404, f'{{"error":"Bundle {name} is not unpacked: its status says why"}}\n'.encode())


async def test_damaged_content_is_not_sent_and_fetched_again(place: Place) -> None:
    files = plain(namespace(place.at.name), config_map("log", place.at.name))
    async with place.rukpak(), site_of(place) as site:
        name = await created(place, place.at.push(files))
        digest = resolved_digest(await when_unpacked(place, name))
        directory = Store(place.directory / "a" / "bundles", create=False).path(digest)
        assert directory is not None
        (manifest,) = (directory / "files" / "manifests").iterdir()
        good = manifest.read_bytes()
        assert b"log" in good
        manifest.write_bytes(good.replace(b"log", b"LOG"))
        seen: set[int] = set()
        async with asyncio.timeout(30):
            while 200 not in seen:
                status, _, data = await site.send(f"/bundles/{name}.tgz")
                seen.add(status)
        assert seen <= {200, 404, 503}, "404 if the controller has noticed it first"
        assert unpacked(data) == files


async def test_a_replica_that_does_not_lead_has_the_leader_answer(place: Place) -> None:
    """With the token of the sender: the follower has no content, and needs no permission for it."""
    elected: dict[str, Any] = {"leader_elect": True}
    behind = free_address()
    async with place.rukpak(**elected), site_of(place) as site, place.rukpak("b", behind, **elected):
        name = await created(place, place.at.push(plain(namespace(place.at.name))))
        await when_unpacked(place, name)
        follower, path = replace(site, place=replace(place, address=behind)), f"/bundles/{name}.tgz"
        status, headers, data = await site.send(path)
        found, passed_on, same = await follower.send(path)
        assert (found, same, passed_on["ETag"], passed_on["Content-Type"]) == (
            status,
            data,
            headers["ETag"],
            headers["Content-Type"],
        )
        assert (await follower.send(path, **{"If-None-Match": headers["ETag"]}))[0] == 304
        status, of_head, nothing = await follower.send(path, method="HEAD")
        assert (status, of_head["Content-Length"], nothing) == (200, str(len(data)), b"")
        status, _, error = await follower.send("/bundles/nobody.tgz")
        assert (status, error) == (404, b'{"error":"there is no Bundle nobody"}\n')
        assert (await follower.send(path, STRANGER))[0] == 403
        status, headers, error = await follower.send(path, **{FORWARDED_HEADER: "true"})
        assert (status, "Retry-After" in headers, b"does not lead" in error) == (503, True, True)


async def when_served(site: Site, path: str) -> tuple[bytes, set[int]]:
    """The answer as soon as it is 200, and all statuses until then, each with the time to come back: a replica that follows has
    to know the leader, and to trust its certificate."""
    seen: set[int] = set()
    async with asyncio.timeout(60):
        while 200 not in seen:
            status, headers, data = await site.send(path)
            assert status == 200 or "Retry-After" in headers
            seen.add(status)
    return data, seen


@pytest.mark.crash
async def test_a_leader_that_ends_while_it_sends_is_no_end_of_the_archive(place: Place) -> None:
    """The reader of another replica notices the cut, is asked to come back, and gets the same archive from the next leader."""
    elected: dict[str, Any] = {"leader_elect": True}
    behind = free_address()
    noise = {"n": base64.b64encode(random.Random(1).randbytes(700_000)).decode()}
    large = [{**config_map(f"log{number}", place.at.name), "binaryData": noise} for number in range(25)]
    async with AsyncExitStack() as leading:
        await leading.enter_async_context(place.rukpak(**elected))
        async with site_of(place) as site, place.rukpak("b", behind, **elected):
            name = await created(place, place.at.push(plain(namespace(place.at.name), *large)))
            await when_unpacked(place, name)
            follower, path = replace(site, place=replace(place, address=behind)), f"/bundles/{name}.tgz"
            whole, _ = await when_served(follower, path)
            url = f"https://localhost:{behind.rpartition(':')[2]}{path}"
            async with site.http.get(url, headers={"Authorization": f"Bearer {site.tokens[READER]}"}) as answer:
                assert (answer.status, answer.content_length) == (200, len(whole))
                first = await answer.content.readexactly(65_536)
                await leading.aclose()
                with pytest.raises(aiohttp.ClientPayloadError):
                    await answer.content.read()
            assert whole.startswith(first)
            data, seen = await when_served(follower, path)
            assert seen <= {200, 503}
            assert data == whole
