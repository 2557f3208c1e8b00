"""Git servers over http and https: logins, redirects and invalid responses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from msgspec import structs

from olmkit.errors import Waiting
from olmkit.sources.addresses import AddressRefused
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import BadContent, BadReference
from olmkit.sources.open import open_source
from tests.integration.olmkit.sources.git.content import CATALOG_FILES, FILES, PASSWORD, ssh_secret
from tests.integration.olmkit.sources.harness import SourceHarness, branch, commit
from tests.secrets import auth, docker_config, secret
from tests.servers.certificates import Authority
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.git_ssh_server import GitSshServer
from tests.servers.web_server import redirect, trickle


async def test_a_login_is_sent_to_the_hosts_of_its_secret_only(
    harness: SourceHarness, repository: Repository, directory: Path
) -> None:
    repository.commit(FILES)
    async with GitServer(directory, login=("reader", PASSWORD)) as server:
        url = f"{server.url}/team/x.git"
        what = f'git server {server.address} requires a user and a password for git repository "/team/x.git" (401)'
        error = await harness.error(branch(url))
        assert (error.reason, error.message) == ("Unauthorized", f"{what}: name a Secret in auth")

        values = {"username": "reader", "password": PASSWORD}
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, "git.example.com"))
        error = await harness.error(branch(url))
        assert error.message == f"{what}, and the Secret is for other hosts: git.example.com"
        assert set(server.authorizations) == {None}

        harness.use_secrets(
            secret(
                "kubernetes.io/ssh-auth", {"ssh-privatekey": "K3y-Sesame", "ssh-knownhosts": "h0sts"}, server.address
            )
        )
        error = await harness.error(branch(url))
        words = (
            "Secret olm-suite-system/login has a key, which is for ssh: "
            "name a Secret of type kubernetes.io/basic-auth in auth"
        )
        assert error.message == f"{what}, and {words}"

        harness.use_secrets(
            secret(
                "kubernetes.io/basic-auth",
                values | {"password": "Wr0ng-Sesame"},
                server.address,
                insecure=server.address,
            )
        )
        error = await harness.error(branch(url))
        words = "does not accept the user and password of Secret olm-suite-system/login"
        assert error.message == f'git server {server.address} {words} for git repository "/team/x.git" (401)'

        harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address))
        assert await harness.files(branch(url, directory="catalog")) == CATALOG_FILES


async def test_a_login_is_sent_over_plain_http_only_if_its_secret_allows_it(
    harness: SourceHarness, repository: Repository, directory: Path
) -> None:
    repository.commit(FILES)
    values = {"username": "reader", "password": PASSWORD}
    async with GitServer(directory, login=("reader", PASSWORD)) as server:
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address))
        error = await harness.error(branch(f"{server.url}/team/x.git"))
        assert "are sent neither by plain HTTP nor with insecureSkipVerify" in error.message
        assert set(server.authorizations) == {None}


async def test_access_to_a_commit_requires_access_to_its_repository(
    harness: SourceHarness, repository: Repository, directory: Path
) -> None:
    name = repository.commit(FILES)
    values = {"username": "reader", "password": PASSWORD}
    async with GitServer(directory, login=("reader", PASSWORD)) as server:

        async def confirm(repository: str) -> None:
            async with open_source(commit(f"{server.url}/team/{repository}.git", name), harness.access) as opened:
                await opened.verify_access()

        with pytest.raises(Waiting, match="requires a user and a password"):
            await confirm("x")
        harness.use_secrets(
            secret(
                "kubernetes.io/basic-auth",
                values | {"password": "Wr0ng-Sesame"},
                server.address,
                insecure=server.address,
            )
        )
        with pytest.raises(Waiting, match="does not accept the user and password"):
            await confirm("x")
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address))
        await confirm("x")
        with pytest.raises(Waiting):
            await confirm("y")


async def test_hosts_of_a_secret_that_the_object_does_not_name_are_not_disclosed(
    harness: SourceHarness, repository: Repository, directory: Path
) -> None:
    repository.commit(FILES)
    values = {"username": "reader", "password": PASSWORD}
    async with GitServer(directory, login=("reader", PASSWORD)) as server:
        url = f"{server.url}/team/x.git"
        what = f'git server {server.address} requires a user and a password for git repository "/team/x.git" (401)'
        common_secret = docker_config({"registry.hidden.example": auth("u", PASSWORD)}, name="all")
        harness.use_secrets(secret("kubernetes.io/basic-auth", values, "git.example.com"), shared=common_secret)
        error = await harness.error(branch(url))
        assert error.message == f"{what}, and the Secret is for other hosts: git.example.com", (
            "not those of another Secret"
        )
        harness.use_secrets(shared=common_secret)
        assert (await harness.error(branch(url))).message == f"{what}: name a Secret in auth"
        harness.use_secrets(docker_config({server.address: auth("reader", PASSWORD)}))
        error = await harness.error(branch(url))
        words = (
            "has logins for registries, which are not sent to other servers: "
            "name a Secret of type kubernetes.io/basic-auth in auth"
        )
        assert error.message == f"{what}, and Secret olm-suite-system/login {words}"
        assert set(server.authorizations) == {None}


async def test_a_login_does_not_follow_a_redirect(
    harness: SourceHarness, repository: Repository, directory: Path
) -> None:
    repository.commit(FILES)
    async with GitServer(directory) as there, GitServer(directory) as here:

        async def send_on(request: web.Request) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": f"{there.url}{request.path_qs}"})

        here.fault = send_on
        values = {"username": "reader", "password": PASSWORD}
        harness.use_secrets(
            secret(
                "kubernetes.io/basic-auth",
                values,
                f"{here.address},{there.address}",
                insecure=f"{here.address},{there.address}",
            )
        )
        assert await harness.files(branch(f"{here.url}/team/x.git", directory="catalog")) == CATALOG_FILES
        assert None not in here.authorizations
        assert set(there.authorizations) == {None}
        assert all(line.startswith("GET ") for line in here.lines), (
            "later requests are sent to the target of the first redirect"
        )


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/info/refs?service=git-upload-pack",
        "http://[fd00:ec2::254]/info/refs?service=git-upload-pack",
        "http://[::1]:1/info/refs?service=git-upload-pack",
    ],
)
async def test_redirects_to_refused_addresses(
    harness: SourceHarness, server: GitServer, url: str, location: str
) -> None:
    server.fault = redirect(location)
    error = await harness.error(branch(url))
    assert error.reason == "AddressRefused"


@pytest.mark.parametrize(
    ("location", "reason", "words"),
    [
        pytest.param("file:///etc/passwd", "SourceUnavailable", "not http or https", id="to a file"),
        pytest.param("/elsewhere", "SourceUnavailable", "redirects more than 5 times", id="in a circle"),
    ],
)
async def test_invalid_redirects(
    harness: SourceHarness, server: GitServer, url: str, location: str, reason: str, words: str
) -> None:
    server.fault = redirect(location)
    error = await harness.error(branch(url))
    assert error.reason == reason
    assert words in error.message
    assert "registry" not in error.message


async def test_loopback_is_refused_unless_allowed(
    harness: SourceHarness, repository: Repository, server: GitServer, url: str
) -> None:
    repository.commit(FILES)
    harness.access = replace(harness.access, allowed_cidrs=())
    for each in (url, url.replace("127.0.0.1", "localhost"), url.replace("127.0.0.1", "0x7f000001")):
        error = await harness.error(branch(each))
        assert error.reason == "AddressRefused"
        assert "which is loopback" in error.message
        assert type(error) is (AddressRefused if "localhost" in each else BadReference)
    assert server.requests == []
    async with GitSshServer(repository.directory.parents[1]) as ssh:
        harness.use_secrets(ssh_secret(ssh))
        error = await harness.error(branch(f"ssh://git@{ssh.address}/team/x.git"))
        assert (type(error), error.reason) == (BadReference, "AddressRefused")
        assert ssh.users == []


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param(b"<html>", "text/html", id="an HTML page"),
        pytest.param(b"zzzz", "", id="no git protocol"),
        pytest.param(b"0003", "", id="an invalid length"),
        pytest.param(b"fff0abc", "", id="shorter than its length"),
        pytest.param(b"001e# service=git-upload-pack\n0000000eversion 7\n0000", "", id="an unknown version"),
        pytest.param(b"001e# service=git-upload-pack\n00000008ab\n0000", "", id="a branch without a name"),
        pytest.param(b"0029ERR you sent Basic cmVhZGVyOk9wM24=\n0000", "", id="an error"),
        pytest.param(b"000dpackfile\n0009\x03no\n0000", "", id="an error in addition to the pack"),
        pytest.param(b"000dpackfile\n000a\x01PACK\x00\x00", "", id="a truncated pack"),
        pytest.param(
            b"0012packfile-uris\n" + b"0035" + b"http://169.254.169.254/x sha1 " + b"a" * 19 + b"000dpackfile\n0000",
            "",
            id="a pack at another address",
        ),
    ],
)
async def test_invalid_responses(
    harness: SourceHarness, repository: Repository, server: GitServer, url: str, method: str, body: bytes, kind: str
) -> None:
    repository.commit(FILES)
    usual = {
        "GET": "application/x-git-upload-pack-advertisement",
        "POST": "application/x-git-upload-pack-result",
    }[method]

    async def answer(request: web.Request) -> web.StreamResponse | None:
        return web.Response(body=body, headers={"Content-Type": kind or usual}) if request.method == method else None

    server.fault = answer
    error = await harness.error(branch(url))
    assert isinstance(error, Waiting)
    assert error.reason in ("SourceUnavailable", "SourceNotFound")
    assert error.message.startswith(("git repository ", "git server "))


async def test_a_password_that_the_server_sends_back_is_not_in_the_message(
    harness: SourceHarness, repository: Repository, server: GitServer, url: str
) -> None:
    repository.commit(FILES)
    values = {"username": "reader", "password": PASSWORD}
    harness.use_secrets(secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address))

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.method == "GET":
            return None
        said = f"ERR your password is {PASSWORD}, {request.headers['Authorization']}\n"
        body = f"{len(said) + 4:04x}{said}0000"
        return web.Response(text=body, content_type="application/x-git-upload-pack-result")

    server.fault = answer
    error = await harness.error(branch(url))
    assert error.message == f"git repository {url} does not answer as a git server, or closed the connection"


async def test_an_endless_list_of_branches(harness: SourceHarness, server: GitServer, url: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        kind = "application/x-git-upload-pack-advertisement"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        line = b"003d" + b"a" * 40 + b" refs/heads/aaaa\n"
        await response.write(b"001e# service=git-upload-pack\n0000")
        for _ in range(40):
            await response.write(line * 20_000)
        return response

    server.fault = answer
    error = await harness.error(branch(url))
    assert error.reason == "TooLarge"
    words = "sends more than 33,554,432 bytes, the most that is read of its branches and tags"
    assert error.message == f"git repository {url} {words}"


async def test_an_endless_pack(harness: SourceHarness, repository: Repository, server: GitServer, url: str) -> None:
    repository.commit(FILES)
    harness.limits = ContentLimits(bytes=1_000_000)

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.method == "GET" or b"command=fetch" not in await request.read():
            return None
        response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result"})
        await response.prepare(request)
        await response.write(b"000dpackfile\n")
        for _ in range(40):
            await response.write(b"fff0\x01" + b"x" * (0xFFF0 - 5))
        return response

    server.fault = answer
    error = await harness.error(branch(url))
    assert (error.reason, isinstance(error, BadContent)) == ("TooLarge", True)
    assert error.message == f"git repository {url} sends more than 1,000,000 bytes, the most that is read"


async def test_a_server_that_is_silent_or_slow(
    harness: SourceHarness, repository: Repository, server: GitServer, url: str
) -> None:
    repository.commit(FILES)
    harness.use_short_timeouts()

    async def silence(request: web.Request) -> web.StreamResponse:
        await server.closing()
        return web.Response()

    server.fault = silence
    error = await harness.error(branch(url))
    assert error.message == f"git server {server.address} does not answer: nothing within 1 s"
    server.fault = trickle
    error = await harness.error(branch(url))
    assert error.message == f"git server {server.address} sends too slowly (less than 50 KiB in 0.3 s)"
    assert error.reason == "SourceUnavailable"


async def test_certificates(harness: SourceHarness, repository: Repository, directory: Path, tmp_path: Path) -> None:
    repository.commit(FILES)
    authority = Authority()
    async with GitServer(directory, tls=authority.server_context(tmp_path)) as server:
        source = branch(f"{server.url}/team/x.git", directory="catalog")
        error = await harness.error(source)
        assert error.reason == "SourceUnavailable"
        assert f"git server {server.address} presents a certificate that is not trusted" in error.message
        assert await harness.files(structs.replace(source, insecure_skip_verify=True)) == CATALOG_FILES
        harness.access = replace(harness.access, ca_directory=authority.directory(tmp_path))
        assert await harness.files(source) == CATALOG_FILES
