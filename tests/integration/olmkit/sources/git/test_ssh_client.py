"""Git servers over ssh: keys, host keys and invalid responses."""

from __future__ import annotations

import asyncio
import base64
import hmac
import socket
from dataclasses import replace

import asyncssh
import pytest
from msgspec import structs

from olmkit.errors import Blocked, Waiting
from tests.integration.olmkit.sources.git.content import ALL_REFS_PROGRESS, CATALOG_FILES, FILES, ssh_secret
from tests.integration.olmkit.sources.harness import SourceHarness, branch, commit, tag
from tests.secrets import secret
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.git_ssh_server import GitSshServer


@pytest.mark.parametrize("version", [2, 0])
async def test_a_branch_a_tag_and_a_commit_over_ssh(
    harness: SourceHarness, repository: Repository, version: int
) -> None:
    first = repository.commit(FILES)
    repository.git("tag", "--annotate", "--message", "words", "heavy", first)
    second = repository.commit({"catalog/c": "new"}, on=first)
    async with GitSshServer(repository.directory.parents[1], version=version) as server:
        harness.use_secrets(ssh_secret(server))
        url = f"ssh://someone@{server.address}/team/x.git"
        assert await harness.files(branch(url, directory="catalog")) == {"c": "new"}
        assert await harness.files(tag(url, "heavy")) == FILES
        assert await harness.files(commit(url, second)) == {"catalog/c": "new"}
        assert await harness.files(commit(url, first, "catalog")) == CATALOG_FILES
    assert set(server.users) == {"someone"}
    assert set(server.commands) == {"git-upload-pack '/team/x.git'"}


async def test_a_commit_that_an_ssh_server_serves_only_with_its_branch(
    harness: SourceHarness, repository: Repository
) -> None:
    """With protocol version 0, git serves tips of branches and tags only."""
    first = repository.commit(FILES, "side")
    repository.git("tag", "--annotate", "--message", "words", "heavy", first)
    repository.commit({"a": "newer"}, "side", on=first)
    repository.commit({"b": "other"})
    async with GitSshServer(repository.directory.parents[1], version=0) as server:
        harness.use_secrets(ssh_secret(server))
        url = f"ssh://git@{server.address}/team/x.git"
        assert await harness.files(commit(url, first, "catalog")) == CATALOG_FILES
        assert ALL_REFS_PROGRESS in harness.lines
        error = await harness.error(commit(url, "a" * 40))
    assert error.reason == "SourceNotFound"
    assert error.message == f"git repository {url} has no commit {'a' * 40}, or does not allow access to it"


async def test_the_host_key_is_verified_with_the_secret(harness: SourceHarness, repository: Repository) -> None:
    repository.commit(FILES)
    directory = repository.directory.parents[1]
    async with GitSshServer(directory) as server, GitSshServer(directory) as other:
        source = branch(f"ssh://git@{server.address}/team/x.git", directory="catalog")
        strange = server.known_hosts.partition(" ")[0] + " " + other.known_hosts.partition(" ")[2]
        harness.use_secrets(ssh_secret(server, **{"ssh-knownhosts": strange}))
        error = await harness.error(source)
        assert (error.reason, isinstance(error, Waiting)) == ("HostKeyRefused", True)
        assert await harness.files(structs.replace(source, insecure_skip_verify=True)) == CATALOG_FILES

        harness.use_secrets(ssh_secret(server, **{"ssh-knownhosts": other.known_hosts}))
        assert (await harness.error(source)).reason == "HostKeyRefused", "no line names this host"

        harness.use_secrets(ssh_secret(server, **{"ssh-privatekey": other.private_key}))
        error = await harness.error(source)
        words = f"git server {server.address} does not accept the key of Secret olm-suite-system/login"
        assert (error.reason, error.message) == ("Unauthorized", words)
        assert server.commands[-3:] == ["git-upload-pack '/team/x.git'"] * len(server.commands[-3:])


ANNOTATION = "olm.operatorframework.io/source-hosts"


async def test_a_git_server_without_a_key_is_blocked(harness: SourceHarness, repository: Repository) -> None:
    async with GitSshServer(repository.directory.parents[1]) as server:
        source = branch(f"ssh://git@{server.address}/team/x.git")
        needs = f"git server {server.address} is reached over ssh, which needs a key"
        put = (
            "create a Secret of type kubernetes.io/ssh-auth in the namespace of the suite with ssh-privatekey, ssh-knownhosts"
            f' and the annotation {ANNOTATION}: "{server.address}", and name it in auth.secret'
        )
        error = await harness.error(source)
        assert (type(error), error.reason, error.message) == (Blocked, "Unauthorized", f"{needs}: {put}")

        keys = {"ssh-privatekey": server.private_key, "ssh-knownhosts": server.known_hosts}
        harness.use_secrets(secret("kubernetes.io/ssh-auth", keys, "other.example,files.example:8443"))
        error = await harness.error(source)
        other = f"the Secret is for other hosts (files.example:8443, other.example): name it in its annotation {ANNOTATION} too"
        assert (type(error), error.message) == (Blocked, f"{needs}, and {other}")

        login = {"username": "robot", "password": "s3cret"}
        harness.use_secrets(secret("kubernetes.io/basic-auth", login, server.address))
        error = await harness.error(source)
        wrong = "Secret olm-suite-system/login has a user and a password, which are for https"
        assert (type(error), error.message) == (Blocked, f"{needs}, and {wrong}: {put}")
        assert server.commands == []


async def test_forms_of_known_hosts(harness: SourceHarness, repository: Repository) -> None:
    repository.commit(FILES)
    async with GitSshServer(repository.directory.parents[1]) as server:
        source = branch(f"ssh://git@{server.address}/team/x.git", directory="catalog")
        host, port = server.address.split(":")
        place = f"[{host}]:{port}"
        salt = b"0123456789abcdefghij"
        mac = base64.b64encode(hmac.new(salt, place.encode(), "sha1").digest()).decode()
        hashed = f"|1|{base64.b64encode(salt).decode()}|{mac}"
        for lines in (
            server.other_known_hosts,
            server.known_hosts + server.other_known_hosts,
            f"# made by ssh-keyscan\n\n{server.known_hosts}",
            server.known_hosts.replace(place, f"other.example,{place}"),
            server.known_hosts.replace(place, f"[127.0.0.*]:{port}"),
            server.known_hosts.replace(place, hashed),
        ):
            harness.use_secrets(ssh_secret(server, **{"ssh-knownhosts": lines}))
            assert await harness.files(source) == CATALOG_FILES, lines
        for lines in (
            "@revoked " + server.known_hosts + server.known_hosts,
            "@revoked " + server.known_hosts + "@revoked " + server.other_known_hosts,
            server.known_hosts.replace(place, f"!{place},[127.0.0.*]:{port}"),
            server.known_hosts.replace(place, f"[{host}]:22"),
            "\n",
        ):
            harness.use_secrets(ssh_secret(server, **{"ssh-knownhosts": lines}))
            assert (await harness.error(source)).reason == "HostKeyRefused", lines
        harness.use_secrets(ssh_secret(server, **{"ssh-knownhosts": "@cert-authority " + server.known_hosts}))
        words = f"git server {server.address} offers no encryption or no type of host key that is supported"
        assert (await harness.error(source)).message == words


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        pytest.param("ssh-privatekey", "s3cret nonsense", "InvalidSecret", id="no private key"),
        pytest.param("ssh-knownhosts", "s3cret", "InvalidSecret", id="an invalid line"),
        pytest.param("ssh-knownhosts", "127.0.0.1 s3cret", "HostKeyRefused", id="an invalid host key"),
    ],
)
async def test_invalid_keys(harness: SourceHarness, repository: Repository, key: str, value: str, reason: str) -> None:
    async with GitSshServer(repository.directory.parents[1]) as server:
        harness.use_secrets(ssh_secret(server, **{key: value}))
        error = await harness.error(branch(f"ssh://git@{server.address}/team/x.git"))
        assert server.commands == []
    assert (error.reason, isinstance(error, Blocked)) == (reason, reason == "InvalidSecret")
    assert "s3cret" not in error.message


def locked_key(form: str) -> str:
    """An encrypted private key in the format of OpenSSH, as far as it is read without the passphrase."""
    if form != "openssh":
        return asyncssh.generate_private_key("ssh-rsa").export_private_key(form, "s3cret").decode()
    parts = (b"aes256-ctr", b"bcrypt", b"")
    head = b"openssh-key-v1\0" + b"".join(len(part).to_bytes(4) + part for part in parts)
    body = base64.b64encode(head + (1).to_bytes(4) + 2 * (4).to_bytes(4).join((b"", b"none"))).decode()
    return f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("form", ["pkcs8-pem", "openssh", "pkcs1-pem"])
async def test_a_key_with_a_passphrase(harness: SourceHarness, repository: Repository, form: str) -> None:
    locked = locked_key(form)
    async with GitSshServer(repository.directory.parents[1]) as server:
        harness.use_secrets(ssh_secret(server, **{"ssh-privatekey": locked}))
        error = await harness.error(branch(f"ssh://git@{server.address}/team/x.git"))
    words = (
        "has an ssh-privatekey that is encrypted with a passphrase: use a key without one (ssh-keygen -p -N '' -f FILE)"
    )
    assert (type(error), error.message) == (Blocked, f"Secret olm-suite-system/login {words}")


async def test_a_public_key_in_place_of_the_private_key(harness: SourceHarness, repository: Repository) -> None:
    async with GitSshServer(repository.directory.parents[1]) as server:
        public = asyncssh.import_private_key(server.private_key).export_public_key().decode()
        harness.use_secrets(ssh_secret(server, **{"ssh-privatekey": public}))
        error = await harness.error(branch(f"ssh://git@{server.address}/team/x.git"))
    words = "has a public key as its ssh-privatekey: give the private one, the file whose name does not end in .pub"
    assert (type(error), error.message) == (Blocked, f"Secret olm-suite-system/login {words}")


async def test_an_ssh_server_without_git(harness: SourceHarness, repository: Repository) -> None:
    async with GitSshServer(repository.directory.parents[1]) as server:
        harness.use_secrets(ssh_secret(server))
        url = f"ssh://git@{server.address}/team/gone.git"
        error = await harness.error(branch(url))
        assert error.message.startswith(f'git repository {url} responded: "fatal: ')
        server.script = lambda process: process.exit(0)
        error = await harness.error(branch(url))
        assert error.message == f"git repository {url} does not answer as a git server, or closed the connection"
        harness.use_short_timeouts()
        server.script = lambda process: None
        error = await harness.error(branch(url))
        assert error.message == f"git server {server.address} does not answer: nothing within 1 s"

        def endless(process: object) -> None:
            process.stdout.write(b"003d" + b"a" * 40 + b" refs/heads/aaaa\n")  # type: ignore[attr-defined]
            asyncio.get_running_loop().call_later(0.02, endless, process)

        server.script = endless
        error = await harness.error(branch(url))
        assert error.message == f"git server {server.address} sends too slowly (less than 50 KiB in 0.3 s)"


async def test_a_name_that_resolves_to_a_refused_address(harness: SourceHarness, repository: Repository) -> None:
    """The name itself is allowed; its address is checked when the connection is made."""
    name = socket.gethostname()
    try:
        address = socket.getaddrinfo(name, None, family=socket.AF_INET)[0][4][0]
    except OSError:
        pytest.skip("this machine's name cannot be resolved")
    async with GitSshServer(repository.directory.parents[1]) as server:
        keys = {"ssh-privatekey": server.private_key, "ssh-knownhosts": server.known_hosts}
        port = server.address.rpartition(":")[2]
        harness.use_secrets(secret("kubernetes.io/ssh-auth", keys, f"{name}:{port}"))
        harness.access = replace(harness.access, allowed_cidrs=(), denied_hosts=(name,))
        error = await harness.error(branch(f"ssh://git@{name}:{port}/team/x.git"))
    assert error.reason == "AddressRefused"
    assert f"git server {name}:{port} has the address {address}, which is the API server's" in error.message


async def test_a_port_without_ssh(harness: SourceHarness, repository: Repository, server: GitServer) -> None:
    async with GitSshServer(repository.directory.parents[1]) as ssh:
        keys = {"ssh-privatekey": ssh.private_key, "ssh-knownhosts": ssh.known_hosts}
    harness.use_secrets(secret("kubernetes.io/ssh-auth", keys, f"{server.address},{ssh.address}"))
    error = await harness.error(branch(f"ssh://git@{server.address}/team/x.git"))
    assert error.message == f"git server {server.address} does not speak ssh, or closed the connection"
    error = await harness.error(branch(f"ssh://git@{ssh.address}/team/x.git"))
    assert error.message == f"git server {ssh.address} does not answer: connection refused"
