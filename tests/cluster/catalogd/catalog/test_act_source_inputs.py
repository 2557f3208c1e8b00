"""Catalogs from a registry with logins, a git repository and a web server: credentials, updates, failures, status."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from olmkit.api import catalogs
from olmkit.api.meta import Kind
from tests.cluster.catalogd.conftest import NAMESPACE, Object, World, lines, package, running
from tests.cluster.endpoints import endpoint_of_the_api_server
from tests.conditions import triple
from tests.images import push, tar
from tests.secrets import auth, docker_config, secret
from tests.servers.certificates import Authority
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.git_ssh_server import GitSshServer
from tests.servers.registry import PASSWORD, USER, basic_auth, own_registry
from tests.servers.web_server import WebServer

SECRET = Kind("", "v1", "Secret", "secrets", namespaced=True)
LABELS = {"operators.operatorframework.io.index.configs.v1": "/configs"}
WRONG = "n0t-the-password"


def files(*names: str) -> dict[str, bytes]:
    """A catalog of these packages as files without a directory."""
    return {"catalog.json": lines(*(package(name, "1.0.0") for name in names))["configs/catalog.json"]}


async def put(world: World, body: Mapping[str, Any], name: str) -> None:
    """Apply a Secret of the test's namespace."""
    await world.client.apply(
        SECRET, {**body, "metadata": {**body["metadata"], "name": name, "namespace": NAMESPACE}}, "test"
    )


async def listed(world: World, *names: str) -> Object:
    """The Catalog as soon as it serves these packages and is done."""
    await world.until(f"{names} are served", lambda: world.find().get("status", {}).get("packages") == ",".join(names))
    return await world.ready()


def has_no_password(found: Object) -> bool:
    """Whether no password is in the object."""
    return PASSWORD not in json.dumps(found) and WRONG not in json.dumps(found)


async def test_a_registry_gets_the_credentials_of_the_pull_secret_and_again_when_that_changes(
    world: World, tmp_path: Path
) -> None:
    name = f"{world.name}-login"
    async with own_registry(tmp_path / "images") as opened:
        push(opened, "c", "v1", [tar(lines(package("p", "1.0.0")))], LABELS)
    async with own_registry(tmp_path / "images", basic_auth(tmp_path / "users")) as guarded:
        conf = tmp_path / "guarded.conf"
        conf.write_text(f'[[registry]]\nprefix = "{guarded}"\ninsecure = true\n')
        async with running(world, tmp_path / "cache", "--registries-conf", str(conf)):
            await put(world, docker_config({guarded: auth(USER, WRONG)}), name)
            await world.catalog_of(
                {"source": {"type": "image", "image": {"ref": f"{guarded}/c:v1", "pullSecret": name}}}
            )
            found = await world.when("Unpacked", "False", "UnpackFailed")
            assert name in triple(found, "Unpacked")[2]
            assert has_no_password(found)
            await put(world, docker_config({guarded: auth(USER, PASSWORD)}), name)
            assert (await world.ready())["status"]["packages"] == "p"
    assert all(has_no_password(each) for each in world.history)
    await world.client.delete(SECRET, name, NAMESPACE)


async def test_the_cluster_wide_pull_secret_is_used_for_catalogs_without_one(world: World, tmp_path: Path) -> None:
    name = f"{world.name}-all"
    async with own_registry(tmp_path / "images") as opened:
        push(opened, "c", "v1", [tar(lines(package("p", "1.0.0")))], LABELS)
    async with own_registry(tmp_path / "images", basic_auth(tmp_path / "users")) as guarded:
        conf = tmp_path / "guarded.conf"
        conf.write_text(f'[[registry]]\nprefix = "{guarded}"\ninsecure = true\n')
        async with running(world, tmp_path / "cache", "--registries-conf", str(conf), "--pull-secret", name):
            await world.catalog_of({"source": {"type": "image", "image": {"ref": f"{guarded}/c:v1"}}})
            found = await world.when("Unpacked", "False", "UnpackFailed")
            missing = (
                f'; the Secret for all Catalogs cannot be used: Secret "{name}" not found in namespace "{NAMESPACE}": '
            )
            assert missing in triple(found, "Unpacked")[2]
            await put(world, docker_config({f"{guarded}?": auth(USER, PASSWORD)}), name)
            bad = f"; the Secret for all Catalogs cannot be used: Secret {NAMESPACE}/{name} names the registry …, which is"
            await world.until("its error is reported", lambda: bad in triple(world.seen(), "Unpacked")[2])
            await put(world, docker_config({guarded: auth(USER, PASSWORD)}), name)
            await world.ready()
    await world.client.delete(SECRET, name, NAMESPACE)


async def test_a_branch_is_followed_and_its_content_is_served_without_the_server(world: World, tmp_path: Path) -> None:
    name = f"{world.name}-git"
    repository = Repository(tmp_path / "repositories" / "r.git")
    first = repository.commit({"catalogs/a/catalog.json": files("p")["catalog.json"], "README.md": "not a catalog"})
    async with running(world, tmp_path / "cache"):
        async with GitServer(tmp_path / "repositories", login=("robot", PASSWORD)) as server:
            values = {"username": "robot", "password": PASSWORD}
            body = secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address)
            await put(world, body, name)
            git = {
                **{"repository": f"{server.url}/r.git", "ref": {"branch": "main"}, "directory": "catalogs"},
                **{"auth": {"secret": {"name": name}}, "pollInterval": "1s"},
            }
            await world.catalog_of({"source": {"type": "git", "git": git}})
            found = await listed(world, "p")
            resolved = {"repository": git["repository"], "commit": first, "directory": "catalogs"}
            assert found["status"]["resolvedSource"] == {"type": "git", "git": resolved}
            assert found["status"]["contentDigest"].startswith("sha256:")
            second = repository.commit({"catalogs/catalog.json": files("p", "q")["catalog.json"]}, on=first)
            found = await listed(world, "p", "q")
            assert found["status"]["resolvedSource"]["git"]["commit"] == second
        found = await world.when("Ready", "True", "ServingOldContent")
        assert found["status"]["packages"] == "p,q"
        assert (await world.get(f"{world.name}/all.json"))[0] == 200
        assert has_no_password(found)
    await world.client.delete(SECRET, name, NAMESPACE)


async def test_a_git_source_over_ssh_stalls_until_there_is_a_key_for_it(world: World, tmp_path: Path) -> None:
    shared, own = f"{world.name}-all", f"{world.name}-own"
    Repository(tmp_path / "repositories" / "r.git").commit(files("p"))
    async with (
        GitSshServer(tmp_path / "repositories") as server,
        running(world, tmp_path / "cache", "--pull-secret", shared),
    ):
        keys = {"ssh-privatekey": server.private_key, "ssh-knownhosts": server.known_hosts}
        git = {"repository": f"ssh://git@{server.address}/r.git", "ref": {"branch": "main"}}
        await world.catalog_of({"source": {"type": "git", "git": git}})
        found = await world.when("Stalled", "True", "Blocked")
        needs = f"git server {server.address} is reached over ssh, which needs a key: create a Secret of type "
        assert f"{needs}kubernetes.io/ssh-auth " in triple(found, "Unpacked")[2]

        await put(world, secret("kubernetes.io/ssh-auth", keys, "other.example"), own)
        await world.client.patch(
            catalogs.KIND, world.name, {"spec": {"source": {"git": {"auth": {"secret": {"name": own}}}}}}
        )
        await world.until("its hosts are reported", lambda: "is for other hosts" in triple(world.seen(), "Stalled")[2])
        await put(world, secret("kubernetes.io/ssh-auth", keys, server.address), shared)
        assert (await listed(world, "p"))["status"]["resolvedSource"]["git"]["repository"] == git["repository"]
    for name in (shared, own):
        await world.client.delete(SECRET, name, NAMESPACE)


async def test_an_archive_over_tls_is_followed_and_not_read_twice(world: World, tmp_path: Path) -> None:
    name = f"{world.name}-http"
    authority = Authority()
    served = tmp_path / "served"
    served.mkdir()
    (served / "catalog.tar").write_bytes(tar(files("p")))
    was_conditional = asyncio.Event()

    async def record(request: web.Request) -> None:
        if "If-None-Match" in request.headers or "If-Modified-Since" in request.headers:
            was_conditional.set()

    async with (
        WebServer(served, login=("robot", PASSWORD), tls=authority.server_context(tmp_path)) as server,
        running(world, tmp_path / "cache", "--pull-cas-dir", str(authority.directory(tmp_path))),
    ):
        server.fault = record
        values = {"username": "robot", "password": PASSWORD}
        await put(world, secret("kubernetes.io/basic-auth", values, server.address), name)
        http = {"url": f"{server.url}/catalog.tar", "auth": {"secret": {"name": name}}, "pollInterval": "1s"}
        await world.catalog_of({"source": {"type": "http", "http": http}})
        found = await listed(world, "p")
        assert found["status"]["resolvedSource"]["http"]["url"] == http["url"]
        version = found["metadata"]["resourceVersion"]
        for _ in range(2):
            was_conditional.clear()
            await asyncio.wait_for(was_conditional.wait(), 30)
        assert (await world.client.get(catalogs.KIND, world.name))["metadata"]["resourceVersion"] == version
        (served / "catalog.tar").write_bytes(tar(files("p", "q")))
        await listed(world, "p", "q")
    await world.client.delete(SECRET, name, NAMESPACE)


async def test_a_denied_address_stalls_and_a_name_without_address_is_tried_again(world: World, tmp_path: Path) -> None:
    async with running(world, tmp_path / "cache"):
        await world.catalog_of({"source": {"type": "http", "http": {"url": "http://169.254.169.254/latest/meta-data"}}})
        found = await world.when("Stalled", "True", "Blocked")
        assert "which is link-local, the range of metadata services" in triple(found, "Ready")[2]
        assert triple(found, "Reconciling") == ("", "", "")
        url = "http://no-such-host.invalid/catalog.tar"
        await world.catalog_of({"source": {"type": "http", "http": {"url": url}}})
        found = await world.when("Reconciling", "True", "Retrying")
        assert triple(found, "Stalled") == ("", "", "")


async def test_an_endpoint_of_the_api_server_is_no_source(world: World, tmp_path: Path) -> None:
    with endpoint_of_the_api_server(world.cluster, "192.0.2.1"):
        async with running(world, tmp_path / "cache"):
            await world.catalog_of({"source": {"type": "http", "http": {"url": "https://192.0.2.1:6443/version"}}})
            found = await world.when("Stalled", "True", "Blocked")
            assert "has the address 192.0.2.1, which is the API server's" in triple(found, "Stalled")[2]


async def test_names_of_half_a_megabyte_do_not_reach_the_status(world: World, catalogd: Path) -> None:
    long = "x" * 500_000
    await world.push({"configs/catalog.json": json.dumps({"schema": "s", long: 1, long.upper(): 2}).encode()})
    await world.catalog(world.ref())
    found = await world.when("Unpacked", "False", "UnpackFailed")
    sizes = {each["type"]: len(each["message"].encode()) for each in found["status"]["conditions"]}
    assert all(0 < sizes[each] <= 1024 for each in ("Ready", "Reconciling"))
    assert 0 < sizes["Unpacked"] <= 4096
    assert "duplicate keys for key" in triple(found, "Ready")[2]
