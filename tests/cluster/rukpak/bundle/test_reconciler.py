"""The Bundle controller on the real API server, with real images, real jobs and content on a real disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from devcluster.cluster import Cluster
from devcluster.images import Registry
from olmkit.api import bundledeployments, bundles
from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.manager import Manager, Settings
from olmkit.store.store import Store
from rukpak.bundle.storage import load
from rukpak.bundle.unpack_request import UNPACK
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.format import PlainBundle, RegistryBundle, from_json
from rukpak.format.bundle import FORMAT_VERSION
from rukpak.setup import bundle_controller, store_directory
from tests import images
from tests.cluster.rukpak.harness import WITHIN, Harness, Object
from tests.conditions import triple
from tests.servers.registry_proxy import RegistryProxy
from tests.unit.rukpak.builders import csv
from tests.unit.rukpak.builders import files as files_of

REGISTRY, PLAIN = "core-rukpak-io-registry", "core-rukpak-io-plain"
Files = dict[str, bytes]


def registry_bundle(package: str, version: str = "1.0.0") -> Files:
    """A small registry+v1 bundle."""
    return files_of(csv(f"{package}.v{version}"), package=package)


class Stage:
    """Pushes images, creates Bundles and waits for their phases."""

    def __init__(self, at: Harness) -> None:
        self.at, self.cluster, self.client, self.name = at, at.cluster, at.client, at.name

    def push(self, files: Mapping[str, bytes], tag: str = "v1") -> str:
        """Push an image; returns its digest. Its reference is `image(tag)`."""
        return self.at.push(files, tag).partition("@")[2]

    def image(self, version: str = ":v1") -> str:
        """The reference of an image of this test: `:tag` or `@digest`."""
        return f"{self.cluster.registry}/bundles/{self.name}{version}"

    async def create(self, ref: str, provisioner: str = REGISTRY, *, suffix: str = "", by_digest: str = "") -> str:
        """Create a Bundle, with `by_digest` in the annotation of recreated Bundles; returns its name."""
        name = self.name + suffix
        body = {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "Bundle",
            "metadata": {"name": name, "annotations": {IMAGE_BY_DIGEST_ANNOTATION: by_digest} if by_digest else {}},
            "spec": {"provisionerClassName": provisioner, "source": {"type": "image", "image": {"ref": ref}}},
        }
        await self.at.create(bundles.KIND, body)
        return name

    async def when(self, name: str, phase: str, *, within: float = WITHIN) -> Object:
        """Wait until the Bundle has this phase; returns it."""
        found = await self.at.when(bundles.KIND, name, "", lambda raw: _phase(raw) == phase, within)
        return found or {}

    async def get(self, name: str) -> Object:
        """The current Bundle."""
        return await self.client.get(bundles.KIND, name)

    async def delete(self, name: str) -> None:
        """Delete a Bundle."""
        await self.client.delete(bundles.KIND, name)


def _phase(raw: Object | None) -> str | None:
    phase: str | None = (raw or {}).get("status", {}).get("phase")
    return phase


@pytest.fixture
def stage(at: Harness) -> Stage:
    return Stage(at)


@contextlib.asynccontextmanager
async def unpacking(
    cluster: Cluster, cache: Path, *, built: list[Controller] | None = None, registries: Path | None = None
) -> AsyncIterator[Store]:
    """Run the controller in this process, and append it to `built`; yields its store."""
    built = [] if built is None else built
    settings = Settings(
        cache_dir=cache,
        kubeconfig=str(cluster.kubeconfig),
        metrics_bind_address="0",
        health_probe_bind_address="0",
        leader_elect=False,
        registries_conf=registries or cluster.registries_conf,
    )
    async with await Client.connect(settings.kubeconfig) as client:
        manager = Manager("rukpak", settings, client)
        store = Store(store_directory(settings))
        sandbox = Sandbox(reads=(settings.registries_conf or cache, store_directory(settings)))
        jobs = Jobs[UnpackResult](lambda key: built[0].enqueue(key), preload=[UNPACK.module], sandbox=sandbox)
        built.append(bundle_controller(manager, jobs, store))
        run = asyncio.create_task(manager.run())
        try:
            yield store
        finally:
            manager.stop()
            await run
            await jobs.close()


def digest_of(found: Object) -> str:
    ref: str = found["status"]["resolvedSource"]["image"]["ref"]
    return ref.partition("@")[2]


def content(store: Store, digest: str) -> Path:
    directory = store.path(digest)
    assert directory is not None
    return directory


def is_removed(store: Store, digest: str) -> bool:
    """Wait until the content is removed; False after the timeout."""
    return _wait_for(lambda: store.path(digest) is None)


def is_published(store: Store, digest: str) -> bool:
    """Wait until the content can be read; False after the timeout."""
    return _wait_for(lambda: load(store, digest) is not None)


def _wait_for(condition: Callable[[], bool], *, within: float = 60) -> bool:
    """Polls, because changes of directories are not events."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


async def test_a_registry_bundle_is_unpacked_by_digest(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    digest = stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path) as store:
        found = await stage.when(await stage.create(stage.image()), "Unpacked")
    message = "Successfully unpacked the image Bundle"
    assert triple(found, "Unpacked") == ("True", "UnpackSuccessful", message)
    assert triple(found, "Ready") == ("True", "Succeeded", message)
    assert {each["type"] for each in found["status"]["conditions"]} == {"Unpacked", "Ready"}
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    assert found["status"]["resolvedSource"] == {"type": "image", "image": {"ref": stage.image(f"@{digest}")}}
    directory = content(store, digest)
    bundle = from_json((directory / "bundle.json").read_bytes())
    assert isinstance(bundle, RegistryBundle)
    assert (bundle.package, bundle.csv_name) == ("things", "things.v1.0.0")
    assert (directory / "files" / "manifests" / "00.json").read_bytes() == registry_bundle("things")[
        "manifests/00.json"
    ]


async def test_a_plain_bundle_is_unpacked(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    digest = stage.push({"manifests/all.yaml": yaml.safe_dump_all([first, first | {"kind": "Secret"}]).encode()})
    async with unpacking(cluster, tmp_path) as store:
        await stage.when(await stage.create(stage.image(), PLAIN), "Unpacked")
    bundle = from_json((content(store, digest) / "bundle.json").read_bytes())
    assert isinstance(bundle, PlainBundle)
    assert [body["kind"] for body in bundle.objects] == ["ConfigMap", "Secret"]


async def test_a_missing_image_fails_and_is_found_once_it_is_pushed(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    async with unpacking(cluster, tmp_path):
        name = await stage.create(stage.image())
        found = await stage.when(name, "Failing")
        status, reason, message = triple(found, "Unpacked")
        assert (status, reason) == ("False", "UnpackFailed")
        assert stage.image() in message
        assert "not found" in message
        assert triple(found, "Reconciling") == ("True", "Retrying", message)
        assert triple(found, "Ready") == ("False", "NotUnpacked", message)
        assert triple(found, "Stalled") == ("", "", "")
        stage.push(registry_bundle("things"))
        found = await stage.when(name, "Unpacked", within=90)
    assert triple(found, "Reconciling") == ("", "", "")


async def test_the_digest_resolved_first_is_kept_when_the_tag_moves(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    first = stage.push(registry_bundle("things", "1.0.0"))
    async with unpacking(cluster, tmp_path / "one"):
        name = await stage.create(stage.image())
        await stage.when(name, "Unpacked")
    second = stage.push(registry_bundle("things", "2.0.0"))
    assert second != first
    async with unpacking(cluster, tmp_path / "two") as store:
        # An empty cache: the same content is fetched again, by digest, while the tag names another image.
        other = await stage.create(stage.image(), suffix="-new")
        moved = await stage.when(other, "Unpacked")
        # Its status was written before this process started.
        assert await asyncio.to_thread(is_published, store, first)
        found = await stage.when(name, "Unpacked")
        assert digest_of(moved) == second
        assert digest_of(found) == first
        bundle = from_json((content(store, first) / "bundle.json").read_bytes())
        assert isinstance(bundle, RegistryBundle)
        assert bundle.csv_name == "things.v1.0.0"


async def test_content_that_was_damaged_between_two_processes_is_fetched_again(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    digest = stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path) as store:
        name = await stage.create(stage.image())
        before = await stage.when(name, "Unpacked")
        whole = (content(store, digest) / "bundle.json").read_bytes()
    (content(store, digest) / "bundle.json").write_bytes(whole.replace(b"things", b"thongs"))
    other = stage.push(registry_bundle("others"), "other")
    async with unpacking(cluster, tmp_path) as store:
        await stage.when(await stage.create(stage.image("@" + other), suffix="-other"), "Unpacked")
        # Its status was written before this process started.
        assert await asyncio.to_thread(is_published, store, digest)
        await stage.when(name, "Unpacked")
        assert (content(store, digest) / "bundle.json").read_bytes() == whole
    assert digest_of(await stage.get(name)) == digest_of(before)


async def test_content_of_an_older_format_version_is_unpacked_again(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    digest = stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path) as store:
        name = await stage.create(stage.image())
        await stage.when(name, "Unpacked")
    store.remove(digest)
    with store.publish(digest) as staging:
        (staging / "bundle.json").write_bytes(b'{"format": 0}')
        (staging / "type").write_text("registry+v1")
    async with unpacking(cluster, tmp_path) as store:
        assert await asyncio.to_thread(is_published, store, digest)
        await stage.when(name, "Unpacked")


async def test_missing_content_is_fetched_by_its_digest_in_the_next_pass(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    digest = stage.push(registry_bundle("things", "1.0.0"))
    built: list[Controller] = []
    async with unpacking(cluster, tmp_path, built=built) as store:
        name = await stage.create(stage.image())
        before = await stage.when(name, "Unpacked")
        stage.push(registry_bundle("things", "2.0.0"))
        shutil.rmtree(content(store, digest).parent)
        built[0].enqueue(name)
        assert await asyncio.to_thread(is_published, store, digest)
        (content(store, digest) / "bundle.json").write_bytes(b"{}")
        built[0].enqueue(name)
        assert await asyncio.to_thread(is_published, store, digest)
        after = await stage.when(name, "Unpacked")
    assert digest_of(after) == digest_of(before) == digest


async def test_nothing_is_collected_while_a_job_may_be_publishing(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    digest = stage.push(registry_bundle("things"))
    slow = stage.push(registry_bundle("slow"), "slow")
    requested, released = asyncio.Event(), asyncio.Event()

    async def held(request: web.Request, proxy: RegistryProxy) -> web.StreamResponse:
        requested.set()
        await released.wait()
        code, headers, body = await proxy.fetch(request)
        return web.Response(status=code, headers=headers, body=body)

    async with RegistryProxy(cluster.registry) as proxy:
        proxy.on("/blobs/", held)
        conf = tmp_path / "registries.conf"
        more = f'\n[[registry]]\nprefix = "slow.example.com"\nlocation = "{proxy.address}"\ninsecure = true\n'
        conf.write_text(cluster.registries_conf.read_text() + more)
        async with unpacking(cluster, tmp_path / "cache", registries=conf) as store:
            first = await stage.create(stage.image())
            await stage.when(first, "Unpacked")
            second = await stage.create(f"slow.example.com/bundles/{stage.name}:slow", suffix="-slow")
            await requested.wait()
            await stage.delete(first)
            await stage.when(await stage.create(stage.image(), "core-rukpak-io-other", suffix="-other"), "Failing")
            assert store.path(digest) is not None
            released.set()
            await stage.when(second, "Unpacked")
            assert await asyncio.to_thread(is_removed, store, digest)
            assert load(store, slow) is not None


async def forge(stage: Stage, name: str, phase: str, condition: str) -> None:
    """Write a status that says another phase, and of all conditions that they have this status."""
    conditions = (await stage.get(name))["status"]["conditions"]
    forged = [{**each, "status": condition, "message": "forged"} for each in conditions]
    path, patch = f"{bundles.KIND.path(None, name)}/status", {"status": {"phase": phase, "conditions": forged}}
    await stage.client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")


async def test_a_status_that_somebody_else_wrote_is_replaced(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path):
        unpacked = await stage.create(stage.image())
        refused = await stage.create(f"{cluster.registry}/UPPER:v1", suffix="-refused")
        before = [await stage.when(unpacked, "Unpacked"), await stage.when(refused, "Failing")]
        await forge(stage, unpacked, "Failing", "False")
        await forge(stage, refused, "Unpacked", "True")
        after = [await stage.when(unpacked, "Unpacked"), await stage.when(refused, "Failing")]
    for condition in ("Unpacked", "Ready"):
        assert [triple(each, condition) for each in after] == [triple(each, condition) for each in before]


async def test_nothing_is_written_when_nothing_changed(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path):
        name = await stage.create(stage.image())
        before = await stage.when(name, "Unpacked")
    async with unpacking(cluster, tmp_path):
        # The pass over the second Bundle follows that over the first: all names are enqueued at the start.
        await stage.when(await stage.create(stage.image(), suffix="-later"), "Unpacked")
        after = await stage.get(name)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def _two_csvs(package: str) -> Files:
    return files_of(csv(f"{package}.v1.0.0"), csv(f"{package}.v2.0.0"), package=package)


def _crd(**spec: Any) -> bytes:
    names = {"plural": "things", "kind": "Thing"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Cluster", "versions": [], **spec},
    }
    return json.dumps(body).encode()


def _aliases() -> bytes:
    """Less than a megabyte that expands to a hundred."""
    items = (f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{n}}}, data: *large}}\n" for n in range(120))
    large = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: &large {a: " + "x" * 900_000 + "}}\n"
    return ("apiVersion: v1\nkind: List\nitems:\n" + large + "".join(items)).encode()


def _without_package(package: str) -> Files:
    return {**registry_bundle(package), "metadata/annotations.yaml": b"annotations: {}", "manifests/bad.yaml": b"a: ["}


@pytest.mark.parametrize(
    ("files", "provisioner", "words"),
    [
        pytest.param(
            _two_csvs("things"),
            REGISTRY,
            ['"things.v1.0.0" in 00.json', '"things.v2.0.0" in 01.json'],
            id="two CSVs are both named",
        ),
        pytest.param(
            _without_package("things"),
            REGISTRY,
            ["package name is empty", '"bad.yaml": line 2'],
            id="all faults are reported at once",
        ),
        pytest.param(
            {"manifests/sub/a.yaml": b"kind: A"},
            PLAIN,
            ['subdirectories are not allowed within the "manifests" directory', 'found "manifests/sub"'],
            id="a subdirectory",
        ),
        pytest.param({"manifests/a.yaml": b"# nothing"}, PLAIN, ["found zero objects"], id="no object"),
        pytest.param(
            {"manifests/a.json": _crd(versions="abc")},
            PLAIN,
            ['"a.json": CustomResourceDefinition things.example.com: spec.versions: must be a list, not text'],
            id="a CRD of another structure",
        ),
        pytest.param(
            {"manifests/a.json": _crd(scope="\ud800")},
            PLAIN,
            ['"a.json": a text holds half of a surrogate pair'],
            id="text with half of a surrogate pair",
        ),
        pytest.param(
            {"manifests/a.json": _crd(versions=10**4000), "manifests/b.yaml": b"a: !!int " + b"9" * 5000},
            PLAIN,
            [
                '"a.json": CustomResourceDefinition things.example.com: spec.versions',
                '"b.yaml": line 1, column 4: cannot read ',
                "!!int",
            ],
            id="numbers that are too large",
        ),
        pytest.param(
            {"manifests/a.yaml": _aliases()},
            PLAIN,
            ['"a.yaml": line ', "exceeds 33,554,432 bytes when its aliases are expanded"],
            id="aliases that expand",
        ),
        pytest.param(
            {
                "manifests/a.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "
                + b"x" * 2**21
                + b"}}"
            },
            PLAIN,
            ["ConfigMap c has 2,097,230 bytes of JSON; the API server takes 1,500,000"],
            id="an object that is too large for etcd",
        ),
        pytest.param(
            {"etc/passwd": b"root"}, REGISTRY, ['has no content at "/manifests"'], id="an image that is not a bundle"
        ),
    ],
)
async def test_invalid_content_stalls_with_all_faults(
    cluster: Cluster, stage: Stage, tmp_path: Path, files: Files, provisioner: str, words: list[str]
) -> None:
    digest = stage.push(files)
    async with unpacking(cluster, tmp_path) as store:
        found = await stage.when(await stage.create(stage.image(), provisioner), "Failing")
        status, reason, message = triple(found, "Unpacked")
        assert (status, reason) == ("False", "UnpackFailed")
        for word in words:
            assert word in message
        assert triple(found, "Stalled") == ("True", "Blocked", message)
        assert triple(found, "Reconciling") == ("", "", "")
        assert digest_of(found) == digest
        assert store.path(digest) is None


async def test_a_layer_with_a_path_outside_the_image_stalls(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    layer = images.tar([images.file("manifests/../../escaped.yaml", b"kind: A")])
    Registry(cluster.registry).push_layers(f"bundles/{stage.name}", "v1", [layer], {})
    async with unpacking(cluster, tmp_path / "cache"):
        found = await stage.when(await stage.create(stage.image()), "Failing")
    status, reason, message = triple(found, "Stalled")
    assert (status, reason) == ("True", "Blocked")
    assert "manifests/../../escaped.yaml" in message
    assert await asyncio.to_thread(lambda: list(tmp_path.rglob("escaped.yaml"))) == []


async def test_an_invalid_reference_stalls(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    async with unpacking(cluster, tmp_path):
        found = await stage.when(await stage.create("registry.example.com/Not A Reference"), "Failing")
    status, _, message = triple(found, "Stalled")
    assert status == "True"
    assert "Not A Reference" in message
    assert "resolvedSource" not in found["status"]


async def test_a_provisioner_class_that_does_not_exist_is_reported(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    async with unpacking(cluster, tmp_path):
        found = await stage.when(await stage.create(stage.image(), "core-rukpak-io-other"), "Failing")
    status, _, message = triple(found, "Stalled")
    assert status == "True"
    assert "core-rukpak-io-other" in message
    assert REGISTRY in message


async def test_content_is_removed_with_its_last_bundle(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    digest = stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path) as store:
        first = await stage.create(stage.image())
        second = await stage.create(stage.image(), suffix="-second")
        await stage.when(first, "Unpacked")
        await stage.when(second, "Unpacked")
        await stage.delete(first)
        other = stage.push(registry_bundle("others"), "other")
        await stage.when(await stage.create(stage.image("@" + other), suffix="-other"), "Unpacked")
        assert store.path(digest) is not None
        await stage.delete(second)
    async with unpacking(cluster, tmp_path) as store:
        # Content that remained when the process ended is removed when the next one starts.
        third = stage.push(registry_bundle("third"), "third")
        await stage.when(await stage.create(stage.image("@" + third), suffix="-third"), "Unpacked")
        assert await asyncio.to_thread(is_removed, store, digest)
        assert store.path(other) is not None


async def test_content_that_a_bundle_deployment_records_is_kept_until_it_is_deleted(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    """The record of a revision is enough: a rollback creates its Bundle again, and the registry may not have the image then."""
    digest, ref = stage.push(registry_bundle("things")), stage.image()
    async with unpacking(cluster, tmp_path) as store:
        body = stage.at.body(ref, provisioner=REGISTRY)
        made = await stage.at.create(bundledeployments.KIND, body)
        spec = body["spec"]["template"]["spec"]
        revision = {"bundle": f"{stage.name}-old", "spec": spec, "image": stage.image("@" + digest), "revision": 1}
        revision |= {"install": "{}", "outcome": "Succeeded", "startedAt": "2026-01-01T00:00:00Z"}
        await stage.client.apply_status(bundledeployments.KIND, {**made, "status": {"history": [revision]}}, "test")
        bundle = await stage.create(ref)
        await stage.when(bundle, "Unpacked")
        await stage.delete(bundle)
        other = stage.push(registry_bundle("others"), "other")
        unrecorded = await stage.create(stage.image(":other"), suffix="-other")
        await stage.when(unrecorded, "Unpacked")
        await stage.delete(unrecorded)
        assert await asyncio.to_thread(is_removed, store, other)
        assert store.path(digest) is not None
        await stage.client.delete(bundledeployments.KIND, stage.name)
        assert await asyncio.to_thread(is_removed, store, digest)


async def test_stored_content_must_also_be_returned_by_the_registry(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    digest = stage.push(registry_bundle("things"))
    ref = f"no.such.host.invalid/x@{digest}"
    async with unpacking(cluster, tmp_path):
        await stage.when(await stage.create(stage.image()), "Unpacked")
        found = await stage.when(await stage.create(ref, suffix="-elsewhere"), "Failing")
        status, reason, message = triple(found, "Unpacked")
        assert (status, reason) == ("False", "UnpackFailed")
        assert "no.such.host.invalid" in message
        assert triple(found, "Reconciling") == ("True", "Retrying", message)
        assert "resolvedSource" not in found["status"]
        other = await stage.when(await stage.create(stage.image("@" + digest), suffix="-same"), "Unpacked")
    assert digest_of(other) == digest
    async with unpacking(cluster, tmp_path):
        # After a restart, neither the Bundle nor the stored content permits the other host.
        later = registry_bundle("later")
        stage.push(later, "later")
        await stage.when(await stage.create(stage.image(":later"), suffix="-other"), "Unpacked")
        assert triple(await stage.get(f"{stage.name}-elsewhere"), "Unpacked")[:2] == ("False", "UnpackFailed")


async def test_a_digest_that_a_user_wrote_into_the_annotation_does_not_count(
    cluster: Cluster, stage: Stage, tmp_path: Path
) -> None:
    trusted = stage.push(registry_bundle("things"))
    other = stage.push(registry_bundle("other"), "other")
    async with unpacking(cluster, tmp_path):
        await stage.when(await stage.create(stage.image()), "Unpacked")
        claims = stage.image("@" + trusted)
        elsewhere = await stage.create("no.such.host.invalid/x:v1", suffix="-elsewhere", by_digest=claims)
        assert "no.such.host.invalid" in triple(await stage.when(elsewhere, "Failing"), "Unpacked")[2]
        assert "resolvedSource" not in (await stage.get(elsewhere))["status"]
        tagged = await stage.create(stage.image(":other"), suffix="-tagged", by_digest=claims)
        assert digest_of(await stage.when(tagged, "Unpacked")) == other


async def test_stored_content_is_not_requested_again(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    digest = stage.push(registry_bundle("things"))
    async with RegistryProxy(cluster.registry) as proxy:
        conf = tmp_path / "registries.conf"
        more = f'\n[[registry]]\nprefix = "known.example.com"\nlocation = "{proxy.address}"\ninsecure = true\n'
        conf.write_text(cluster.registries_conf.read_text() + more)
        async with unpacking(cluster, tmp_path / "cache", registries=conf):
            await stage.when(await stage.create(stage.image()), "Unpacked")
            name = await stage.create(f"known.example.com/bundles/{stage.name}@{digest}", suffix="-known")
            before = await stage.when(name, "Unpacked")
    # Its registry has stopped.
    async with unpacking(cluster, tmp_path / "cache", registries=conf):
        await stage.when(await stage.create(stage.image(), suffix="-other"), "Unpacked")
        after = await stage.get(name)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_one_image_cannot_be_both_kinds_of_bundle(cluster: Cluster, stage: Stage, tmp_path: Path) -> None:
    digest = stage.push(registry_bundle("things"))
    async with unpacking(cluster, tmp_path) as store:
        first = await stage.create(stage.image())
        await stage.when(first, "Unpacked")
        found = await stage.when(await stage.create(stage.image(), PLAIN, suffix="-plain"), "Failing")
        assert first in triple(found, "Unpacked")[2]
        assert digest_of(found) == digest
        assert (content(store, digest) / "type").read_text() == f"registry+v1 {FORMAT_VERSION}"
