"""Registries that are reached through HTTP_PROXY and HTTPS_PROXY."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from olmkit.errors import Waiting
from olmkit.sources.addresses import AddressRefused
from olmkit.sources.ca_bundle import CABundle
from olmkit.sources.credentials import credentials_of
from olmkit.sources.oci import image
from olmkit.sources.oci.registries_conf import Registries, parse
from olmkit.sources.proxies import Proxies
from tests import images
from tests.images import tar
from tests.integration.olmkit.sources.proxied_image import ProxiedImage, empty_directory, insecure_rule
from tests.secrets import auth, docker_config
from tests.servers.forward_proxy import ForwardProxy
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry import PASSWORD, USER, basic_auth, own_registry, server_context
from tests.servers.registry_proxy import RegistryProxy, redirect
from tests.servers.server_keys import make_keys

pytestmark = pytest.mark.usefixtures("cluster_programs")

NAME = "registry.test"
LOGIN = "me@corp:Ses:ame"
LOGIN_IN_URL = "me%40corp:Ses%3Aame"
PLAIN = Registries(parse(insecure_rule(f"{NAME}:80")))
"""The host is configured for plain HTTP."""


def through(registries: Registries, proxy: str, **more: str) -> Registries:
    """Registries with a proxy for both schemes."""
    return replace(registries, proxies=Proxies.load({"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, **more}))


async def test_https_uses_a_tunnel_and_verifies_the_registry(
    proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    keys = make_keys(tmp_path, NAME)
    ref = f"{NAME}/{proxied.repository}:v1"
    async with (
        RegistryProxy(local_registry.address, tls=server_context(keys)) as registry,
        ForwardProxy({f"{NAME}:443": registry.address}).running() as proxy,
    ):
        registries = through(Registries(ca_bundle=CABundle.load(keys)), f"http://{proxy.address}")
        await image.pull(ref, empty_directory(tmp_path), registries)
        assert proxy.requests == [f"CONNECT {NAME}:443 HTTP/1.1"], "one tunnel for the whole pull"
        with pytest.raises(Waiting, match="presents a certificate that is not trusted"):
            await image.resolve(ref, replace(registries, ca_bundle=CABundle()))


async def test_a_proxy_with_tls(proxied: ProxiedImage, local_registry: LocalRegistry, tmp_path: Path) -> None:
    keys = make_keys(tmp_path, NAME)
    async with RegistryProxy(local_registry.address, tls=server_context(keys)) as registry:
        forward = ForwardProxy({f"{NAME}:443": registry.address}, login=LOGIN)
        async with forward.running(server_context(keys)) as proxy:
            registries = through(Registries(ca_bundle=CABundle.load(keys)), f"https://{LOGIN_IN_URL}@{proxy.address}")
            assert (await image.resolve(f"{NAME}/{proxied.repository}:v1", registries)).digest == proxied.digest


async def test_plain_http_uses_the_proxy(local_registry: LocalRegistry, tmp_path: Path) -> None:
    directory = tmp_path / "images"
    async with own_registry(directory) as address:
        digest = images.push(address, "a/b", "v1", [tar({"a": "1"})], {})
    async with own_registry(directory, basic_auth(directory)) as address:
        forward = ForwardProxy({f"{NAME}:80": address, NAME: address}, login=LOGIN)
        async with forward.running() as proxy:
            registries = through(PLAIN, f"http://{LOGIN_IN_URL}@{proxy.address}")
            secret = docker_config({f"{NAME}:80": auth(USER, PASSWORD)})
            registries = replace(registries, credentials=credentials_of(secret))
            pulled = await image.pull(f"{NAME}:80/a/b:v1", empty_directory(tmp_path), registries)
            assert pulled.digest == digest
            assert any(line.startswith(f"GET http://{NAME}/v2/a/b/manifests/v1 ") for line in proxy.requests)
            assert all(each.startswith("Basic ") for each in proxy.authorizations)
            assert any(each.startswith("Basic ") for each in proxy.passed_on)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("login", "sentence"),
    [
        ("", "requires a user and a password (407): write http://user:password@host:port"),
        ("me:wr0ng@", "refuses the user and password of its variable (407)"),
    ],
    ids=["no login", "a wrong one"],
)
async def test_a_denial_of_the_proxy_differs_from_that_of_the_registry(scheme: str, login: str, sentence: str) -> None:
    registries = PLAIN if scheme == "http" else Registries()
    ref = f"{NAME}:80/a:v1" if scheme == "http" else f"{NAME}/a:v1"
    async with ForwardProxy({}, login=LOGIN).running() as proxy:
        with pytest.raises(Waiting) as raised:
            await image.resolve(ref, through(registries, f"http://{login}{proxy.address}"))
        host = ref.partition("/")[0]
        assert raised.value.message == f"registry {host} cannot be reached: the proxy {proxy.address} {sentence}"
        assert raised.value.reason == "RegistryUnavailable"


async def test_a_host_that_the_proxy_cannot_reach_is_reported() -> None:
    async with ForwardProxy({}).running() as proxy:
        with pytest.raises(Waiting) as raised:
            await image.resolve(f"{NAME}/a:v1", through(Registries(), f"http://u:Sesame@{proxy.address}"))
        words = f"cannot be reached: the proxy {proxy.address} refuses the connection (502)"
        assert raised.value.message == f"registry {NAME} {words}"
        address = proxy.address
    with pytest.raises(Waiting) as raised:
        await image.resolve(f"{NAME}/a:v1", through(Registries(), f"http://u:Sesame@{address}"))
    words = f"cannot be reached: the proxy {address} does not answer: connection refused"
    assert raised.value.message == f"registry {NAME} {words}"
    with pytest.raises(Waiting) as raised:
        await image.resolve(f"{NAME}/a:v1", through(Registries(), "http://u:Sesame@no-such-proxy.invalid:3128"))
    words = "cannot be reached: the proxy no-such-proxy.invalid:3128 cannot be resolved: no such host"
    assert raised.value.message == f"registry {NAME} {words}"


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "0xA9FEA9FE",
        "2852039166",
        "0251.0376.0251.0376",
        "169.254.43518",
        "metadata.google.internal",
        "[::]",
        "0.0.0.0",
    ],
)
async def test_a_refused_host_is_not_requested_from_the_proxy(proxied: ProxiedImage, tmp_path: Path, host: str) -> None:
    """The proxy is in another network, whose internal hosts are refused for authors of Catalogs too."""
    async with ForwardProxy({}).running() as proxy:
        proxied.proxy.on("/blobs/", redirect(f"http://{host}/x"))
        with pytest.raises(AddressRefused):
            await image.pull(
                proxied.tag, empty_directory(tmp_path), through(proxied.registries, f"http://{proxy.address}")
            )
        assert proxy.requests == []


async def test_hosts_of_no_proxy_are_requested_directly(proxied: ProxiedImage) -> None:
    async with ForwardProxy({}).running() as proxy:
        registries = through(proxied.registries, f"http://{proxy.address}", NO_PROXY="no-such-host.invalid")
        assert (await image.resolve(proxied.tag, registries)).digest == proxied.digest, "loopback needs no entry"
        with pytest.raises(Waiting, match="cannot be resolved"):
            await image.resolve("no-such-host.invalid/a:v1", registries)
        assert proxy.requests == []
