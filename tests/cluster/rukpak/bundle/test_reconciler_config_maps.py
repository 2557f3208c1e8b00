"""Bundles of ConfigMaps on the real API server: what they wait for, what is pinned, and pivots between sources."""

from __future__ import annotations

import base64
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.runtime.client import Client
from olmkit.sources.source import digest_of_files
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

NAMESPACE = "default"
"""The suite's namespace in these tests."""
SETTINGS: dict[str, Any] = {"system_namespace": NAMESPACE}


class Shelf:
    """The ConfigMaps of a test, in the suite's namespace, with the manifests of a bundle."""

    def __init__(self, at: Harness) -> None:
        self.at = at

    def name(self, suffix: str = "") -> str:
        return f"{self.at.name}-files{suffix}"

    def files(self, version: str) -> dict[str, bytes]:
        """The keys of a ConfigMap with the manifests of a version."""
        objects = plain(namespace(self.at.name), config_map("log", self.at.name, v=version))
        return {path.removeprefix("manifests/"): text for path, text in objects.items()}

    def digest(self, version: str) -> str:
        return digest_of_files((f"manifests/{key}", text) for key, text in self.files(version).items())

    async def put(self, files: dict[str, bytes], suffix: str = "", *, immutable: bool = True) -> None:
        """Create a ConfigMap with the files."""
        body = config_map(self.name(suffix), NAMESPACE)
        encoded = {key: base64.b64encode(text).decode() for key, text in files.items()}
        await self.at.create(CONFIG_MAPS, {**body, "binaryData": encoded, "immutable": immutable})

    async def remove(self, suffix: str = "") -> None:
        await self.at.client.delete(CONFIG_MAPS, self.name(suffix), NAMESPACE)

    def source(self, *suffixes: str) -> Object:
        members = [{"configMap": {"name": self.name(suffix)}, "path": "manifests"} for suffix in suffixes or ("",)]
        return {"type": "configMaps", "configMaps": members}

    def bundle(self, *suffixes: str) -> Object:
        return {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "Bundle",
            "metadata": {"name": self.at.name},
            "spec": {"provisionerClassName": "core-rukpak-io-plain", "source": self.source(*suffixes)},
        }

    def deployment(self, *suffixes: str) -> Object:
        body = self.at.body("unused")
        body["spec"]["template"]["spec"]["source"] = self.source(*suffixes)
        return body

    async def says(self, message: str, *, stalled: bool = True) -> Object:
        """The Bundle when it fails with this message, which is not retried."""

        def so(raw: Object | None) -> bool:
            return message in triple(raw or {}, "Unpacked")[2]

        found = await self.at.when(bundles.KIND, self.at.name, "", so)
        assert found is not None
        assert triple(found, "Unpacked")[:2] == ("False", "UnpackFailed")
        assert found["status"]["phase"] == "Failing"
        assert triple(found, "Stalled")[:2] == ("True", "Blocked")
        assert triple(found, "Reconciling") == ("", "", "")
        return found

    async def unpacked(self) -> Object:
        found = await self.at.when(
            bundles.KIND, self.at.name, "", lambda raw: triple(raw or {}, "Unpacked")[0] == "True"
        )
        assert found is not None
        assert triple(found, "Unpacked")[1:] == ("UnpackSuccessful", "Successfully unpacked the configMaps Bundle")
        assert found["status"]["phase"] == "Unpacked"
        return found


@pytest.fixture
def shelf(at: Harness) -> Shelf:
    return Shelf(at)


async def test_a_bundle_waits_for_each_of_its_configmaps_and_until_they_are_immutable(
    shelf: Shelf, tmp_path: Path
) -> None:
    at = shelf.at
    async with rukpak(at.cluster, tmp_path / "cache", **SETTINGS):
        await at.create(bundles.KIND, shelf.bundle("", "-2"))
        both = f'ConfigMaps "{shelf.name()}", "{shelf.name("-2")}"'
        await shelf.says(f'{both} not found in namespace "default": create them there')
        await shelf.put(shelf.files("1"))
        await shelf.says(f'ConfigMap "{shelf.name("-2")}" not found in namespace "default": create it there')
        more = {"more.yaml": plain(config_map("more", at.name))["manifests/all.yaml"]}
        await shelf.put(more, "-2", immutable=False)
        open_ = f'configmap "{shelf.name("-2")}" is not immutable'
        found = await shelf.says(f"bundle.spec.source.configmaps[1].configmap.name is invalid: {open_}")
        assert "resolvedSource" not in found["status"]
        await at.client.patch(CONFIG_MAPS, shelf.name("-2"), {"immutable": True}, NAMESPACE)
        found = await shelf.unpacked()
        files = {f"manifests/{key}": text for key, text in {**shelf.files("1"), **more}.items()}
        digest = digest_of_files(files.items())
        assert found["status"]["resolvedSource"] == {"type": "configMaps", "configMaps": {"digest": digest}}
        assert found["status"]["contentDigest"] == digest


async def test_files_that_are_no_bundle_are_replaced(shelf: Shelf, tmp_path: Path) -> None:
    at = shelf.at
    async with rukpak(at.cluster, tmp_path / "cache", **SETTINGS):
        await shelf.put({"a.yaml": b"only text"})
        await at.create(bundles.KIND, shelf.bundle())
        found = await shelf.says('error parsing objects in "a.yaml": an object is a mapping')
        assert "resolvedSource" not in found["status"]
        await shelf.remove()
        await shelf.says(f'ConfigMap "{shelf.name()}" not found')
        await shelf.put(shelf.files("1"))
        found = await shelf.unpacked()
        assert found["status"]["contentDigest"] == shelf.digest("1")


async def test_the_same_path_of_two_configmaps_is_named(shelf: Shelf, tmp_path: Path) -> None:
    at = shelf.at
    async with rukpak(at.cluster, tmp_path / "cache", **SETTINGS):
        await shelf.put(shelf.files("1"))
        await shelf.put(shelf.files("2"), "-2")
        await at.create(bundles.KIND, shelf.bundle("", "-2"))
        both = f"{shelf.name()} and {shelf.name('-2')}"
        await shelf.says(f'duplicate path "manifests/all.yaml" found in configmaps {both}')


async def test_other_files_under_the_name_of_a_configmap_are_never_taken_for_those_that_were_unpacked(
    shelf: Shelf, tmp_path: Path
) -> None:
    at = shelf.at
    await shelf.put(shelf.files("1"))
    async with rukpak(at.cluster, tmp_path / "cache", **SETTINGS):
        await at.create(bundles.KIND, shelf.bundle())
        resolved = (await shelf.unpacked())["status"]["resolvedSource"]
    await shelf.remove()
    async with rukpak(at.cluster, tmp_path / "lost", **SETTINGS):
        found = await shelf.says(f'ConfigMap "{shelf.name()}" not found')
        assert found["status"]["resolvedSource"] == resolved
        await shelf.put(shelf.files("2"))
        words = f"the files of the configmaps are {shelf.digest('2')}, and {shelf.digest('1')} is expected"
        found = await shelf.says(words)
        assert found["status"]["resolvedSource"] == resolved
        await shelf.remove()
        await shelf.says(f'ConfigMap "{shelf.name()}" not found')
        await shelf.put(shelf.files("1"))
        assert (await shelf.unpacked())["status"]["resolvedSource"] == resolved


async def test_a_template_pivots_between_an_image_and_configmaps_whose_files_are_kept(
    shelf: Shelf, tmp_path: Path
) -> None:
    at = shelf.at
    image = at.push(plain(namespace(at.name), config_map("log", at.name, v="image")))
    async with rukpak(at.cluster, tmp_path / "cache", Client, **SETTINGS):
        await at.install(image)
        await at.until(READY)
        await at.client.apply(bundledeployments.KIND, shelf.deployment(), "test")
        missing = f'ConfigMap "{shelf.name()}" not found in namespace "{NAMESPACE}": create it there'
        raw = await at.until(says("HasValidBundle", "False", "UnpackFailed", missing))
        assert raw["status"]["installed"]["image"] == image, "the image stays installed until the files are there"
        await shelf.put(shelf.files("1"))
        raw = await at.until(lambda raw: READY(raw) and "resolvedSource" in (raw or {})["status"]["installed"])
        record = raw["status"]["installed"]
        resolved = {"type": "configMaps", "configMaps": {"digest": shelf.digest("1")}}
        assert (record["resolvedSource"], "image" in record) == (resolved, False)
        assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}

        made = await at.client.get(bundles.KIND, record["bundle"])
        await shelf.remove()
        await shelf.put(shelf.files("2"))
        await at.client.delete(bundles.KIND, record["bundle"])
        again = await at.when(bundles.KIND, record["bundle"], "", partial(replaced, made["metadata"]["uid"]))
        assert again is not None
        assert again["status"]["resolvedSource"] == resolved
        assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}

        await _pivot_to_an_image_and_back(shelf, image, record["bundle"])


async def _pivot_to_an_image_and_back(shelf: Shelf, image: str, left: str) -> None:
    """`left` is the Bundle of the ConfigMaps, which is deleted when the image is installed."""
    at = shelf.at
    await at.install(image)
    raw = await at.until(lambda raw: READY(raw) and bool((raw or {})["status"]["installed"].get("image")))
    assert "resolvedSource" not in raw["status"]["installed"]
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "image"}
    await at.when(bundles.KIND, left, "", lambda raw: raw is None)
    await at.client.apply(bundledeployments.KIND, shelf.deployment(), "test")
    raw = await at.until(lambda raw: READY(raw) and "resolvedSource" in (raw or {})["status"]["installed"])
    assert raw["status"]["installed"]["resolvedSource"]["configMaps"]["digest"] == shelf.digest("2")
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "2"}, "another Bundle reads what is there"
