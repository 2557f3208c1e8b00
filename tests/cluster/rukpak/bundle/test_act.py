"""Bundles whose registry requires a login: of the Secret that they name, and of the Secret for all Bundles."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.errors import NotFound
from olmkit.runtime.source_secrets import SECRETS
from tests.cluster.rukpak.harness import READY, Harness, Object, config_map, namespace, plain, rukpak, says
from tests.conditions import triple
from tests.images import push, tar
from tests.secrets import auth, docker_config
from tests.servers.registry import PASSWORD, USER, basic_auth, own_registry

NAMESPACE = "default"
"""The suite's namespace in these tests."""
WRONG = "n0t-the-password"


class Private:
    """A registry that requires a login, as rukpak reaches it, and the Secrets of the test."""

    def __init__(self, at: Harness, host: str, conf: Path) -> None:
        self.at, self.host, self.conf = at, host, conf
        self.history: list[Object] = []
        at.bundles.subscribe(lambda change: self.history.append(change.new or {}))
        at.deployments.subscribe(lambda change: self.history.append(change.new or {}))

    @property
    def ref(self) -> str:
        return f"{self.host}/b:v1"

    async def put(self, name: str, body: Mapping[str, Any]) -> None:
        """Apply a Secret of the suite's namespace."""
        named = {**body["metadata"], "name": name, "namespace": NAMESPACE}
        await self.at.client.apply(SECRETS, {**body, "metadata": named}, "test")

    async def put_login(self, name: str, password: str) -> None:
        await self.put(name, docker_config({self.host: auth(USER, password)}))

    async def install(self, pull_secret: str = "", name: str = "") -> None:
        body = self.at.body(self.ref, name)
        if pull_secret:
            body["spec"]["template"]["spec"]["source"]["image"]["pullSecret"] = pull_secret
        await self.at.client.apply(bundledeployments.KIND, body, "test")

    def kept_its_secrets(self, log: str) -> bool:
        """Whether no password is in an object that was seen, or in the log."""
        seen = json.dumps(self.history) + log
        return len(self.history) > 2 and PASSWORD not in seen and WRONG not in seen


@pytest.fixture
async def private(at: Harness, tmp_path: Path) -> AsyncIterator[Private]:
    async with _private(at, tmp_path) as found:
        yield found


@asynccontextmanager
async def _private(at: Harness, directory: Path) -> AsyncIterator[Private]:
    objects = plain(namespace(at.name), config_map("c", at.name, k="v"))
    async with own_registry(directory / "images") as opened:
        push(opened, "b", "v1", [tar(objects)], {})
    async with own_registry(directory / "images", basic_auth(directory / "users")) as host:
        conf = directory / "registries.conf"
        conf.write_text(f'[[registry]]\nprefix = "{host}"\ninsecure = true\n')
        try:
            yield Private(at, host, conf)
        finally:
            for name in (f"{at.name}-own", f"{at.name}-all"):
                with suppress(NotFound):
                    await at.client.delete(SECRETS, name, NAMESPACE)


async def test_a_bundle_waits_for_its_secret_and_for_the_right_password(
    at: Harness, private: Private, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"{at.name}-own"
    caplog.set_level(logging.DEBUG)
    async with rukpak(at.cluster, tmp_path / "cache", registries_conf=private.conf, system_namespace=NAMESPACE):
        await private.install(name)
        missing = f'Secret "{name}" not found in namespace "{NAMESPACE}": create it there, or name another one'
        await at.until(says("Stalled", "True", text=missing))
        await private.put(name, docker_config({f"{private.host}?": auth(USER, WRONG)}))
        await at.until(says("Stalled", "True", text=f"Secret {NAMESPACE}/{name} names the registry"))
        await private.put_login(name, WRONG)
        refused = await at.until(says("HasValidBundle", "False", "UnpackFailed", "refuses the login of Secret"))
        assert (
            f'refuses the login of Secret {NAMESPACE}/{name} for "{private.ref}" (401)'
            in triple(refused, "HasValidBundle")[2]
        )
        assert triple(refused, "Stalled") == ("", "", "")
        await private.put_login(name, PASSWORD)
        ready = await at.until(READY)
        bundle = await at.client.get(bundles.KIND, ready["status"]["activeBundle"])
    assert bundle["spec"]["source"]["image"] == {"ref": private.ref, "pullSecret": name}
    assert private.kept_its_secrets(caplog.text)


async def test_the_secret_for_all_bundles_is_used_for_those_without_one(
    at: Harness, private: Private, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"{at.name}-all"
    async with rukpak(
        at.cluster, tmp_path / "cache", registries_conf=private.conf, system_namespace=NAMESPACE, pull_secret=name
    ):
        await private.install()
        cannot = "no pull secret has a login for {}; add a Secret of type kubernetes.io/dockerconfigjson with one; {}".format(
            private.host, f'the Secret for all Bundles cannot be used: Secret "{name}" not found'
        )
        await at.until(says("HasValidBundle", "False", "UnpackFailed", cannot))
        await private.put(name, docker_config({f"{private.host}?": auth(USER, WRONG)}))
        bad = f"the Secret for all Bundles cannot be used: Secret {NAMESPACE}/{name} names the registry …, which is"
        await at.until(says("HasValidBundle", "False", "UnpackFailed", bad))
        await private.put_login(name, PASSWORD)
        await at.until(READY)
        await private.put(name, docker_config({"other.example.com": auth(USER, PASSWORD)}))
        other = f"{at.name}-2"
        await private.install(name=other)
        no_login = f"no pull secret has a login for {private.host}"
        await at.until(says("HasValidBundle", "False", "UnpackFailed", no_login), other)
        assert READY(at.deployments.get(at.name))
    assert private.kept_its_secrets(caplog.text)
