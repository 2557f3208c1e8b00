"""A registry with faults: the result is an error, never other bytes."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from olmkit.errors import Waiting
from olmkit.sources.errors import ImageNotFound
from olmkit.sources.oci import image
from olmkit.sources.oci.registries_conf import Registries, parse
from tests import images
from tests.integration.olmkit.sources.proxied_image import (
    SHORT_TIMEOUTS,
    TEXT,
    ProxiedImage,
    empty_directory,
    insecure_rule,
)
from tests.servers.local_registry import LocalRegistry
from tests.servers.raw_server import speaking
from tests.servers.registry_proxy import (
    Fault,
    RegistryProxy,
    changed,
    digest_unsaid,
    hang_up_midway,
    redirect,
    redirect_to,
    silence,
    status,
    trickle,
    wants_token,
)


async def test_a_registry_without_faults(proxied: ProxiedImage, tmp_path: Path) -> None:
    into = empty_directory(tmp_path)
    assert (await image.pull(proxied.tag, into, proxied.registries)).digest == proxied.digest
    assert (into / "a").read_text() == TEXT


@pytest.mark.parametrize(
    ("part", "fault", "reason", "sentence"),
    [
        pytest.param(
            "/manifests/",
            status(500),
            "RegistryUnavailable",
            "registry REGISTRY answered 500 Internal Server Error",
            id="500 for the manifest",
        ),
        pytest.param(
            "/blobs/",
            status(503),
            "RegistryUnavailable",
            "registry REGISTRY answered 503 Service Unavailable",
            id="503 for a blob",
        ),
        pytest.param(
            "/blobs/",
            status(404),
            "RegistryUnavailable",
            "registry REGISTRY answered 404 Not Found",
            id="a missing blob",
        ),
        pytest.param(
            "/manifests/",
            status(799),
            "RegistryUnavailable",
            "registry REGISTRY answered 799",
            id="an unknown status",
        ),
        pytest.param(
            "/manifests/",
            status(401),
            "Unauthorized",
            'registry REGISTRY requires credentials for "IMAGE" or has no such repository (401): no pull secret has a login '
            "for REGISTRY; add a Secret of type kubernetes.io/dockerconfigjson with one",
            id="401",
        ),
        pytest.param(
            "/manifests/",
            status(401, {"WWW-Authenticate": 'Basic realm="registry"'}),
            "Unauthorized",
            'registry REGISTRY requires credentials for "IMAGE" or has no such repository (401): no pull secret has a login '
            "for REGISTRY; add a Secret of type kubernetes.io/dockerconfigjson with one",
            id="401 for a user name and a password",
        ),
        pytest.param(
            "/manifests/", status(403), "Unauthorized", 'registry REGISTRY denies access to "IMAGE" (403)', id="403"
        ),
        pytest.param(
            "/manifests/",
            status(429, {"Retry-After": "17"}),
            "RegistryUnavailable",
            "registry REGISTRY asks to slow down (429 Too Many Requests)",
            id="429",
        ),
        pytest.param(
            "/manifests/",
            status(401, {"WWW-Authenticate": 'Bearer realm="ftp://x"'}),
            "RegistryUnavailable",
            "registry REGISTRY requires a token, but does not name a token service",
            id="an unavailable token service",
        ),
        pytest.param(
            "/manifests/",
            silence,
            "RegistryUnavailable",
            "registry REGISTRY does not answer: nothing within 1 s",
            id="silent",
        ),
        pytest.param(
            "/blobs/",
            trickle(0.001),
            "RegistryUnavailable",
            "registry REGISTRY sends too slowly (less than 50 KiB in 0.2 s)",
            id="slow",
        ),
        pytest.param(
            "/blobs/",
            hang_up_midway,
            "RegistryUnavailable",
            "registry REGISTRY closed the connection in the middle of a response",
            id="half a response",
        ),
        pytest.param(
            "/manifests/",
            redirect("/v2/other"),
            "ImageNotFound",
            'image "IMAGE" not found: registry REGISTRY has no such tag or repository (404): correct the reference, or push the '
            "image",
            id="a redirect to a missing path",
        ),
        pytest.param(
            "/v2/",
            redirect("/v2/again"),
            "RegistryUnavailable",
            "registry REGISTRY redirects more than 5 times",
            id="endless redirects",
        ),
        pytest.param(
            "/manifests/",
            redirect("file:///etc/passwd"),
            "RegistryUnavailable",
            "registry REGISTRY redirects to an address that is not http or https",
            id="a redirect to a file",
        ),
        pytest.param(
            "/manifests/",
            redirect(""),
            "RegistryUnavailable",
            "registry REGISTRY redirects to an address that is not http or https",
            id="a redirect without a location",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://169.254.169.254/latest/meta-data?token=secret"),
            "AddressRefused",
            "169.254.169.254, to which registry REGISTRY redirects, has the address 169.254.169.254, which is link-local, "
            "the range of metadata services: such addresses are refused unless --allow-source-cidr names them",
            id="a redirect to a metadata service",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://user:secret@localhost:1/x"),
            "AddressRefused",
            "localhost:1, to which registry REGISTRY redirects, has the address 127.0.0.1, which is loopback: such addresses are "
            "refused unless --allow-source-cidr names them",
            id="a redirect to loopback by name",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://2130706433/x"),
            "AddressRefused",
            "2130706433, to which registry REGISTRY redirects, has the address 127.0.0.1, which is loopback: such addresses are "
            "refused unless --allow-source-cidr names them",
            id="a redirect to loopback as a number",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://no-such-host.invalid/x"),
            "RegistryUnavailable",
            "no-such-host.invalid, to which registry REGISTRY redirects, cannot be resolved: no such host",
            id="a redirect to a host that does not exist",
        ),
    ],
)
async def test_a_fault_of_a_registry_is_reported(
    proxied: ProxiedImage, tmp_path: Path, part: str, fault: Fault, reason: str, sentence: str
) -> None:
    stalls = "nothing within" in sentence or "too slowly" in sentence
    registries = replace(proxied.registries, timeouts=SHORT_TIMEOUTS) if stalls else proxied.registries
    proxied.proxy.on(part, fault)
    with pytest.raises(Waiting) as raised:
        await image.pull(proxied.tag, empty_directory(tmp_path), registries)
    assert proxied.message(raised.value) == sentence
    assert raised.value.reason == reason
    assert timedelta(seconds=1) < raised.value.after <= timedelta(minutes=5)
    proxied.proxy.on(part, None)
    await image.pull(proxied.tag, empty_directory(tmp_path), proxied.registries)


@pytest.mark.parametrize(
    "host",
    [
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[::]",
        "0.0.0.0",
        "0",
        "127.1",
        "0177.0.0.1",
        "0x7f000001",
        "0x7f.1",
        "100.100.100.200",
        "239.1.2.3",
    ],
)
async def test_every_notation_of_a_refused_address_is_refused(proxied: ProxiedImage, tmp_path: Path, host: str) -> None:
    for part in ("/blobs/", "/manifests/"):
        proxied.proxy.on(part, redirect(f"http://{host}:{proxied.proxy.address.rpartition(':')[2]}/v2/x"))
        seen = len(proxied.proxy.requests)
        with pytest.raises(Waiting) as raised:
            await image.pull(proxied.tag, empty_directory(tmp_path), proxied.registries)
        assert raised.value.reason == "AddressRefused", raised.value.message
        assert not [line for line, _ in proxied.proxy.requests[seen:] if line.endswith("/v2/x")]
        proxied.proxy.on(part, None)


async def test_circular_redirects_end(proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path) -> None:
    async with RegistryProxy(local_registry.address) as other:
        registries = replace(
            proxied.registries, rules=parse(insecure_rule(proxied.proxy.address) + insecure_rule(other.address))
        )
        proxied.proxy.on("/blobs/", redirect_to(other.address))
        other.on("/blobs/", redirect_to(proxied.proxy.address))
        with pytest.raises(Waiting, match="redirects more than 5 times"):
            await image.pull(proxied.tag, empty_directory(tmp_path), registries)
        blobs = [line for line, _ in [*proxied.proxy.requests, *other.requests] if "/blobs/" in line]
        assert len(blobs) == 6


async def test_a_compressed_manifest_is_not_decompressed(proxied: ProxiedImage, tmp_path: Path) -> None:
    """A megabyte that decompresses to a gigabyte. Content-Encoding is refused even if declared, because it was not requested."""
    bomb = gzip.compress(bytes(256 * 1024**2), 1)
    for body in (bomb, gzip.compress(b"{}")):
        headers = {"Content-Encoding": "gzip", "Content-Type": images.MANIFEST["oci"]}
        proxied.proxy.on("/manifests/", status(200, headers, body))
        with pytest.raises(Waiting) as raised:
            await image.pull(proxied.tag, empty_directory(tmp_path), proxied.registries)
        expected = "registry REGISTRY sent a compressed response that was not requested"
        assert proxied.message(raised.value) == expected


async def test_an_endless_manifest_is_refused(proxied: ProxiedImage, tmp_path: Path) -> None:
    sent = 0

    async def endless(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": images.MANIFEST["oci"]})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while sent < 1024**3:
                await response.write(b" " * 1024**2)
                sent += 1024**2
        return response

    proxied.proxy.on("/manifests/", endless)
    with pytest.raises(Waiting, match="a manifest of more than 4,194,304 bytes"):
        await image.pull(proxied.tag, empty_directory(tmp_path), proxied.registries)
    assert sent < 64 * 1024**2


async def test_a_slow_header_times_out() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1) == b"\x16":  # the first byte of TLS
            return
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in itertools.count():
            writer.write(f"X-{number}: y\r\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05)

    async with speaking(drip) as address:
        timeouts = replace(SHORT_TIMEOUTS, connect=0.5, read=0.5)
        with pytest.raises(Waiting, match="does not answer: nothing within"):
            await image.resolve(f"{address}/a:v1", Registries(parse(insecure_rule(address)), timeouts=timeouts))


async def test_retry_after_is_respected(proxied: ProxiedImage) -> None:
    for said, expected in (("17", 17), ("0", 5), ("86400", 300), ("Fri, 31 Dec 1999 23:59:59 GMT", 60)):
        proxied.proxy.on("/manifests/", status(429, {"Retry-After": said}))
        with pytest.raises(Waiting) as raised:
            await image.resolve(proxied.tag, proxied.registries)
        assert raised.value.after == timedelta(seconds=expected)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body[:-1], id="shorter than its size"),
        pytest.param(lambda body: body + b"\0", id="longer than its size"),
        pytest.param(lambda body: body + bytes(50_000_000), id="much longer than its size"),
        pytest.param(lambda body: body[:-1] + bytes([body[-1] ^ 1]), id="other bytes"),
        pytest.param(lambda body: b"", id="empty"),
    ],
)
async def test_bytes_that_do_not_match_their_digest_are_refused(
    proxied: ProxiedImage, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    by_digest = f"{proxied.proxy.address}/{proxied.repository}@{proxied.digest}"
    for part, ref in (("/blobs/", proxied.tag), ("/manifests/", by_digest)):
        into = empty_directory(tmp_path)
        proxied.proxy.on(part, changed(change))
        with pytest.raises(Waiting) as raised:
            await image.pull(ref, into, proxied.registries)
        proxied.proxy.on(part, None)
        assert raised.value.reason in ("DigestMismatch", "RegistryUnavailable")
        assert "sent bytes" in raised.value.message or "more than 4,194,304 bytes" in raised.value.message
        assert list(into.iterdir()) == []


async def test_a_digest_in_a_header_is_verified_with_the_manifest(proxied: ProxiedImage, tmp_path: Path) -> None:
    lie = "sha256:" + "0" * 64
    proxied.proxy.on(
        "/manifests/v1", status(200, {"Docker-Content-Digest": lie, "Content-Type": images.MANIFEST["oci"]})
    )
    resolved = await image.resolve(proxied.tag, proxied.registries)
    assert resolved.digest == lie
    with pytest.raises(ImageNotFound):
        await image.pull(resolved.ref_by_digest, empty_directory(tmp_path), proxied.registries)


@pytest.mark.parametrize(
    "fault",
    [digest_unsaid, None],
    ids=["a registry that never says digests", "one that says it only with the manifest"],
)
async def test_without_the_header_the_manifest_is_hashed(proxied: ProxiedImage, fault: Fault | None) -> None:
    async def no_head(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        if request.method == "HEAD":
            return web.Response(status=405)
        return await digest_unsaid(request, proxy)

    proxied.proxy.on("/manifests/", fault or no_head)
    assert (await image.resolve(proxied.tag, proxied.registries)).digest == proxied.digest


async def test_a_token_is_fetched_once(proxied: ProxiedImage, tmp_path: Path) -> None:
    proxied.proxy.on(f"/{proxied.repository}/", wants_token(f"http://{proxied.proxy.address}/token", "t0ken"))
    proxied.proxy.on("/token", status(200, body=b'{"access_token": "t0ken"}'))
    into = empty_directory(tmp_path)
    await image.pull(proxied.tag, into, proxied.registries)
    assert (into / "a").read_text() == TEXT
    assert proxied.proxy.paths().count("/token") == 1, "one token for the whole image"
    asked = next(headers for line, headers in proxied.proxy.requests if "/token" in line)
    assert "Authorization" not in asked


async def test_a_token_is_not_sent_to_the_target_of_a_redirect(
    proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    async with RegistryProxy(local_registry.address) as other:
        rules = parse(insecure_rule(proxied.proxy.address) + insecure_rule(other.address))
        proxied.proxy.on("/manifests/", wants_token(f"http://{proxied.proxy.address}/token", "t0ken"))
        proxied.proxy.on("/token", status(200, body=b'{"token": "t0ken"}'))
        proxied.proxy.on("/blobs/", redirect_to(other.address))
        await image.pull(proxied.tag, empty_directory(tmp_path), replace(proxied.registries, rules=rules))
        blobs = [headers for line, headers in proxied.proxy.requests if "/blobs/" in line]
        assert {headers.get("Authorization") for headers in blobs} == {"Bearer t0ken"}
        assert len(other.requests) == len(blobs)
        assert all("Authorization" not in headers for _, headers in other.requests)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"token": 7}', b'{"token": "a\\nb"}', b"x" * 2_000_000]
)
async def test_a_response_without_a_token_is_reported(proxied: ProxiedImage, body: bytes) -> None:
    proxied.proxy.on("/manifests/", wants_token(f"http://{proxied.proxy.address}/token", "t0ken"))
    proxied.proxy.on("/token", status(200, body=body))
    with pytest.raises(Waiting, match="does not contain one"):
        await image.resolve(proxied.tag, proxied.registries)


async def test_a_refused_token_is_not_requested_again(proxied: ProxiedImage) -> None:
    proxied.proxy.on("/manifests/", wants_token(f"http://{proxied.proxy.address}/token", "t0ken"))
    proxied.proxy.on("/token", status(200, body=b'{"token": "another"}'))
    with pytest.raises(Waiting, match=r"requires credentials for .* \(401\): no pull secret"):
        await image.resolve(proxied.tag, proxied.registries)
    assert proxied.proxy.paths().count("/token") == 1
