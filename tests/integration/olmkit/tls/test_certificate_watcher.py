"""A certificate in a directory that is replaced, with real files and real TLS connections."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from olmkit.errors import OlmError
from olmkit.tls.certificate_authority import LEAF_LIFETIME, issue, make_ca
from olmkit.tls.certificate_watcher import CertificateWatcher
from olmkit.tls.key_pair import KeyPair, general_names
from olmkit.tls.peers import Peers
from olmkit.tls.server_tls import ServerTls
from tests.servers.https_site import Site, serve, session, shown

NOW = datetime.now(UTC)
CA = make_ca(NOW)
NAMES = ("127.0.0.1", "localhost")


def pair(begins: datetime = NOW) -> KeyPair:
    return issue(CA, NAMES, begins)


def rsa_pair() -> KeyPair:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([])
    builder = x509.CertificateBuilder(CA.certificate.subject, name, key.public_key(), 7, NOW, NOW + LEAF_LIFETIME)
    builder = builder.add_extension(general_names(NAMES), critical=True)
    signed = builder.sign(CA.private_key, hashes.SHA256())  # type: ignore[arg-type]  # a CA's key can sign
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair.read(signed.public_bytes(Encoding.PEM), secret)


@dataclass
class Mount:
    """The volume of a Secret as kubelet writes it: ..data links to the directory of a version, and the files link through it."""

    directory: Path
    version: int = 0

    def put(self, chain: bytes, key: bytes) -> None:
        """Publish a new version with one rename."""
        self.version += 1
        real = self.directory / f"..version-{self.version}"
        real.mkdir(parents=True)
        (real / "tls.crt").write_bytes(chain)
        (real / "tls.key").write_bytes(key)
        for path in real.iterdir():
            os.utime(path, (1, 1))  # timestamps do not change
        link = self.directory / "..tmp"
        link.symlink_to(real.name)
        link.replace(self.directory / "..data")
        for name in ("tls.crt", "tls.key"):
            if not (self.directory / name).is_symlink():
                (self.directory / name).symlink_to(f"..data/{name}")


@dataclass
class Running:
    """A server with the certificate of a mounted Secret."""

    mount: Mount
    tls: ServerTls
    directory: CertificateWatcher
    first: KeyPair
    site: Site = field(default_factory=Site)

    async def shows(self) -> bytes:
        return await shown(self.site.port, CA.chain)

    async def until_shown(self, wanted: KeyPair) -> None:
        async with asyncio.timeout(20):
            while await self.shows() != der(wanted):  # noqa: ASYNC110 there is no event for a loaded certificate
                await asyncio.sleep(0.02)


def der(wanted: KeyPair) -> bytes:
    return wanted.certificate.public_bytes(Encoding.DER)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    mount, tls, first = Mount(tmp_path / "mount"), ServerTls(), pair()
    mount.put(first.chain, first.key)
    directory = CertificateWatcher(mount.directory, tls, poll_seconds=0.05)
    directory.load()
    follower = asyncio.create_task(directory.run())
    async with serve(tls.context) as site:
        yield Running(mount, tls, directory, first, site)
    follower.cancel()
    await asyncio.wait({follower})


async def test_a_replaced_secret_is_served_to_the_next_connection(running: Running) -> None:
    assert await running.shows() == der(running.first)
    second = pair()
    running.mount.put(second.chain, second.key)
    await running.until_shown(second)


async def test_a_download_continues_while_the_certificate_changes(running: Running) -> None:
    async with session(CA.chain) as client, client.get(f"{running.site.url}/slow") as answer:
        assert await answer.content.readline() == b"0\n"
        second = pair()
        running.mount.put(second.chain, second.key)
        await running.until_shown(second)
        for number in range(1, 10):
            running.site.go.release()
            assert await answer.content.readline() == f"{number}\n".encode()
        running.site.go.release()
        assert await answer.content.read() == b""


async def test_an_open_connection_serves_further_requests(running: Running) -> None:
    async with session(CA.chain) as client:
        for _ in range(3):
            async with client.get(running.site.url) as answer:
                assert await answer.text() == "hello"
            renewed = pair()
            running.mount.put(renewed.chain, renewed.key)
            await running.until_shown(renewed)


async def test_a_key_of_another_type_replaces_the_certificate_completely(running: Running) -> None:
    other = rsa_pair()
    running.mount.put(other.chain, other.key)
    await running.until_shown(other)
    # A client that prefers the key type of the old certificate gets the new certificate or none.
    context = ssl.create_default_context(cadata=CA.chain.decode())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", running.site.port, ssl=context)


@pytest.mark.parametrize(
    ("chain", "key", "said"),
    [
        pytest.param(b"", pair().key, "the certificate is not PEM", id="an empty certificate"),
        pytest.param(
            pair().chain[:200], pair().key, "it is truncated or not a certificate", id="a certificate that is cut"
        ),
        pytest.param(pair().chain, b"nothing", "the key is not a PEM private key", id="no key"),
        pytest.param(pair().chain, pair().key, "the key does not belong to the certificate", id="another's key"),
        pytest.param(
            *(lambda old: (old.chain, old.key))(pair(NOW - LEAF_LIFETIME * 2)),
            "the certificate expired on",
            id="an expired pair",
        ),
        pytest.param(
            *(lambda old: (old.chain, old.key))(pair(NOW + timedelta(days=1))),
            "the certificate is valid only from",
            id="a pair of tomorrow",
        ),
    ],
)
async def test_an_invalid_certificate_is_logged_once_and_the_current_one_stays(
    running: Running, caplog: pytest.LogCaptureFixture, chain: bytes, key: bytes, said: str
) -> None:
    running.mount.put(chain, key)
    async with asyncio.timeout(20):
        while not complaints(caplog):  # noqa: ASYNC110 a log has no event
            await asyncio.sleep(0.02)
    for _ in range(5):
        running.directory.sync(datetime.now(UTC))
    assert await running.shows() == der(running.first)
    assert [said in one for one in complaints(caplog)] == [True]
    assert "PRIVATE" not in caplog.text
    if key:
        assert key.decode().splitlines()[0] not in caplog.text
    second = pair()
    running.mount.put(second.chain, second.key)
    await running.until_shown(second)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(vars(one).get("error")) for one in caplog.records if "cannot be used" in one.getMessage()]


async def test_files_that_are_written_one_after_the_other_cause_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, tls = pair(), pair(), ServerTls()
    (tmp_path / "tls.crt").write_bytes(first.chain)
    (tmp_path / "tls.key").write_bytes(first.key)
    directory = CertificateWatcher(tmp_path, tls)
    directory.load()
    (tmp_path / "tls.crt").write_bytes(second.chain)
    directory.sync(NOW)
    assert tls.pair == first
    (tmp_path / "tls.key").write_bytes(second.key)
    directory.sync(NOW)
    assert tls.pair == second
    assert not complaints(caplog)


async def test_a_missing_directory_changes_nothing(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    (running.mount.directory / "..data").unlink()
    for _ in range(3):
        running.directory.sync(datetime.now(UTC))
    assert await running.shows() == der(running.first)
    assert len([one for one in caplog.records if "cannot be used" in one.getMessage()]) == 1


def test_the_expiry_of_a_served_certificate_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    tls = ServerTls()
    tls.use(pair())
    for days in (80, 84, 85, 91, 92):
        tls.warn_of_expiry(NOW + timedelta(days=days))
    said = [(one.levelno, one.getMessage()) for one in caplog.records if "needs attention" in one.getMessage()]
    assert [level for level, _ in said] == [logging.WARNING, logging.ERROR]
    assert "expires soon" in said[0][1]
    assert "expired on" in said[1][1]


def test_an_expired_certificate_is_served_and_logged_if_there_is_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = pair(NOW - LEAF_LIFETIME * 2)
    Mount(tmp_path / "mount").put(old.chain, old.key)
    tls = ServerTls()
    CertificateWatcher(tmp_path / "mount", tls).load()
    assert tls.pair == old
    assert "expired on" in caplog.text


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        pytest.param(None, "No such file", id="an empty directory"),
        pytest.param(b"x", "the certificate is not PEM", id="no PEM"),
    ],
)
def test_without_a_certificate_the_process_does_not_start(tmp_path: Path, chain: bytes | None, said: str) -> None:
    if chain is not None:
        (tmp_path / "tls.crt").write_bytes(chain)
        (tmp_path / "tls.key").write_bytes(chain)
    with pytest.raises(OlmError, match=said) as refused:
        CertificateWatcher(tmp_path, ServerTls()).load()
    assert "must hold tls.crt and tls.key" in str(refused.value)


async def test_without_a_certificate_handshakes_fail() -> None:
    tls = ServerTls()
    async with serve(tls.context) as site:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(site.port, CA.chain)
        tls.use(pair())
        assert await shown(site.port, CA.chain)


@pytest.mark.parametrize(
    ("newest", "ciphers"),
    [
        pytest.param(ssl.TLSVersion.TLSv1_1, "ALL:@SECLEVEL=0", id="TLS 1.1"),
        pytest.param(ssl.TLSVersion.TLSv1_2, "AES128-SHA:@SECLEVEL=0", id="TLS 1.2 without forward secrecy"),
        pytest.param(ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0", id="TLS 1.2 with CBC"),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
async def test_weak_protocols_and_ciphers_are_refused(running: Running, newest: ssl.TLSVersion, ciphers: str) -> None:
    context = ssl.create_default_context(cadata=CA.chain.decode())
    context.set_ciphers(ciphers)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = newest
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", running.site.port, ssl=context)


async def test_http_2_is_not_offered(running: Running) -> None:
    context = ssl.create_default_context(cadata=CA.chain.decode())
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection("127.0.0.1", running.site.port, ssl=context)
    try:
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
    finally:
        writer.transport.abort()


async def test_peers_with_the_same_directory_verify_the_certificate_itself(running: Running) -> None:
    peers = Peers(running.tls)
    async with session(CA.chain) as client, client.get(running.site.url, **await peers.request_options()) as answer:
        assert answer.status == 200
    stranger = ServerTls()
    stranger.use(pair())  # of the same CA, for the same names
    async with serve(stranger.context) as other, session(CA.chain) as client:
        with pytest.raises(OSError, match="certificate verify failed"):
            await client.get(other.url, **await peers.request_options())
