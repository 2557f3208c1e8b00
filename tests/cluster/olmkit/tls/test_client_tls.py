"""CAs that a client trusts, from a file or a ConfigMap of the real API server, with a real TLS server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.errors import OlmError
from olmkit.runtime.client import Client
from olmkit.tls.certificate_authority import CertificateSet, create
from olmkit.tls.client_tls import MIN_REFRESH_SECONDS, REFRESH_SECONDS, ClientTls
from olmkit.tls.server_tls import ServerTls
from olmkit.tls.service import CONFIG_MAP
from tests.cluster.olmkit.conftest import config_map, proxied
from tests.servers.https_site import Site, serve

NAMES = ("127.0.0.1",)


@dataclass
class Server:
    """A server whose CA can be changed, and the time of its client."""

    tls: ServerTls
    site: Site
    material: CertificateSet
    time: list[float] = field(default_factory=lambda: [1000.0])

    def change(self) -> None:
        self.material = create(NAMES, datetime.now(UTC))
        self.tls.use(self.material.leaf)

    @property
    def bundle(self) -> str:
        return self.material.ca_bundle().decode()

    async def believes(self, context: ssl.SSLContext) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.site.port, ssl=context)
        except ssl.SSLCertVerificationError:
            return False
        writer.transport.abort()
        return True


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    tls, material = ServerTls(), create(NAMES, datetime.now(UTC))
    tls.use(material.leaf)
    async with serve(tls.context) as site:
        yield Server(tls, site, material)


async def test_a_changed_file_is_read_again(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(server.bundle)
    trust = ClientTls(file, clock=lambda: server.time[0])
    await trust.load()
    first = await trust.context()
    assert await server.believes(first)
    assert await trust.context() is first
    server.change()
    file.write_text(server.bundle)
    assert not await server.believes(await trust.context())
    server.time[0] += REFRESH_SECONDS + 1
    assert await server.believes(await trust.context())


async def test_after_a_failed_verification_the_file_is_read_at_once_but_at_a_limited_rate(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(server.bundle)
    trust = ClientTls(file, clock=lambda: server.time[0])
    await trust.context()
    server.change()
    file.write_text(server.bundle)
    assert not await server.believes(await trust.context(after_failure=True))
    server.time[0] += MIN_REFRESH_SECONDS * 1.1
    assert await server.believes(await trust.context(after_failure=True))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "No such file or directory", id="no file"),
        pytest.param("", "it contains no PEM certificates", id="an empty file"),
        pytest.param("nothing", "it contains no PEM certificates", id="a file without certificates"),
        pytest.param("-----BEGIN CERTIFICATE-----\nAAAA\n", "it contains no PEM certificates", id="a truncated file"),
    ],
)
async def test_an_invalid_file_fails_the_start(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content)
    with pytest.raises(OlmError, match=said):
        await ClientTls(file).load()


@pytest.mark.parametrize("content", [None, "", "nothing", "caf\xe9"])
async def test_after_an_invalid_file_the_previous_cas_stay_trusted(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(server.bundle)
    trust = ClientTls(file, clock=lambda: server.time[0])
    await trust.load()
    if content is None:
        file.unlink()
    else:
        file.write_text(content, encoding="latin-1")
    for _ in range(3):
        server.time[0] += REFRESH_SECONDS + 1
        assert await server.believes(await trust.context())
    assert caplog.text.count("CAs cannot be read") == 1


async def test_with_a_file_the_system_cas_are_not_trusted(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(server.bundle)
    context = await ClientTls(file).context()
    assert len(context.get_ca_certs()) == 1


async def test_a_config_map_may_be_created_later(server: Server, client: Client, namespace: str) -> None:
    trust = ClientTls(None, client, (namespace, "catalogd-ca"), clock=lambda: server.time[0])
    await trust.load()
    assert not await server.believes(await trust.context())
    await client.create(CONFIG_MAP, config_map(namespace, "catalogd-ca", **{"ca.crt": server.bundle}))
    server.time[0] += REFRESH_SECONDS + 1
    assert await server.believes(await trust.context())
    await client.patch(CONFIG_MAP, "catalogd-ca", {"data": {"ca.crt": "spoilt"}}, namespace)
    server.time[0] += REFRESH_SECONDS + 1
    assert await server.believes(await trust.context())


async def test_an_unavailable_api_server_changes_nothing(
    server: Server, client: Client, namespace: str, cluster: Cluster, tmp_path: Path
) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "catalogd-ca", **{"ca.crt": server.bundle}))
    async with proxied(cluster, tmp_path) as (proxy, through):
        trust = ClientTls(None, through, (namespace, "catalogd-ca"), clock=lambda: server.time[0])
        assert await server.believes(await trust.context())
        proxy.close()
        proxy.cut()
        server.time[0] += REFRESH_SECONDS + 1
        assert await server.believes(await trust.context())
        await proxy.open()
        proxy.silence()
        server.time[0] += REFRESH_SECONDS + 1
        assert await server.believes(await trust.context())


async def test_without_file_and_client_the_system_cas_are_trusted(server: Server) -> None:
    trust = ClientTls()
    await trust.load()
    context = await trust.context()
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert not await server.believes(context)
