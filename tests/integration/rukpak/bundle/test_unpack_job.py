"""What the unpack job reports about an image of another format, and how jobs share the shipped memory with those of slow and
silent registries."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY

from devcluster.processes import REPOSITORY
from devcluster.registry import registries_conf
from olmkit.errors import Waiting
from olmkit.jobs.job import JobContext, Task
from olmkit.jobs.memory_budget import CONTROLLER_MEMORY_BYTES, MemoryBudget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import WAITING_FOR_ANSWER, Jobs
from olmkit.jobs.staging import Staging
from olmkit.jobs.state import Failed, Finished, Queued, Running
from olmkit.runtime.flags import quantity
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent
from olmkit.sources.oci.image import FetchedImage
from olmkit.sources.source import ImageSource, server_of
from olmkit.store.store import Store
from rukpak.bundle.storage import publish_job_output
from rukpak.bundle.unpack_job import ReadRequest, read_bundle
from rukpak.bundle.unpack_request import UNPACK, UnpackRequest
from rukpak.bundle.unpack_result import UnpackResult
from tests import images
from tests.integration.disk import until_there_is_space
from tests.integration.job_results import next_result, staged
from tests.servers.local_registry import LocalRegistry
from tests.servers.raw_server import never_answer, speaking
from tests.servers.registry_proxy import RegistryProxy, trickle
from tests.unit.rukpak.builders import csv
from tests.unit.rukpak.builders import files as files_of

REF = "registry.example.com/a@sha256:" + "1" * 64
BUNDLE = {
    **files_of(csv("things.v1.0.0"), package="things"),
    "metadata/padding": random.Random(1).randbytes(100_000),
}
TURN = timedelta(seconds=5)
CONFIG_MAP = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param(
            {"manifests/c.yaml": CONFIG_MAP},
            f"image {REF} is not a registry+v1 bundle (it has no /metadata): for a plain+v0 bundle set "
            "spec.template.spec.provisionerClassName to core-rukpak-io-plain",
            id="a plain bundle",
        ),
        pytest.param(
            {"metadata/annotations.yaml": b"annotations: {}"},
            f'image {REF} has no content at "/manifests", where its content should be',
            id="an image without manifests",
        ),
    ],
)
def test_an_image_that_is_not_a_registry_bundle(files: dict[str, bytes], message: str, tmp_path: Path) -> None:
    layer = images.tar([images.file(name, data) for name, data in files.items()])
    with tempfile.TemporaryFile() as blob:
        blob.write(layer)
        blob.flush()
        image = FetchedImage(REF, REF.partition("@")[2], {}, ("manifests", "metadata"), (len(layer),), blob)
        with pytest.raises(BadContent) as caught:
            read_bundle(
                ReadRequest({"type": "image", "image": image.facts()}, REF, "registry+v1"),
                JobContext(tmp_path, files=[blob]),
            )
    assert (caught.value.message, caught.value.ref) == (message, REF)


class Unpacker:
    """The unpack jobs of rukpak with the memory that config/manager gives its container."""

    def __init__(self, root: Path, *registries: str, store: Path | None = None) -> None:
        conf = root / "registries.conf"
        conf.write_text("\n".join(map(registries_conf, registries)))
        deployment = next(yaml.safe_load_all((REPOSITORY / "config/manager/rukpak.yaml").read_text()))
        limits = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        self.memory = MemoryBudget(quantity(limits["memory"]) - CONTROLLER_MEMORY_BYTES)
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.jobs = Jobs[UnpackResult](
            self.ends.put_nowait,
            preload=[UNPACK.module],
            sandbox=Sandbox(reads=(conf, store or root / "store")),
            memory=self.memory,
            max_slot_time=TURN,
        )
        self._access, self._directory = Access(conf), store or root / "store"
        self.store = Store(self._directory)

    def start(self, name: str, ref: str) -> None:
        request = UnpackRequest(ImageSource(ref), "registry+v1", self._directory, self._access)
        finish = partial(publish_job_output, self.store, request, "")
        source = server_of(ImageSource(ref))
        self.jobs.ensure(name, "1", Task(UNPACK, request, source=source, staging=Staging(self.store.stage, finish)))

    async def unpack(self, ref: str) -> UnpackResult:
        """The result of one job. Raises its error."""
        self.jobs.forget("one")
        self.start("one", ref)
        return await next_result(self.jobs, self.ends)

    def staged(self) -> list[Path]:
        """What jobs left in the directory in which they work."""
        return staged(self._directory)

    def running(self, names: Iterable[str], step: str = "pulling layer") -> list[str]:
        """Those whose progress begins with `step`."""
        states = ((name, self.jobs.state(name)) for name in names)
        return [name for name, state in states if isinstance(state, Running) and state.progress.startswith(step)]

    async def wait_for_running(self, names: Iterable[str], count: int, step: str = "pulling layer") -> None:
        while True:
            if len(self.running(names, step)) >= count:
                return
            await asyncio.sleep(0.01)

    def digest(self, name: str) -> str:
        state = self.jobs.state(name)
        assert isinstance(state, Finished), state
        return state.result.digest


async def test_images_of_a_slow_registry_give_way_to_one_of_a_fast_registry_and_come_to_their_end(
    local_registry: LocalRegistry, tmp_path: Path
) -> None:
    fast, slow_names = local_registry.address, [f"slow-{number}" for number in range(6)]
    digests = [images.push(fast, f"unpack/{name}", "v1", [images.tar(BUNDLE)], {"name": name}) for name in ("a", "b")]
    async with RegistryProxy(fast) as slow, asyncio.timeout(120):
        slow.on("/blobs/", trickle(pause=0.05))
        unpacker = Unpacker(tmp_path, slow.address, fast)
        try:
            unpacker.start(slow_names[0], f"{slow.address}/unpack/a:v1")
            await unpacker.wait_for_running(slow_names, 1)
            for name in slow_names[1:]:
                unpacker.start(name, f"{slow.address}/unpack/a:v1")
            await unpacker.wait_for_running(slow_names, 3)
            unpacker.start("fast", f"{fast}/unpack/b:v1")
            assert await unpacker.ends.get() == "fast"
            assert unpacker.digest("fast") == digests[1]
            assert unpacker.running(slow_names[:1]), "the eldest keeps its place"
            gave_way = {name for name in slow_names if unpacker.jobs.state(name) == Queued("1", gave_way=True)}
            assert gave_way, "another one waits for its next turn"
            assert unpacker.memory.held <= unpacker.memory.total

            slow.on("/blobs/", None)
            ended = {await unpacker.ends.get() for _ in slow_names[1:]}
            assert gave_way <= ended, "those that gave way run again"
            assert {unpacker.digest(name) for name in ended} == {digests[0]}
        finally:
            await unpacker.jobs.close()
    assert unpacker.memory.held == 0


async def test_images_of_registries_that_never_answer_hold_no_memory(
    local_registry: LocalRegistry, tmp_path: Path
) -> None:
    fast, names = local_registry.address, [f"silent-{number}" for number in range(12)]
    digest = images.push(fast, "unpack/beside", "v1", [images.tar(BUNDLE)], {})
    async with AsyncExitStack() as stack, asyncio.timeout(120):
        servers = await stack.enter_async_context(AsyncExitStack())
        silent = [await servers.enter_async_context(speaking(never_answer)) for _ in names]
        unpacker = Unpacker(tmp_path, fast, *silent)
        stack.push_async_callback(unpacker.jobs.close)
        for name, address in zip(names, silent, strict=True):
            unpacker.start(name, f"{address}/unpack/a@{digest}")
        await unpacker.wait_for_running(names, len(names), WAITING_FOR_ANSWER)
        unpacker.start("fast", f"{fast}/unpack/beside@{digest}")
        assert await unpacker.ends.get() == "fast"
        assert unpacker.digest("fast") == digest
        others = [
            REGISTRY.get_sample_value(name, {"function": UNPACK.name})
            for name in ("olmkit_jobs_running", "olmkit_jobs_queued")
        ]
        assert others == [0, 0], "no other job runs or waits for memory"
        await servers.aclose()
        assert {await unpacker.ends.get() for _ in names} == set(names)
        for name, address in zip(names, silent, strict=True):
            state = unpacker.jobs.state(name)
            assert isinstance(state, Failed)
            assert isinstance(state.error, Waiting)
            assert f"registry {address} does not answer" in state.error.message


@pytest.mark.parametrize("where", ["the store", "temporary files"])
async def test_a_disk_that_becomes_full_at_any_point_of_the_unpacking(
    where: str,
    local_registry: LocalRegistry,
    disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    address, is_store = local_registry.address, where == "the store"
    old, new = (
        images.push(address, "unpack/full", tag, [images.tar(BUNDLE | {"metadata/more": tag.encode()})], {})
        for tag in ("v1", "v2")
    )
    if not is_store:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
    unpacker = Unpacker(tmp_path, address, store=disk / "store" if is_store else None)
    try:
        assert (await unpacker.unpack(f"{address}/unpack/full:v1")).digest == old

        def is_as_before() -> None:
            assert unpacker.store.digests() == {old}, "nothing is stored in part"
            assert unpacker.staged() == []

        found, failures = await until_there_is_space(
            disk, lambda: unpacker.unpack(f"{address}/unpack/full:v2"), is_as_before, range(0, 500_000, 24 * 1024)
        )
        assert found.digest == new
        assert bool(failures) == is_store, "an image is fetched into the directory of the store"
        assert unpacker.store.verify(old)
        assert unpacker.store.verify(new), "it is unpacked as soon as there is space"
    finally:
        await unpacker.jobs.close()
    assert "Traceback" not in capfd.readouterr().err
