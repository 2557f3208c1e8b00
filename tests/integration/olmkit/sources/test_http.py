"""Archives from a real web server over http and https."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
import zstandard
from aiohttp import web
from msgspec import structs

from olmkit.errors import Blocked, Waiting
from olmkit.sources.addresses import AddressRefused
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import BadContent, BadReference
from olmkit.sources.open import open_source
from olmkit.sources.resolved_source import archive_digest
from olmkit.sources.source import HttpSource
from tests.images import Entry, device, digest_of, directory, file, hard_link, link, tar, zipped
from tests.integration.olmkit.sources.harness import SourceHarness
from tests.secrets import secret
from tests.servers.certificates import Authority
from tests.servers.web_server import WebServer, redirect, trickle

FILES = {"catalog/a.yaml": "schema: olm.package\n", "catalog/b.json": "{}"}
ARCHIVE = gzip.compress(tar(FILES), mtime=0)
PASSWORD = "Op3n-Sesame"


@pytest.fixture
def harness(tmp_path: Path) -> SourceHarness:
    return SourceHarness(tmp_path)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    (made / "a.tar.gz").write_bytes(ARCHIVE)
    return made


@pytest_asyncio.fixture
async def server(shelf: Path) -> AsyncIterator[WebServer]:
    async with WebServer(shelf) as running:
        yield running


@pytest.fixture
def url(server: WebServer) -> str:
    return f"{server.url}/a.tar.gz"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ARCHIVE, id="gzip"),
        pytest.param(tar(FILES), id="plain"),
        pytest.param(zstandard.compress(tar(FILES)), id="zstd"),
        pytest.param(zipped(FILES), id="zip"),
    ],
)
async def test_the_format_of_an_archive_is_detected(
    harness: SourceHarness, shelf: Path, server: WebServer, data: bytes
) -> None:
    (shelf / "download").write_bytes(data)
    assert await harness.files(HttpSource(f"{server.url}/download")) == FILES


async def test_an_opened_source_has_the_resolved_digest(harness: SourceHarness, url: str) -> None:
    async with open_source(HttpSource(f"{url}?token=s3cret"), harness.access) as opened:
        assert opened.digest == archive_digest(digest_of(ARCHIVE))
        assert opened.ref == f"{url}@{digest_of(ARCHIVE)}"
        assert opened.resolved == {"type": "http", "http": {"url": url, "digest": digest_of(ARCHIVE)}}
        assert not opened.unchanged


async def test_an_unchanged_archive_is_not_downloaded_again(harness: SourceHarness, shelf: Path, url: str) -> None:
    async with open_source(HttpSource(url), harness.access) as opened:
        validator = opened.validator
    assert "ETag" in validator
    async with open_source(HttpSource(url), harness.access, validator) as opened:
        assert (opened.unchanged, opened.digest, opened.ref, opened.resolved) == (True, "", "", {})
        assert opened.validator == validator
    newer = gzip.compress(tar({"c": "new"}), mtime=0)
    (shelf / "a.tar.gz").write_bytes(newer)
    async with open_source(HttpSource(url), harness.access, validator) as opened:
        assert (opened.unchanged, opened.digest) == (False, archive_digest(digest_of(newer)))
        assert opened.validator != validator


async def test_a_server_with_last_modified_only(harness: SourceHarness, server: WebServer, url: str) -> None:
    when = "Tue, 14 Nov 2023 22:13:20 GMT"

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("If-Modified-Since") == when:
            return web.Response(status=304)
        return web.Response(body=ARCHIVE, headers={"Last-Modified": when})

    server.fault = answer
    async with open_source(HttpSource(url), harness.access) as opened:
        validator = opened.validator
    async with open_source(HttpSource(url), harness.access, validator) as opened:
        assert opened.unchanged


async def test_a_validator_applies_to_its_own_source_only(
    harness: SourceHarness, server: WebServer, shelf: Path, url: str
) -> None:
    (shelf / "b.tar.gz").write_bytes(ARCHIVE)
    async with open_source(HttpSource(url), harness.access) as opened:
        validator = opened.validator
    async with open_source(HttpSource(f"{server.url}/b.tar.gz"), harness.access, validator) as opened:
        assert not opened.unchanged
    assert "If-None-Match" not in server.requests[-1].headers


async def test_an_unrequested_304_is_an_error(harness: SourceHarness, server: WebServer, url: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=304)

    server.fault = answer
    error = await harness.error(HttpSource(url))
    assert error.message == f'web server {server.address} answered 304 Not Modified when asked for archive "/a.tar.gz"'


async def test_with_a_checksum_nothing_is_requested_before_fetch(
    harness: SourceHarness, server: WebServer, url: str
) -> None:
    source = HttpSource(url, digest_of(ARCHIVE))
    async with open_source(source, harness.access) as opened:
        assert opened.digest == archive_digest(digest_of(ARCHIVE))
        assert server.requests == []
    assert await harness.files(source) == FILES
    wrong = "sha256:" + "a" * 64
    error = await harness.error(HttpSource(url, wrong))
    assert (error.reason, isinstance(error, Waiting)) == ("DigestMismatch", True)
    assert error.message == f"archive {url} is {digest_of(ARCHIVE)}, and {wrong} is expected"


@pytest.mark.parametrize("tls", [False, True], ids=["plain HTTP", "a certificate that is not looked at"])
async def test_a_login_is_sent_without_verified_tls_only_if_its_secret_allows_it(
    harness: SourceHarness, shelf: Path, tmp_path: Path, tls: bool
) -> None:
    context = Authority().server_context(tmp_path) if tls else None
    async with WebServer(shelf, login=("reader", PASSWORD), tls=context) as server:
        source = HttpSource(f"{server.url}/a.tar.gz", insecure_skip_verify=tls)
        values = {"username": "reader", "password": PASSWORD}
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address))
        error = await harness.error(source)
        assert error.reason == "Unauthorized"
        assert error.message.endswith(
            "and those of Secret olm-suite-system/login are sent neither by plain HTTP nor with insecureSkipVerify, where"
            " others can read them: use https with a certificate that is trusted, or name the host in its annotation"
            " olm.operatorframework.io/insecure-source-hosts too"
        )
        assert [each.headers.get("Authorization") for each in server.requests] == [None] * len(server.requests)
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address))
        assert await harness.files(source) == FILES


async def test_a_login_is_sent_to_the_hosts_of_its_secret_only(harness: SourceHarness, shelf: Path) -> None:
    async with WebServer(shelf, login=("reader", PASSWORD)) as server, WebServer(shelf) as other:
        source = HttpSource(f"{server.url}/a.tar.gz")
        error = await harness.error(source)
        words = f'web server {server.address} requires a user and a password for archive "/a.tar.gz" (401): name a Secret in auth'
        assert (error.reason, error.message) == ("Unauthorized", words)
        values = {"username": "reader", "password": PASSWORD}
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address))
        assert await harness.files(source) == FILES
        assert await harness.files(HttpSource(f"{other.url}/a.tar.gz")) == FILES
        assert "Authorization" not in other.requests[-1].headers

        server.fault = redirect(f"{other.url}/a.tar.gz", 307)
        harness.use_secrets(
            secret(
                "kubernetes.io/basic-auth",
                values,
                f"{server.address},{other.address}",
                insecure=f"{server.address},{other.address}",
            )
        )
        assert await harness.files(source) == FILES
        assert "Authorization" in server.requests[-1].headers
        assert "Authorization" not in other.requests[-1].headers


async def test_certificates(harness: SourceHarness, shelf: Path, tmp_path: Path) -> None:
    authority = Authority()
    async with WebServer(shelf, tls=authority.server_context(tmp_path)) as server, WebServer(shelf) as plain:
        source = HttpSource(f"{server.url}/a.tar.gz")
        error = await harness.error(source)
        assert error.reason == "SourceUnavailable"
        assert f"web server {server.address} presents a certificate that is not trusted" in error.message
        assert await harness.files(structs.replace(source, insecure_skip_verify=True)) == FILES
        harness.access = replace(harness.access, ca_directory=authority.directory(tmp_path))
        assert await harness.files(source) == FILES

        server.fault = redirect(f"{plain.url}/a.tar.gz", 307)
        error = await harness.error(source)
        words = f"redirects from https to http, to {plain.address}, which is refused"
        assert error.message == f"web server {server.address} {words}"
        error = await harness.error(HttpSource(f"https://{plain.address}/a.tar.gz"))
        assert error.message == f"web server {plain.address} does not speak TLS"


@pytest.mark.parametrize(
    "location",
    ["http://169.254.169.254/a", "http://[fe80::1]/a", "http://100.100.100.200/a", "http://2852039166/a", "//[::1]/a"],
)
async def test_redirects_to_refused_addresses(
    harness: SourceHarness, server: WebServer, url: str, location: str
) -> None:
    server.fault = redirect(location)
    error = await harness.error(HttpSource(url))
    assert (type(error), error.reason) == (AddressRefused, "AddressRefused"), "the redirect may change"


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.com/x", "", "http://[x"])
async def test_invalid_redirects(harness: SourceHarness, server: WebServer, url: str, location: str) -> None:
    server.fault = redirect(location)
    error = await harness.error(HttpSource(url))
    assert error.message == f"web server {server.address} redirects to an address that is not http or https"


async def test_addresses_of_this_machine_are_refused_unless_allowed(
    harness: SourceHarness, server: WebServer, url: str
) -> None:
    harness.access = replace(harness.access, allowed_cidrs=())
    for each in (url, url.replace("127.0.0.1", "localhost"), url.replace("127.0.0.1", "127.1")):
        error = await harness.error(HttpSource(each))
        assert error.reason == "AddressRefused"
        # A name may resolve to another address later; a literal address does not change.
        assert type(error) is (AddressRefused if "localhost" in each else BadReference)
    assert server.requests == []
    error = await harness.error(HttpSource("http://169.254.169.254/latest/meta-data"))
    assert isinstance(error, BadReference)
    assert error.message == (
        "web server 169.254.169.254 has the address 169.254.169.254, which is link-local, the range of metadata services: such "
        "addresses are refused unless --allow-source-cidr names them"
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://u:s3cret@example.com/a",
        "https://s3cret@example.com/a",
        "file:///etc/passwd",
        "ftp://example.com/a",
        "https:///a",
        "example.com/a",
        "https://example.com/a#s3cret",
        "https://example.com/a\r\nX: s3cret",
        "https://example.com:99999/a?s3cret",
        "https://[::1/a",
    ],
)
async def test_invalid_urls(harness: SourceHarness, url: str) -> None:
    error = await harness.error(HttpSource(url))
    assert (error.reason, isinstance(error, Blocked)) == ("InvalidReference", True)
    assert "s3cret" not in error.message.replace("X: s3cret", "")


async def test_a_missing_archive_is_reported(harness: SourceHarness, server: WebServer) -> None:
    error = await harness.error(HttpSource(f"{server.url}/gone?token=s3cret"))
    assert error.reason == "SourceNotFound"
    assert error.message == f'web server {server.address} has no archive "/gone", or does not allow access to it (404)'


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    [
        pytest.param(b"", "UnsupportedContent", "is empty", id="empty"),
        pytest.param(
            b"<!DOCTYPE html>\n<html>Log in",
            "UnsupportedContent",
            "is not an archive but text, such as a page, an error or a pointer to other storage: check what the URL returns",
            id="an HTML page",
        ),
        pytest.param(
            b'{"token": "s3cret of somebody else"}',
            "UnsupportedContent",
            "is not an archive but text, such as a page",
            id="a response whose text is not quoted",
        ),
        pytest.param(lzma.compress(tar(FILES)), "UnsupportedContent", "is packed with xz, which is not read", id="xz"),
        pytest.param(
            ARCHIVE[: len(ARCHIVE) // 2], "UnsupportedContent", "is not a complete tar archive", id="truncated"
        ),
        pytest.param(tar([file("../a", b"x")]), "UnsafeContent", "a path outside the archive", id="a path outside"),
        pytest.param(tar([file("/etc/a", b"x")]), "UnsafeContent", "an absolute path", id="an absolute path"),
        pytest.param(tar([link("a", "../../etc/passwd")]), "UnsafeContent", "outside the archive", id="a link outside"),
        pytest.param(
            tar([link("a", "/etc"), file("a/passwd", b"x")]), "UnsafeContent", "which is a link", id="through a link"
        ),
        pytest.param(
            tar([hard_link("a", "/etc/passwd")]), "UnsafeContent", "which is not a file", id="a hard link outside"
        ),
        pytest.param(tar([device("a")]), "UnsafeContent", "which is a device", id="a device"),
        pytest.param(
            tar([Entry("x", b"x", pax={"path": "a\0b"})]), "UnsafeContent", "a name with a NUL", id="a NUL in a name"
        ),
    ],
)
async def test_archives_that_are_refused(
    harness: SourceHarness, shelf: Path, url: str, data: bytes, reason: str, words: str
) -> None:
    (shelf / "a.tar.gz").write_bytes(data)
    error = await harness.error(HttpSource(url))
    assert isinstance(error, BadContent)
    assert (error.reason, error.ref) == (reason, f"{url}@{digest_of(data)}")
    assert error.message.startswith(f"archive {url}@{digest_of(data)} ")
    assert "s3cret" not in error.message
    assert words in error.message


async def test_decompression_bombs(harness: SourceHarness, shelf: Path, url: str) -> None:
    harness.limits = ContentLimits(bytes=10_000_000, files=1000)
    for data in (
        gzip.compress(tar([file("a", bytes(11_000_000))])),
        zstandard.compress(tar([file("a", bytes(11_000_000))])),
        gzip.compress(tar([file(f"f{number}", b"") for number in range(1001)])),
        gzip.compress(tar([file("a", bytes(9_000_000)), *(hard_link(f"b{number}", "a") for number in range(5))])),
        gzip.compress(tar([directory("/".join("d" * 70))])),
    ):
        (shelf / "a.tar.gz").write_bytes(data)
        error = await harness.error(HttpSource(url))
        assert (error.reason, isinstance(error, BadContent)) == ("TooLarge", True)


async def test_an_archive_larger_than_allowed_is_not_read_to_its_end(
    harness: SourceHarness, server: WebServer, url: str
) -> None:
    sent = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport and not request.transport.is_closing():
            await response.write(bytes(1024**2))
            sent += 1024**2
        return response

    server.fault = answer
    harness.limits = ContentLimits(bytes=1_000_000)
    with pytest.raises(Waiting) as raised:
        async with open_source(HttpSource(url), harness.access, limits=harness.limits):
            pass
    assert raised.value.message == f"archive {url} is larger than 1,000,000 bytes, the most that is read"
    assert sent < 100 * 1024**2


async def test_faults_of_servers(harness: SourceHarness, server: WebServer, url: str) -> None:
    async def silence(request: web.Request) -> web.StreamResponse:
        await server.closing()
        return web.Response()

    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = len(ARCHIVE)
        await response.prepare(request)
        await response.write(ARCHIVE[: len(ARCHIVE) // 2])
        assert request.transport is not None
        request.transport.close()
        return response

    async def busy(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    async def strange(request: web.Request) -> web.StreamResponse:
        return web.Response(body=ARCHIVE, headers={"Content-Encoding": "br"})

    who = f"web server {server.address}"
    for fault, words in (
        (half, f"{who} closed the connection in the middle of a response"),
        (busy, f'{who} answered 503 Service Unavailable when asked for archive "/a.tar.gz"'),
        (strange, f"{who} sent a response in an encoding that was not requested"),
        (silence, f"{who} does not answer: nothing within 1 s"),
        (trickle, f"{who} sends too slowly (less than 50 KiB in 0.3 s)"),
    ):
        if fault is silence:  # from here on they stall
            harness.use_short_timeouts()
        server.fault = fault
        error = await harness.error(HttpSource(url))
        assert (error.reason, error.message) == ("SourceUnavailable", words)


async def test_a_content_encoding_of_the_archive_itself(harness: SourceHarness, server: WebServer, url: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=ARCHIVE, headers={"Content-Encoding": "x-gzip"})

    server.fault = answer
    async with open_source(HttpSource(url), harness.access) as opened:
        assert opened.digest == archive_digest(digest_of(ARCHIVE))
    assert await harness.files(HttpSource(url)) == FILES


@pytest.mark.parametrize("value", ['"' + "x" * 2000 + '"', '"\u00e9"'])
async def test_an_invalid_validator_is_not_kept(
    harness: SourceHarness, server: WebServer, url: str, value: str
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=ARCHIVE, headers={"ETag": value})

    server.fault = answer
    async with open_source(HttpSource(url), harness.access) as opened:
        assert opened.validator == ""


def test_the_archives_of_these_tests_are_read_by_tarfile_too() -> None:
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE)) as archive:
        assert sorted(archive.getnames()) == sorted(FILES)
