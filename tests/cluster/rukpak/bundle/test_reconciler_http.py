"""Bundles of archives on the real API server: what is installed, and what an archive that changes later does."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from olmkit.api import bundledeployments, bundles
from tests.cluster.rukpak.harness import CONFIG_MAPS, READY, Harness, Object, config_map, data, namespace, plain, rukpak
from tests.conditions import triple
from tests.images import digest_of, tar
from tests.servers.web_server import WebServer

LOOPBACK = ("127.0.0.0/8",)


def packed(at: Harness, version: str, top: str = "") -> bytes:
    """An archive of a plain bundle with a ConfigMap, in a directory `top`."""
    files = plain(namespace(at.name), config_map("log", at.name, v=version))
    return gzip.compress(tar({f"{top}{path}": text for path, text in files.items()}), mtime=0)


def bundle(name: str, http: dict[str, Any]) -> Object:
    spec = {"provisionerClassName": "core-rukpak-io-plain", "source": {"type": "http", "http": http}}
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": name},
        "spec": spec,
    }


async def when(at: Harness, name: str, phase: str) -> Object:
    found = await at.when(bundles.KIND, name, "", lambda raw: (raw or {}).get("status", {}).get("phase") == phase)
    assert found is not None
    return found


async def test_an_archive_of_a_repository_is_installed(at: Harness, tmp_path: Path) -> None:
    archive = packed(at, "1", "log-1.0.0/")
    (tmp_path / "log.tgz").write_bytes(archive)
    async with WebServer(tmp_path) as server, rukpak(at.cluster, tmp_path / "cache", allow_source_cidr=LOOPBACK):
        body, url = at.body("unused"), f"{server.url}/log.tgz"
        body["spec"]["template"]["spec"] = bundle("", {"url": url, "digest": digest_of(archive)})["spec"]
        await at.client.apply(bundledeployments.KIND, body, "test")
        raw = await at.until(READY)
        resolved = {"type": "http", "http": {"url": url, "digest": digest_of(archive)}}
        assert raw["status"]["installed"]["resolvedSource"] == resolved
        assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}


async def test_another_archive_is_never_taken_for_the_one_that_was_read(at: Harness, tmp_path: Path) -> None:
    archive, other = packed(at, "1"), packed(at, "2")
    (tmp_path / "log.tgz").write_bytes(archive)
    async with WebServer(tmp_path) as server:
        url = f"{server.url}/log.tgz"
        async with rukpak(at.cluster, tmp_path / "cache", allow_source_cidr=LOOPBACK):
            await at.create(bundles.KIND, bundle(at.name, {"url": f"{url}?token=hidden"}))
            found = await when(at, at.name, "Unpacked")
            assert triple(found, "Unpacked")[2] == "Successfully unpacked the http Bundle"
            resolved = {"type": "http", "http": {"url": url, "digest": digest_of(archive)}}
            assert found["status"]["resolvedSource"] == resolved
        (tmp_path / "log.tgz").write_bytes(other)
        async with rukpak(at.cluster, tmp_path / "lost", allow_source_cidr=LOOPBACK):
            found = await when(at, at.name, "Failing")
            message = f"archive {url} is {digest_of(other)}, and {digest_of(archive)} is expected"
            assert triple(found, "Unpacked") == ("False", "UnpackFailed", message)
            assert found["status"]["resolvedSource"] == resolved


async def test_a_page_of_an_error_is_not_the_content(at: Harness, tmp_path: Path) -> None:
    (tmp_path / "log.tgz").write_text("<html>busy</html>")
    async with WebServer(tmp_path) as server:
        async with rukpak(at.cluster, tmp_path / "cache", allow_source_cidr=LOOPBACK):
            await at.create(bundles.KIND, bundle(at.name, {"url": f"{server.url}/log.tgz"}))
            text = "is not an archive but text"  # an earlier attempt may have failed for another reason
            found = await at.when(bundles.KIND, at.name, "", lambda raw: text in triple(raw or {}, "Unpacked")[2])
            assert found is not None
            assert triple(found, "Reconciling")[:2] == ("True", "Retrying")
            assert "resolvedSource" not in found["status"]
        archive = packed(at, "1")
        (tmp_path / "log.tgz").write_bytes(archive)
        async with rukpak(at.cluster, tmp_path / "cache", allow_source_cidr=LOOPBACK):
            found = await when(at, at.name, "Unpacked")
            assert found["status"]["resolvedSource"]["http"]["digest"] == digest_of(archive)
