"""Addresses, mirrors, TLS, and servers that are not registries."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from olmkit.errors import OlmError, Waiting
from olmkit.sources.addresses import AddressRefused, SourceAddresses
from olmkit.sources.errors import BadReference, ImageNotFound
from olmkit.sources.oci import image
from olmkit.sources.oci.registries_conf import Registries, parse
from tests.integration.olmkit.sources.proxied_image import SHORT_TIMEOUTS, ProxiedImage, empty_directory, insecure_rule
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry_proxy import (
    RegistryProxy,
    changed,
    silence,
    status,
)
from tests.servers.server_keys import make_keys

pytestmark = pytest.mark.usefixtures("cluster_programs")

MANIFEST_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\n"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        pytest.param(b"", "closed the connection in the middle of a response", id="empty"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "does not answer with HTTP", id="another protocol"),
        pytest.param(b"HTTP/1.1 two hundred\r\n\r\n", "does not answer with HTTP", id="a status that is not a number"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000, "does not answer with HTTP", id="an endless header"),
        pytest.param(
            MANIFEST_HEAD + b"Content-Length: -1\r\n\r\n", "does not answer with HTTP", id="a negative length"
        ),
        pytest.param(
            MANIFEST_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            "does not answer with HTTP",
            id="invalid chunks",
        ),
        pytest.param(
            MANIFEST_HEAD + b"Content-Length: 99\r\n\r\n{}",
            "closed the connection in the middle",
            id="shorter than its length",
        ),
        pytest.param(
            b"HTTP/1.1 302 Found\r\nLocation: http://[::1/x\r\n\r\n",
            "not http or https",
            id="a redirect that is not a URL",
        ),
        pytest.param(
            b"HTTP/1.1 302 Found\r\nLocation: http://a\xff..b/x\r\n\r\n",
            "not http or https",
            id="a redirect to an invalid host",
        ),
        pytest.param(
            b"HTTP/1.1 302 Found\r\nLocation: http://a:99999/x\r\n\r\n",
            "not http or https",
            id="a port out of range",
        ),
    ],
)
async def test_a_server_that_is_not_a_registry_is_reported(answer: bytes, sentence: str, tmp_path: Path) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if line.startswith(b"GET"):
            writer.write(answer if b"/manifests/" in line else b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        address = "{}:{}".format(*server.sockets[0].getsockname())
        with pytest.raises(Waiting) as raised:
            await image.pull(f"{address}/a:v1", empty_directory(tmp_path), Registries(parse(insecure_rule(address))))
    assert raised.value.reason == "RegistryUnavailable"
    assert raised.value.message.startswith(f"registry {address} ")
    assert sentence in raised.value.message


async def test_a_closed_port_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(Waiting) as raised:
            await image.resolve(f"{address}/a:v1", Registries(parse(insecure_rule(address))))
    assert raised.value.message == f"registry {address} does not answer: connection refused"


DEAD_MIRROR = '[[registry]]\nprefix = "*"\n[[registry.mirror]]\nlocation = "127.0.0.1:1"\n'


async def test_addresses_of_this_machine_are_refused_unless_allowed(proxied: ProxiedImage) -> None:
    port = proxied.proxy.address.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
        with pytest.raises(OlmError, match="which is loopback") as raised:
            await image.resolve(f"{host}:{port}/a:v1", Registries())
        # A name may resolve to another address later; a literal address does not change.
        assert type(raised.value) is (AddressRefused if host == "localhost" else BadReference)
        with pytest.raises(AddressRefused) as again:
            await image.resolve(f"{host}:{port}/a:v1", Registries(parse(DEAD_MIRROR)))
        assert again.value.message.startswith("registry 127.0.0.1:1 does not answer: "), "a mirror may succeed later"
    assert proxied.proxy.requests == []
    allowed = replace(proxied.registries, rules=(), addresses=SourceAddresses.load(["127.0.0.0/8"]))
    with pytest.raises(Waiting, match="does not speak TLS"):
        await image.resolve(proxied.tag, allowed)


async def test_the_address_of_a_host_that_only_a_wildcard_matches_is_checked(proxied: ProxiedImage) -> None:
    registries = Registries(parse('[[registry]]\nprefix = "*"\ninsecure = true\n'))
    with pytest.raises(BadReference, match="which is loopback"):
        await image.resolve(proxied.tag, registries)


async def test_mirrors_are_tried_in_order_before_the_registry(
    proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    async with RegistryProxy(local_registry.address) as mirror:
        both = insecure_rule(
            proxied.proxy.address,
            "registry.example.com",
            f'[[registry.mirror]]\nlocation = "{mirror.address}"\ninsecure = true\n',
        )
        registries = Registries(parse(both))
        ref = f"registry.example.com/{proxied.repository}:v1"
        pulled = await image.pull(ref, empty_directory(tmp_path), registries)
        assert pulled.ref_by_digest == f"registry.example.com/{proxied.repository}@{proxied.digest}"
        assert proxied.proxy.requests == [], "the mirror has all blobs"

        mirror.on("/blobs/", status(404))
        await image.pull(ref, empty_directory(tmp_path), registries)
        assert any("/blobs/" in path for path in proxied.proxy.paths()), "the blob that the mirror does not have"

        proxied.proxy.on("/blobs/", changed(lambda body: body[:-1]))
        with pytest.raises(Waiting) as raised:
            await image.pull(ref, empty_directory(tmp_path), registries)
        assert f"registry {mirror.address} answered 404 Not Found" in raised.value.message
        assert f"registry {proxied.proxy.address} sent bytes" in raised.value.message

        mirror.on("/v2/", silence)
        registries = replace(registries, timeouts=SHORT_TIMEOUTS)
        proxied.proxy.on("/blobs/", None)
        assert (await image.resolve(ref, registries)).digest == proxied.digest

        proxied.proxy.on("/manifests/", status(404))
        with pytest.raises(ImageNotFound) as missing:
            await image.resolve(ref, registries)
        assert missing.value.message == (
            f"registry {mirror.address} does not answer: nothing within 1 s; "
            f'image "{ref}" not found: registry {proxied.proxy.address} has no such tag or repository (404)'
            ": correct the reference, or push the image"
        )


@pytest.mark.parametrize("code", [404, 500, 503, 429, 401])
async def test_a_mirror_without_the_image_is_skipped(
    proxied: ProxiedImage, local_registry: LocalRegistry, code: int
) -> None:
    async with RegistryProxy(local_registry.address) as mirror:
        mirror.on("/manifests/", status(code))
        more = f'[[registry.mirror]]\nlocation = "{mirror.address}"\ninsecure = true\n'
        registries = Registries(parse(insecure_rule(proxied.proxy.address, "registry.example.com", more)))
        ref = f"registry.example.com/{proxied.repository}:v1"
        assert (await image.resolve(ref, registries)).digest == proxied.digest
        assert mirror.paths() == [f"HEAD /v2/{proxied.repository}/manifests/v1"]


async def test_a_mirror_for_digests_is_not_used_for_tags(
    proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    async with RegistryProxy(local_registry.address) as mirror:
        more = f'mirror-by-digest-only = true\n[[registry.mirror]]\nlocation = "{mirror.address}"\ninsecure = true\n'
        registries = Registries(parse(insecure_rule(proxied.proxy.address, "registry.example.com", more)))
        resolved = await image.resolve(f"registry.example.com/{proxied.repository}:v1", registries)
        assert mirror.requests == []
        before = len(proxied.proxy.requests)
        await image.pull(resolved.ref_by_digest, empty_directory(tmp_path), registries)
        assert mirror.requests
        assert len(proxied.proxy.requests) == before


async def test_an_untrusted_certificate_is_reported_and_accepted_by_an_insecure_registry(
    proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    keys = make_keys(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "kube-apiserver.crt", keys / "kube-apiserver.key")
    async with RegistryProxy(local_registry.address, tls=context) as proxy:
        ref = f"{proxy.address}/{proxied.repository}:v1"
        with pytest.raises(Waiting) as raised:
            await image.resolve(ref, Registries(parse(f'[[registry]]\nlocation = "{proxy.address}"')))
        assert raised.value.message.startswith(f"registry {proxy.address} presents a certificate that is not trusted: ")
        assert (await image.resolve(ref, Registries(parse(insecure_rule(proxy.address))))).digest == proxied.digest
