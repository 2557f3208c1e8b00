"""Rows of the sources of Bundles: a repository against git itself, an upload, and images with and without a signature that is
verified; from the request to Unpacked."""

from __future__ import annotations

import asyncio
import io
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu
from devcluster.suite import Suite
from olmkit.api.bundles import KIND
from olmkit.api.provisioner_classes import PLAIN
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from tests import images
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory
from tests.images import digest_of, tar
from tests.servers.git_http_server import ENVIRONMENT, GitServer, Repository
from tests.signing import classic, new_key, payload_of, public_pem, push_classic

FILES = 10_000
FILE_BYTES = 1024
UPLOAD_BYTES = 20_000_000
SAMPLE_SECONDS = 0.05
GIT_SECONDS = 0.005
"""Between two samples of the memory of git, which ends sooner."""
SIGNED_IMAGES = 30
MANIFEST = b"{apiVersion: v1, kind: Namespace, metadata: {name: bench}}"


def rows(cluster: Cluster) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster; starts a rukpak."""
    flags = ["--no-leader-elect", "--allow-source-cidr=127.0.0.0/8"]
    suite = Suite(cluster, cluster.directory / "rukpak-sources", {"rukpak": flags})
    suite.start("rukpak")
    try:
        with tempfile.TemporaryDirectory(dir=cluster.directory) as scratch:
            yield from asyncio.run(_figures(cluster, suite, Path(scratch)))
    finally:
        suite.stop("rukpak")


async def _figures(cluster: Cluster, suite: Suite, scratch: Path) -> list[Figure]:
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        found = [*await _repository(client, suite, scratch), *await _upload(client, suite)]
        return [*found, *await _signature(client, suite, cluster.registry)]


async def _repository(client: Client, suite: Suite, scratch: Path) -> list[Figure]:
    repository = Repository(scratch / "a.git")
    noise = random.Random(1)
    files = {f"docs/{number % 100}/{number}": noise.randbytes(FILE_BYTES) for number in range(FILES - 1)}
    await asyncio.to_thread(_import, repository, {**files, "manifests/a.yaml": MANIFEST})
    async with GitServer(scratch) as server:
        url = f"{server.url}/a.git"
        clone = ("git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1", "--branch", "v1", url)
        clones = [[*clone, str(scratch / str(number))] for number in range(4)]
        measured = [await asyncio.to_thread(_clone, each) for each in clones[:3]]
        peak_of_git = await asyncio.to_thread(_memory_of_clone, clones[3])
        tags = ({"type": "git", "git": {"repository": url, "ref": {"tag": f"v{number}"}}} for number in (1, 2, 3))
        first, _ = await _unpacked(client, suite, "bench-git-1", next(tags), seconds=1.0)
        seconds, _ = await _unpacked(client, suite, "bench-git-2", next(tags), seconds=1.0)
        _, peak = await _unpacked(client, suite, "bench-git-3", next(tags), seconds=SAMPLE_SECONDS)
    work = f"a git repository of {FILES:,} files of 1 KiB by tag"
    return [
        Figure(
            f"unpack {work}, from the request to Unpacked",
            f"{min(first, seconds):.2f} s",
            f"git clone --depth 1: {min(measured):.2f} s",
        ),
        Figure(
            "peak memory of rukpak meanwhile, including children",
            _memory(suite, peak),
            f"git clone --depth 1, without its server: {peak_of_git / MIB:.0f} MiB",
        ),
    ]


def _import(repository: Repository, files: dict[str, bytes]) -> None:
    """Commit the files three times with another README, as the tags v1, v2 and v3."""
    head = b"committer a <a@example.com> 1700000000 +0000\ndata 0\n"
    for number in (1, 2, 3):
        lines = [f"commit refs/tags/v{number}\n".encode(), head]
        for path, data in {**files, "README.md": str(number).encode()}.items():
            lines.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
        repository.git("fast-import", "--quiet", data=b"".join(lines))
    repository.git("repack", "-a", "-d", "--quiet")


def _clone(command: list[str]) -> float:
    """Seconds of git."""
    started = time.perf_counter()
    subprocess.run(command, env=ENVIRONMENT, check=True)
    return time.perf_counter() - started


def _memory_of_clone(command: list[str]) -> int:
    """The peak of the bytes of memory of git and its children."""
    with (
        subprocess.Popen(command, env=ENVIRONMENT) as process,
        PeakMemory([process.pid], seconds=GIT_SECONDS) as memory,
    ):
        assert process.wait() == 0
    return memory.peak


async def _upload(client: Client, suite: Suite) -> list[Figure]:
    noise = random.Random(1).randbytes(UPLOAD_BYTES)
    archive = tar({"manifests/a.yaml": MANIFEST, "noise": noise})
    source = {"type": "upload", "upload": {"digest": digest_of(archive)}}
    stored = 0.0
    many = [tar({"manifests/a.yaml": MANIFEST, "noise": noise + bytes([each] * 10_000_000)}) for each in range(4)]

    async def send() -> None:
        nonlocal stored
        url = f"https://{suite.addresses['rukpak'].webhooks}/uploads/bench-upload.tgz"
        query = {"digest": digest_of(archive)}
        started = time.perf_counter()
        async with (
            aiohttp.ClientSession() as session,
            session.put(url, params=query, data=io.BytesIO(archive), ssl=False) as answer,
        ):
            assert answer.status == 201, await answer.text()
        stored = time.perf_counter() - started

    seconds, peak = await _unpacked(client, suite, "bench-upload", source, seconds=SAMPLE_SECONDS, after=send)
    seconds_of_many, peak_of_many = await _uploads(client, suite, many)
    return [
        Figure("an upload of 20 MB, until it is stored", f"{stored:.2f} s"),
        Figure("the same, until Unpacked", f"{seconds:.2f} s"),
        Figure("peak memory of rukpak meanwhile, including children", _memory(suite, peak)),
        Figure(
            f"{len(many)} uploads of 30 MB at once, until all are Unpacked; peak memory of rukpak",
            f"{seconds_of_many:.1f} s; {peak_of_many / MIB:.0f} MiB",
        ),
    ]


async def _uploads(client: Client, suite: Suite, archives: list[bytes]) -> tuple[float, int]:
    """Seconds until all are unpacked, and the peak memory of rukpak."""

    async def one(number: int, archive: bytes) -> int:
        name, digest = f"bench-uploads-{number}", digest_of(archive)

        async def send() -> None:
            url = f"https://{suite.addresses['rukpak'].webhooks}/uploads/{name}.tgz"
            async with (
                aiohttp.ClientSession() as session,
                session.put(url, params={"digest": digest}, data=io.BytesIO(archive), ssl=False) as answer,
            ):
                assert answer.status == 201, await answer.text()

        source = {"type": "upload", "upload": {"digest": digest}}
        return (await _unpacked(client, suite, name, source, seconds=SAMPLE_SECONDS, after=send))[1]

    started = time.perf_counter()
    peaks = await asyncio.gather(*(one(number, archive) for number, archive in enumerate(archives)))
    return time.perf_counter() - started, max(peaks)


async def _signature(client: Client, suite: Suite, registry: str) -> list[Figure]:
    key, repository = new_key(), "bundles/bench-signed"
    verify = {"authorities": [{"key": {"data": public_pem(key)}}]}
    taken: dict[bool, list[float]] = {True: [], False: []}
    cpu: dict[bool, float] = {True: 0.0, False: 0.0}
    for number in range(SIGNED_IMAGES):
        for is_verified in (True, False) if number % 2 else (False, True):
            name = f"bench-signed-{number}-{is_verified}".lower()
            layer = tar({"manifests/a.yaml": MANIFEST, "name": name.encode()})
            digest = await asyncio.to_thread(images.push, registry, repository, name, [layer], {})
            payload = payload_of(f"{registry}/{repository}", digest)
            await asyncio.to_thread(push_classic, registry, repository, digest, classic(key, payload))
            image = {"ref": f"{registry}/{repository}@{digest}", **({"verify": verify} if is_verified else {})}
            before = process_tree_cpu(suite.pid("rukpak"))
            seconds, _ = await _unpacked(client, suite, name, {"type": "image", "image": image}, seconds=1.0)
            cpu[is_verified] += process_tree_cpu(suite.pid("rukpak")) - before
            taken[is_verified].append(seconds)
    shown = [f"{statistics.median(taken[each]) * 1000:.0f}" for each in (True, False)]
    used = [f"{cpu[each] / SIGNED_IMAGES * 1000:.0f}" for each in (True, False)]
    work = f"unpack a small image whose signature by a key is verified, against one without ({SIGNED_IMAGES} each, in turn)"
    return [Figure(work, f"median {' : '.join(shown)} ms; {' : '.join(used)} ms of CPU")]


def _memory(suite: Suite, peak: int) -> str:
    return f"{peak / MIB:.0f} MiB (idle {suite.memory('rukpak') / MIB:.0f} MiB)"


async def _unpacked(
    client: Client, suite: Suite, name: str, source: dict[str, Any], *, seconds: float, after: Any = None
) -> tuple[float, int]:
    """Seconds from the creation of a Bundle to Unpacked, and the peak memory of rukpak, sampled every `seconds`. `after` is
    awaited when the Bundle is created."""
    informer, changed = Informer(client, KIND), asyncio.Event()
    informer.subscribe(lambda _: changed.set())
    watch = asyncio.create_task(informer.run())
    await informer.synced.wait()
    body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}}
    try:
        with PeakMemory([suite.pid("rukpak")], seconds=seconds) as memory:
            started = time.perf_counter()
            await client.create(KIND, {**body, "spec": {"provisionerClassName": PLAIN, "source": source}})
            if after is not None:
                await after()
            while (phase := ((informer.get(name) or {}).get("status") or {}).get("phase")) != "Unpacked":
                assert phase != "Failing", informer.get(name)
                changed.clear()
                await changed.wait()
            return time.perf_counter() - started, memory.peak
    finally:
        watch.cancel()
