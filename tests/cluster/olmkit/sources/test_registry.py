"""Registries that fail, lie, stall and send us elsewhere: always a sentence, never other bytes."""

from __future__ import annotations

import itertools
import os
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from devcluster import programs
from devcluster.cluster import Cluster
from olmkit.errors import Waiting
from olmkit.sources import image
from olmkit.sources.addresses import AddressRefused, SourceAddresses
from olmkit.sources.errors import ImageNotFound
from olmkit.sources.registries import Patience, Registries, parse
from tests import images
from tests.images import tar
from tests.registry_proxy import (
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

NUMBERS = itertools.count()
HASTY = Patience(connect=5, read=1, slow_after=0.2, slow_bytes=50 * 1024)
"""For registries that stall; the others get the usual patience, however busy the machine is."""
TEXT = os.urandom(100_000).hex()


@dataclass(frozen=True)
class Setting:
    """A proxy in front of the real registry, an image behind it, and the rules that lead there."""

    proxy: RegistryProxy
    registries: Registries
    repository: str
    digest: str

    @property
    def tag(self) -> str:
        return f"{self.proxy.address}/{self.repository}:v1"

    def sentence(self, error: Waiting) -> str:
        """The message with what differs from run to run by name."""
        text = error.message.replace(self.tag, "IMAGE").replace(self.proxy.address, "REGISTRY")
        return text.replace(self.digest, "DIGEST")


def conf(location: str, prefix: str = "", more: str = "") -> str:
    return f'[[registry]]\nprefix = "{prefix or location}"\nlocation = "{location}"\ninsecure = true\n{more}\n'


@pytest_asyncio.fixture
async def setting(cluster: Cluster) -> AsyncIterator[Setting]:
    repository = f"faults/{os.getpid()}-{next(NUMBERS)}"
    digest = images.push(cluster.registry, repository, "v1", [tar({"a": TEXT})], {"is": "it"})
    async with RegistryProxy(cluster.registry) as proxy:
        yield Setting(proxy, Registries(parse(conf(proxy.address))), repository, digest)


def empty(folder: Path) -> Path:
    made = folder / f"into-{next(NUMBERS)}"
    made.mkdir()
    return made


async def test_without_a_fault_it_works(setting: Setting, tmp_path: Path) -> None:
    into = empty(tmp_path)
    assert (await image.pull(setting.tag, into, setting.registries)).digest == setting.digest
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
            id="a blob that is missing",
        ),
        pytest.param(
            "/manifests/",
            status(799),
            "RegistryUnavailable",
            "registry REGISTRY answered 799",
            id="a status nobody knows",
        ),
        pytest.param(
            "/manifests/",
            status(401),
            "Unauthorized",
            'registry REGISTRY wants credentials for "IMAGE" (401)',
            id="401",
        ),
        pytest.param(
            "/manifests/",
            status(401, {"WWW-Authenticate": 'Basic realm="registry"'}),
            "Unauthorized",
            'registry REGISTRY wants credentials for "IMAGE" (401)',
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
            "registry REGISTRY wants a token, but does not say where to get one",
            id="a token from nowhere",
        ),
        pytest.param(
            "/manifests/",
            silence,
            "RegistryUnavailable",
            "registry REGISTRY does not answer: nothing within 1 s",
            id="silence",
        ),
        pytest.param(
            "/blobs/",
            trickle(0.001),
            "RegistryUnavailable",
            "registry REGISTRY sends too slowly (less than 50 KiB in 0.2 s)",
            id="a trickle",
        ),
        pytest.param(
            "/blobs/",
            hang_up_midway,
            "RegistryUnavailable",
            "registry REGISTRY broke off in the middle of an answer",
            id="half an answer",
        ),
        pytest.param(
            "/manifests/",
            redirect("/v2/other"),
            "ImageNotFound",
            'image "IMAGE" not found: registry REGISTRY has no such tag or repository (404)',
            id="a redirect to what is not there",
        ),
        pytest.param(
            "/v2/",
            redirect("/v2/again"),
            "RegistryUnavailable",
            "registry REGISTRY redirects more than 5 times",
            id="redirects without end",
        ),
        pytest.param(
            "/manifests/",
            redirect("file:///etc/passwd"),
            "RegistryUnavailable",
            "registry REGISTRY redirects to what is no http or https address",
            id="a redirect to a file",
        ),
        pytest.param(
            "/manifests/",
            redirect(""),
            "RegistryUnavailable",
            "registry REGISTRY redirects to what is no http or https address",
            id="a redirect to nothing",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://169.254.169.254/latest/meta-data?token=secret"),
            "AddressRefused",
            "169.254.169.254, where registry REGISTRY sends us, has the address 169.254.169.254, which is link-local, as "
            "metadata services are: such addresses are refused unless --allow-source-cidr names them",
            id="a redirect to a metadata service",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://user:secret@localhost:1/x"),
            "AddressRefused",
            "localhost:1, where registry REGISTRY sends us, has the address 127.0.0.1, which is loopback: such addresses are "
            "refused unless --allow-source-cidr names them",
            id="a redirect to loopback by name",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://2130706433/x"),
            "RegistryUnavailable",
            "2130706433, where registry REGISTRY sends us, broke off in the middle of an answer",
            id="a redirect to loopback as a number",
        ),
        pytest.param(
            "/blobs/",
            redirect("http://no-such-host.invalid/x"),
            "RegistryUnavailable",
            "no-such-host.invalid, where registry REGISTRY sends us, cannot be looked up: no such host",
            id="a redirect to a host that is not there",
        ),
    ],
)
async def test_what_a_registry_does_is_said(
    setting: Setting, tmp_path: Path, part: str, fault: Fault, reason: str, sentence: str
) -> None:
    stalls = "nothing within" in sentence or "too slowly" in sentence
    registries = replace(setting.registries, patience=HASTY) if stalls else setting.registries
    setting.proxy.on(part, fault)
    with pytest.raises(Waiting) as raised:
        await image.pull(setting.tag, empty(tmp_path), registries)
    assert setting.sentence(raised.value) == sentence
    assert raised.value.reason == reason
    assert timedelta(seconds=1) < raised.value.after <= timedelta(minutes=5)
    setting.proxy.on(part, None)
    await image.pull(setting.tag, empty(tmp_path), setting.registries)


async def test_the_registry_says_how_long_to_wait(setting: Setting) -> None:
    for said, expected in (("17", 17), ("0", 5), ("86400", 300), ("Fri, 31 Dec 1999 23:59:59 GMT", 60)):
        setting.proxy.on("/manifests/", status(429, {"Retry-After": said}))
        with pytest.raises(Waiting) as raised:
            await image.resolve(setting.tag, setting.registries)
        assert raised.value.after == timedelta(seconds=expected)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body[:-1], id="shorter than it says"),
        pytest.param(lambda body: body + b"\0", id="longer than it says"),
        pytest.param(lambda body: body + bytes(50_000_000), id="much longer than it says"),
        pytest.param(lambda body: body[:-1] + bytes([body[-1] ^ 1]), id="other bytes"),
        pytest.param(lambda body: b"", id="nothing"),
    ],
)
async def test_bytes_that_are_not_what_their_digest_says_never_arrive(
    setting: Setting, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    by_digest = f"{setting.proxy.address}/{setting.repository}@{setting.digest}"
    for part, ref in (("/blobs/", setting.tag), ("/manifests/", by_digest)):
        into = empty(tmp_path)
        setting.proxy.on(part, changed(change))
        with pytest.raises(Waiting) as raised:
            await image.pull(ref, into, setting.registries)
        setting.proxy.on(part, None)
        assert raised.value.reason in ("DigestMismatch", "RegistryUnavailable")
        assert "sends other bytes" in raised.value.message or "more than 4,194,304 bytes" in raised.value.message
        assert list(into.iterdir()) == []


async def test_a_digest_in_a_header_is_believed_only_until_the_bytes_come(setting: Setting, tmp_path: Path) -> None:
    lie = "sha256:" + "0" * 64
    setting.proxy.on(
        "/manifests/v1", status(200, {"Docker-Content-Digest": lie, "Content-Type": images.MANIFEST["oci"]})
    )
    resolved = await image.resolve(setting.tag, setting.registries)
    assert resolved.digest == lie
    with pytest.raises(ImageNotFound):
        await image.pull(resolved.ref_by_digest, empty(tmp_path), setting.registries)


@pytest.mark.parametrize(
    "fault",
    [digest_unsaid, None],
    ids=["a registry that never says digests", "one that says it only with the manifest"],
)
async def test_where_the_header_is_missing_the_manifest_is_read(setting: Setting, fault: Fault | None) -> None:
    async def no_head(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        if request.method == "HEAD":
            return web.Response(status=405)
        return await digest_unsaid(request, proxy)

    setting.proxy.on("/manifests/", fault or no_head)
    assert (await image.resolve(setting.tag, setting.registries)).digest == setting.digest


async def test_a_token_is_fetched_once(setting: Setting, tmp_path: Path) -> None:
    setting.proxy.on(f"/{setting.repository}/", wants_token(f"http://{setting.proxy.address}/token", "t0ken"))
    setting.proxy.on("/token", status(200, body=b'{"access_token": "t0ken"}'))
    into = empty(tmp_path)
    await image.pull(setting.tag, into, setting.registries)
    assert (into / "a").read_text() == TEXT
    assert setting.proxy.paths().count("/token") == 1, "one token for the whole image"
    asked = next(headers for line, headers in setting.proxy.requests if "/token" in line)
    assert "Authorization" not in asked


async def test_a_token_is_not_sent_to_where_a_registry_redirects(
    setting: Setting, cluster: Cluster, tmp_path: Path
) -> None:
    async with RegistryProxy(cluster.registry) as other:
        rules = parse(conf(setting.proxy.address) + conf(other.address))
        setting.proxy.on("/manifests/", wants_token(f"http://{setting.proxy.address}/token", "t0ken"))
        setting.proxy.on("/token", status(200, body=b'{"token": "t0ken"}'))
        setting.proxy.on("/blobs/", redirect_to(other.address))
        await image.pull(setting.tag, empty(tmp_path), replace(setting.registries, rules=rules))
        blobs = [headers for line, headers in setting.proxy.requests if "/blobs/" in line]
        assert {headers.get("Authorization") for headers in blobs} == {"Bearer t0ken"}
        assert len(other.requests) == len(blobs)
        assert all("Authorization" not in headers for _, headers in other.requests)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"token": 7}', b'{"token": "a\\nb"}', b"x" * 2_000_000]
)
async def test_an_answer_without_a_token_is_said(setting: Setting, body: bytes) -> None:
    setting.proxy.on("/manifests/", wants_token(f"http://{setting.proxy.address}/token", "t0ken"))
    setting.proxy.on("/token", status(200, body=body))
    with pytest.raises(Waiting, match="holds none"):
        await image.resolve(setting.tag, setting.registries)


async def test_a_token_that_does_not_help_is_not_asked_for_again(setting: Setting) -> None:
    setting.proxy.on("/manifests/", wants_token(f"http://{setting.proxy.address}/token", "t0ken"))
    setting.proxy.on("/token", status(200, body=b'{"token": "another"}'))
    with pytest.raises(Waiting, match=r"wants credentials for .* \(401\)"):
        await image.resolve(setting.tag, setting.registries)
    assert setting.proxy.paths().count("/token") == 1


async def test_a_port_where_nobody_listens_is_said(cluster: Cluster) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(Waiting) as raised:
            await image.resolve(f"{address}/a:v1", Registries(parse(conf(address))))
    assert raised.value.message == f"registry {address} does not answer: connection refused"


async def test_addresses_of_this_machine_are_refused_unless_allowed(setting: Setting, cluster: Cluster) -> None:
    port = setting.proxy.address.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
        with pytest.raises(AddressRefused, match="which is loopback"):
            await image.resolve(f"{host}:{port}/a:v1", Registries())
    assert setting.proxy.requests == []
    allowed = replace(setting.registries, rules=(), addresses=SourceAddresses.load(["127.0.0.0/8"]))
    with pytest.raises(Waiting, match="does not speak TLS"):
        await image.resolve(setting.tag, allowed)


async def test_a_host_that_only_a_wildcard_names_is_judged_like_any_other(setting: Setting) -> None:
    registries = Registries(parse('[[registry]]\nprefix = "*"\ninsecure = true\n'))
    with pytest.raises(AddressRefused):
        await image.resolve(setting.tag, registries)


async def test_mirrors_are_asked_in_order_and_then_the_registry_itself(
    setting: Setting, cluster: Cluster, tmp_path: Path
) -> None:
    async with RegistryProxy(cluster.registry) as mirror:
        both = conf(
            setting.proxy.address,
            "registry.example.com",
            f'[[registry.mirror]]\nlocation = "{mirror.address}"\ninsecure = true\n',
        )
        registries = Registries(parse(both))
        ref = f"registry.example.com/{setting.repository}:v1"
        pulled = await image.pull(ref, empty(tmp_path), registries)
        assert pulled.ref_by_digest == f"registry.example.com/{setting.repository}@{setting.digest}"
        assert setting.proxy.requests == [], "the mirror has it all"

        mirror.on("/blobs/", status(404))
        await image.pull(ref, empty(tmp_path), registries)
        assert any("/blobs/" in path for path in setting.proxy.paths()), "a blob that the mirror lacks"

        setting.proxy.on("/blobs/", changed(lambda body: body[:-1]))
        with pytest.raises(Waiting) as raised:
            await image.pull(ref, empty(tmp_path), registries)
        assert f"registry {mirror.address} answered 404 Not Found" in raised.value.message
        assert f"registry {setting.proxy.address} sends other bytes" in raised.value.message

        mirror.on("/v2/", silence)
        registries = replace(registries, patience=HASTY)
        setting.proxy.on("/blobs/", None)
        assert (await image.resolve(ref, registries)).digest == setting.digest

        setting.proxy.on("/manifests/", status(404))
        with pytest.raises(ImageNotFound) as missing:
            await image.resolve(ref, registries)
        assert missing.value.message == (
            f"registry {mirror.address} does not answer: nothing within 1 s; "
            f'image "{ref}" not found: registry {setting.proxy.address} has no such tag or repository (404)'
        )


@pytest.fixture
def keys(cluster: Cluster, tmp_path: Path) -> Path:
    """A folder with a certificate for loopback and its key, by an authority that nobody trusts."""
    found = programs.find(print)
    assert found is not None
    folder = tmp_path / "keys"
    folder.mkdir()
    subprocess.run([found / "devcluster-certificates", folder, "127.0.0.1", "localhost"], check=True)
    return folder


async def test_a_certificate_of_nobody_is_said_and_insecure_takes_it(
    setting: Setting, cluster: Cluster, keys: Path
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(keys / "kube-apiserver.crt", keys / "kube-apiserver.key")
    async with RegistryProxy(cluster.registry, tls=context) as proxy:
        ref = f"{proxy.address}/{setting.repository}:v1"
        with pytest.raises(Waiting) as raised:
            await image.resolve(ref, Registries(parse(f'[[registry]]\nlocation = "{proxy.address}"')))
        assert raised.value.message.startswith(f"registry {proxy.address} shows a certificate that is not trusted: ")
        assert (await image.resolve(ref, Registries(parse(conf(proxy.address))))).digest == setting.digest
