"""Bundles of git repositories on the real API server: the example of the guide, what is pinned, and pivots between sources."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.api import bundledeployments, bundles
from olmkit.runtime.client import Client
from olmkit.runtime.source_secrets import SECRETS
from olmkit.sources.resolved_source import content_digest
from olmkit.store.store import Store
from tests.cluster.rukpak.bundle.test_reconciler import is_published
from tests.cluster.rukpak.bundledeployment.test_reconciler_active_bundle import replaced
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    config_map,
    data,
    namespace,
    plain,
    rukpak,
    says,
)
from tests.conditions import triple
from tests.integration.olmkit.sources.git.content import ssh_secret
from tests.secrets import secret
from tests.servers.git_http_server import GitServer, Repository
from tests.servers.git_ssh_server import GitSshServer

LOOPBACK = ("127.0.0.0/8",)
NAMESPACE = "default"
"""The suite's namespace in these tests."""
PASSWORD = "s3cret-of-git"
GUIDE = """
apiVersion: core.rukpak.io/v1alpha1
kind: Bundle
metadata:
  name: combo-tag-ref
spec:
  source:
    type: git
    git:
      ref:
        tag: v0.0.2
      repository: https://github.com/operator-framework/combo
  provisionerClassName: core-rukpak-io-plain
"""


class Combo:
    """A repository in the layout of the one in the guide: manifests, beside the code of an operator."""

    def __init__(self, at: Harness, root: Path) -> None:
        self.at = at
        self.repository = Repository(root / "operator-framework" / "combo")
        self.last = ""

    def commit(self, version: str) -> str:
        """Commit a version; its branch is main."""
        objects = plain(namespace(self.at.name), config_map("combo", self.at.name, v=version))
        beside = {"README.md": "# combo", "pkg/combo.go": "package combo", "bundle/Dockerfile": "FROM scratch"}
        self.last = self.repository.commit({**objects, **beside}, on=self.last)
        return self.last

    def tag(self, name: str) -> None:
        self.repository.git("tag", "--force", name, self.last)


@pytest.fixture
def combo(at: Harness, tmp_path: Path) -> Combo:
    return Combo(at, tmp_path / "repositories")


def deployment_of(at: Harness, git: dict[str, Any]) -> Object:
    """A BundleDeployment of a git repository."""
    body = at.body("unused")
    body["spec"]["template"]["spec"]["source"] = {"type": "git", "git": git}
    return body


async def unpacked(at: Harness, name: str) -> Object:
    found = await at.when(bundles.KIND, name, "", lambda raw: triple(raw or {}, "Unpacked")[0] == "True")
    assert found is not None
    return found


async def test_the_bundle_of_the_guide_keeps_its_commit_when_the_tag_moves_and_when_it_is_deleted(
    at: Harness, combo: Combo, tmp_path: Path
) -> None:
    first = combo.commit("v0.0.2")
    combo.tag("v0.0.2")
    async with GitServer(tmp_path / "repositories") as server:
        body = yaml.safe_load(GUIDE.replace("https://github.com", server.url))
        async with rukpak(at.cluster, tmp_path / "cache", allow_source_cidr=LOOPBACK):
            await at.create(bundles.KIND, body)
            found = await unpacked(at, "combo-tag-ref")
        repository = f"{server.url}/operator-framework/combo"
        resolved = {"type": "git", "git": {"repository": repository, "commit": first}}
        assert found["status"]["resolvedSource"] == resolved
        assert found["status"]["phase"] == "Unpacked"
        assert triple(found, "Unpacked")[1:] == ("UnpackSuccessful", "Successfully unpacked the git Bundle")

        combo.commit("v0.0.3")
        combo.tag("v0.0.2")
        for cache in ("lost-when-it-moved", "lost-when-it-was-deleted"):
            async with rukpak(at.cluster, tmp_path / cache, allow_source_cidr=LOOPBACK):
                store = Store(tmp_path / cache / "bundles")
                assert await asyncio.to_thread(is_published, store, content_digest(resolved))
                again = await unpacked(at, "combo-tag-ref")
                assert again["status"]["resolvedSource"] == resolved
            if cache == "lost-when-it-moved":
                combo.repository.git("tag", "--delete", "v0.0.2")


async def test_a_repository_over_ssh_is_read_with_the_key_of_its_secret_alone(
    at: Harness, combo: Combo, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    commit, login = combo.commit("1"), f"{at.name}-key"
    caplog.set_level(logging.DEBUG)
    async with GitSshServer(tmp_path / "repositories") as server:
        git: dict[str, Any] = {
            "repository": f"ssh://git@{server.address}/operator-framework/combo",
            "ref": {"branch": "main"},
        }
        settings = {"allow_source_cidr": LOOPBACK, "system_namespace": NAMESPACE}
        async with rukpak(at.cluster, tmp_path / "cache", Client, **settings):
            await at.client.apply(bundledeployments.KIND, deployment_of(at, git), "test")
            await at.until(says("Stalled", "True", text="is reached over ssh, which needs a key"))
            body = ssh_secret(server)
            await at.create(SECRETS, {**body, "metadata": {**body["metadata"], "name": login, "namespace": NAMESPACE}})
            named = deployment_of(at, {**git, "auth": {"secret": {"name": login}}})
            await at.client.apply(bundledeployments.KIND, named, "test")
            raw = await at.until(READY)
            assert raw["status"]["installed"]["resolvedSource"]["git"]["commit"] == commit
        assert set(server.commands) == {"git-upload-pack '/operator-framework/combo'"}
        assert server.private_key.splitlines()[1] not in caplog.text


async def test_a_template_pivots_between_sources_and_keeps_the_commit_of_its_branch(
    at: Harness, combo: Combo, tmp_path: Path
) -> None:
    first = combo.commit("1")
    login = f"{at.name}-login"
    async with GitServer(tmp_path / "repositories", login=("robot", PASSWORD)) as server:
        git = {
            **{"repository": f"{server.url}/operator-framework/combo", "ref": {"branch": "main"}},
            **{"auth": {"secret": {"name": login}}},
        }
        settings = {"allow_source_cidr": LOOPBACK, "system_namespace": NAMESPACE}
        async with rukpak(at.cluster, tmp_path / "cache", Client, **settings):
            await at.client.apply(bundledeployments.KIND, deployment_of(at, git), "test")
            missing = f'Secret "{login}" not found in namespace "{NAMESPACE}": create it there, or name another one'
            await at.until(says("HasValidBundle", "False", "UnpackFailed", missing))
            values = {"username": "robot", "password": PASSWORD}
            body = secret("kubernetes.io/basic-auth", values, server.address, insecure=server.address)
            await at.create(SECRETS, {**body, "metadata": {**body["metadata"], "name": login, "namespace": NAMESPACE}})
            raw = await at.until(READY)
            record = raw["status"]["installed"]
            assert record["resolvedSource"]["git"]["commit"] == first
            assert "image" not in record
            assert data(await at.find(CONFIG_MAPS, "combo", at.name)) == {"v": "1"}

            combo.commit("2")
            made = await at.client.get(bundles.KIND, record["bundle"])
            await at.client.delete(bundles.KIND, record["bundle"])
            again = await at.when(bundles.KIND, record["bundle"], "", partial(replaced, made["metadata"]["uid"]))
            assert again is not None
            assert again["status"]["resolvedSource"] == made["status"]["resolvedSource"]

            await _pivot_to_an_image_and_back(at, {**git, "ref": {"commit": first}})


async def _pivot_to_an_image_and_back(at: Harness, git: dict[str, Any]) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("combo", at.name, v="image"))))
    raw = await at.until(lambda raw: READY(raw) and bool((raw or {})["status"]["installed"].get("image")))
    assert data(await at.find(CONFIG_MAPS, "combo", at.name)) == {"v": "image"}
    assert "resolvedSource" not in raw["status"]["installed"]
    await at.client.apply(bundledeployments.KIND, deployment_of(at, git), "test")
    raw = await at.until(lambda raw: READY(raw) and "resolvedSource" in (raw or {})["status"]["installed"])
    assert data(await at.find(CONFIG_MAPS, "combo", at.name)) == {"v": "1"}
    assert PASSWORD not in str(raw)
