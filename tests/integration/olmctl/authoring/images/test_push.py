"""Images pushed to real registries: what is sent, what is skipped, and where logins go."""

from __future__ import annotations

import itertools
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from olmctl.authoring.images.image import Image, labelled_image
from olmctl.authoring.images.layers import compressed
from olmctl.authoring.images.push import push
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.credentials import credentials_of
from olmkit.sources.network import Timeouts
from olmkit.sources.oci import image as sources
from olmkit.sources.oci.registries_conf import Registries, parse
from tests.integration.olmkit.sources.proxied_image import insecure_rule
from tests.secrets import auth, docker_config
from tests.servers.local_registry import LocalRegistry
from tests.servers.raw_server import never_answer, speaking
from tests.servers.registry import (
    PASSWORD,
    USER,
    TokenService,
    basic_auth,
    own_registry,
    served,
    server_context,
    tls,
    token_auth,
)
from tests.servers.server_keys import make_keys

NUMBERS = itertools.count()
LOOPBACK = SourceAddresses.load(["127.0.0.0/8"])


@pytest.fixture
def repository() -> str:
    return f"pushed/{os.getpid()}-{next(NUMBERS)}"


@pytest.fixture
def image() -> Image:
    return labelled_image([compressed({"a": b"1"}), compressed({"b": os.urandom(16)})], {"l": "v"})


async def pulled(reference: str, into: Path, registries: Registries) -> dict[str, str]:
    """The labels of an image, after it has been pulled into the new directory and verified."""
    into.mkdir()  # noqa: ASYNC240
    found = await sources.pull(reference, into, replace(registries, addresses=LOOPBACK))
    return dict(found.labels)


async def test_an_image_gets_several_tags_and_its_blobs_are_sent_once(
    local_registry: LocalRegistry, repository: str, image: Image, tmp_path: Path
) -> None:
    heard: list[str] = []
    name = f"{local_registry.address}/{repository}"
    insecure = Registries(parse(insecure_rule(local_registry.address)))
    assert await push(image, [f"{name}:v1", f"{name}:latest"], Registries(), heard.append) == [f"{name}@{image.digest}"]
    assert [line for line in heard if "sending" not in line] == [f"{name}:v1: pushed", f"{name}:latest: pushed"]
    assert sum("sending" in line for line in heard) == 3
    heard.clear()
    await push(image, [f"{name}:v2"], Registries(), heard.append)
    assert sum("is there" in line for line in heard) == 3
    for tag in ("v1", "latest", "v2"):
        assert await pulled(f"{name}:{tag}", tmp_path / tag, insecure) == {"l": "v"}


async def test_two_repositories(local_registry: LocalRegistry, repository: str, image: Image) -> None:
    names = [f"{local_registry.address}/{repository}-{each}" for each in "ab"]
    found = await push(image, [f"{name}:v1" for name in names], Registries())
    assert found == [f"{name}@{image.digest}" for name in names]


async def test_a_push_that_was_interrupted_continues_with_the_blobs_that_are_missing(image: Image) -> None:
    stored: list[str] = []
    faults = [200, 503]

    async def registry(request: web.Request) -> web.StreamResponse:
        if request.method == "HEAD":
            return web.Response(status=200 if request.path.rpartition("/")[2] in stored else 404)
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": "/v2/a/blobs/uploads/1"})
        if "digest" in request.query:
            assert len(await request.read()) in {blob.size for blob in image.blobs}
            if (status := faults.pop(0) if faults else 200) != 200:
                return web.Response(status=status)
            stored.append(request.query["digest"])
        return web.Response(status=201)

    async with served(registry) as address:
        with pytest.raises(Waiting, match=r"does not take .* \(503"):
            await push(image, [f"{address}/a:v1"], Registries(), attempts=1)
        assert stored == [image.blobs[0].digest]
        await push(image, [f"{address}/a:v1"], Registries(), attempts=1)
        assert stored == [blob.digest for blob in image.blobs]
        stored.clear()
        faults[:] = [503]
        await push(image, [f"{address}/a:v1"], Registries())
        assert stored == [blob.digest for blob in image.blobs]


@pytest_asyncio.fixture
async def guarded(cluster_programs: Path, tmp_path: Path) -> AsyncIterator[str]:
    """A registry that requires a login."""
    async with own_registry(tmp_path / "guarded", basic_auth(tmp_path)) as address:
        yield address


def logins(address: str, password: str) -> Registries:
    return Registries(credentials=credentials_of(docker_config({address: auth(USER, password)})))


async def test_a_registry_that_requires_a_login(guarded: str, image: Image, tmp_path: Path) -> None:
    reference = f"{guarded}/team/app:v1"
    for registries in (Registries(), logins(guarded, "wr0ng")):
        with pytest.raises(OlmError) as raised:
            await push(image, [reference], registries)
        assert (raised.value.reason, "wr0ng" in str(raised.value)) == ("Unauthorized", False)
    known = logins(guarded, PASSWORD)
    await push(image, [reference], known)
    insecure = replace(known, rules=parse(insecure_rule(guarded)))
    assert await pulled(reference, tmp_path / "into", insecure) == {"l": "v"}


async def test_a_registry_with_tokens_over_tls(image: Image, cluster_programs: Path, tmp_path: Path) -> None:
    """The token for reading does not suffice for writing: the registry asks for another one."""
    keys = make_keys(tmp_path)
    service = TokenService(keys)
    async with served(service.answer) as tokens:
        more = {**token_auth(f"http://{tokens}/token", keys), **tls(keys)}
        async with own_registry(tmp_path / "registry", more) as address:
            known = docker_config({address: auth(USER, PASSWORD), tokens: auth(USER, PASSWORD)})
            registries = Registries(
                parse(insecure_rule(address)), addresses=LOOPBACK, credentials=credentials_of(known)
            )
            await push(image, [f"{address}/team/app:v1"], registries)
    scopes = [asked["scope"] for _, asked, _ in service.requests]
    assert scopes[0] == "repository:team/app:pull"
    assert set(scopes[1].rpartition(":")[2].split(",")) == {"pull", "push"}
    assert len(scopes) == 2


def uploading_at(location: str, context: ssl.SSLContext | None = None) -> AbstractAsyncContextManager[str]:
    """A registry that requires a login, and begins each upload at this address."""

    async def registry(request: web.Request) -> web.StreamResponse:
        if "Authorization" not in request.headers:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="r"'})
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": location})
        return web.Response(status=404 if request.method == "HEAD" else 201)

    return served(registry, context)


@pytest_asyncio.fixture
async def elsewhere() -> AsyncIterator[tuple[str, list[tuple[str, bool]]]]:
    """Another server, and the requests that it has got: method, and whether there was a login."""
    seen: list[tuple[str, bool]] = []

    async def take(request: web.Request) -> web.StreamResponse:
        seen.append((request.method, "Authorization" in request.headers))
        await request.read()
        return web.Response(status=201)

    async with served(take) as address:
        yield address, seen


async def test_an_upload_at_another_server_is_refused_unless_registries_conf_names_it(
    elsewhere: tuple[str, list[tuple[str, bool]]], image: Image
) -> None:
    other, seen = elsewhere
    async with uploading_at(f"http://{other}/upload?state=1") as address:
        known = logins(address, PASSWORD)
        with pytest.raises(
            Blocked, match=f"registry {address} wants the content to be sent to another server, {other}: "
        ):
            await push(image, [f"{address}/a:v1"], replace(known, addresses=LOOPBACK))
        assert seen == []
        named = replace(known, rules=parse(insecure_rule(other)))
        await push(image, [f"{address}/a:v1"], named)
        assert seen == [("PUT", False)] * 3, "the login is sent to the registry alone"


async def test_an_upload_over_plain_http_is_refused_if_the_registry_speaks_tls(
    elsewhere: tuple[str, list[tuple[str, bool]]], image: Image, tmp_path: Path
) -> None:
    other, seen = elsewhere
    async with uploading_at(f"http://{other}/upload", server_context(make_keys(tmp_path))) as address:
        named = replace(logins(address, PASSWORD), rules=parse(insecure_rule(other)), addresses=LOOPBACK)
        words = (
            f"registry {address} wants the content over plain HTTP, at {other}, although it speaks https: nothing of"
        )
        with pytest.raises(Blocked, match=words):
            await push(image, [f"{address}/a:v1"], named)
    assert seen == []


async def test_a_registry_that_says_nothing_is_named_with_what_was_waited_for(image: Image) -> None:
    impatient = Registries(timeouts=Timeouts(connect=0.3, read=0.3))
    async with speaking(never_answer) as address:
        with pytest.raises(Waiting) as raised:
            await push(image, [f"{address}/a:v1"], impatient, attempts=1)
    waited = "no connection with a TLS handshake within 0.3 s"
    assert str(raised.value) == f"blob 1 of 3 is not pushed: registry {address} does not answer: {waited}"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        pytest.param(
            403, {"errors": [{"message": "no \x1b[31mpush"}]}, r'does not take .* \(403, "no .*push"\)', id="403"
        ),
        pytest.param(404, {}, "it has no such repository, or does not let you create it", id="404"),
        pytest.param(413, [], r"\(413\)", id="too large"),
    ],
)
async def test_the_words_of_a_registry_are_shown(status: int, body: object, words: str, image: Image) -> None:
    async def registry(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404) if request.method == "HEAD" else web.json_response(body, status=status)

    async with served(registry) as address:
        with pytest.raises(Blocked, match=words) as raised:
            await push(image, [f"{address}/a:v1"], Registries())
        assert "\x1b" not in str(raised.value)


async def test_a_server_that_answers_everything_with_a_page_has_not_taken_the_image(image: Image) -> None:
    async def portal(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Log in</html>", content_type="text/html")

    async def taking(request: web.Request) -> web.StreamResponse:
        other = {"Docker-Content-Digest": f"sha256:{'0' * 64}"}
        if request.method == "PUT":
            return web.Response(status=201, headers=other)
        return web.Response(status=404, headers=other)

    async with served(portal) as address:
        with pytest.raises(Blocked, match=r"does not take .* \(200\)"):
            await push(image, [f"{address}/a:v1"], Registries())
    async with served(taking) as address:
        with pytest.raises(Blocked, match=r"answered 201 for tag v1 of .*, and does not have the image: check that"):
            await push(replace(image, blobs=()), [f"{address}/a:v1"], Registries())


async def test_a_registry_elsewhere_is_not_spoken_to_without_tls(image: Image, local_registry: LocalRegistry) -> None:
    """Only a registry on this machine, or one that registries.conf calls insecure, may lack TLS."""
    rule = f'[[registry]]\nprefix = "quay.io"\nlocation = "{local_registry.address}"\n'
    insecure = Registries(parse(f"{rule}insecure = true\n"))
    assert await push(image, ["quay.io/a/b:v1"], insecure) == [f"quay.io/a/b@{image.digest}"]
    blocked = Registries(parse('[[registry]]\nprefix = "quay.io"\nblocked = true\n'))
    with pytest.raises(Blocked, match=r"blocked by registries\.conf"):
        await push(image, ["quay.io/a/b:v1"], blocked)
