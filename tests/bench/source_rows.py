"""Rows of the sources of Bundles: a repository against git itself, and an upload; from the request to Unpacked."""

from __future__ import annotations

import asyncio
import io
import os
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from olmkit.api.bundles import KIND
from olmkit.api.provisioner_classes import PLAIN
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from tests.bench.figures import Figure
from tests.bench.machine import MIB, PeakMemory
from tests.images import digest_of, tar
from tests.servers.git_http_server import ENVIRONMENT, GitServer, Repository

FILES = 10_000
FILE_BYTES = 1024
UPLOAD_BYTES = 20_000_000
SAMPLE_SECONDS = 0.05
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
        return [*await _repository(client, suite, scratch), *await _upload(client, suite)]


async def _repository(client: Client, suite: Suite, scratch: Path) -> list[Figure]:
    repository = Repository(scratch / "a.git")
    noise = random.Random(1)
    files = {f"docs/{number % 100}/{number}": noise.randbytes(FILE_BYTES) for number in range(FILES - 1)}
    await asyncio.to_thread(_import, repository, {**files, "manifests/a.yaml": MANIFEST})
    async with GitServer(scratch) as server:
        url = f"{server.url}/a.git"
        clone = ("git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1", "--branch", "v1", url)
        measured = [await asyncio.to_thread(_clone, [*clone, str(scratch / str(number))]) for number in range(3)]
        tags = ({"type": "git", "git": {"repository": url, "ref": {"tag": f"v{number}"}}} for number in (1, 2, 3))
        first, _ = await _unpacked(client, suite, "bench-git-1", next(tags), seconds=1.0)
        seconds, _ = await _unpacked(client, suite, "bench-git-2", next(tags), seconds=1.0)
        _, peak = await _unpacked(client, suite, "bench-git-3", next(tags), seconds=SAMPLE_SECONDS)
    work = f"a git repository of {FILES:,} files of 1 KiB by tag"
    other = f"{min(each for each, _ in measured):.2f} s, {max(each for _, each in measured) / MIB:.0f} MiB"
    return [
        Figure(
            f"unpack {work}, from the request to Unpacked",
            f"{min(first, seconds):.2f} s",
            f"git clone --depth 1: {other}",
        ),
        Figure("peak memory of rukpak meanwhile, including children", _memory(suite, peak)),
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


def _clone(command: list[str]) -> tuple[float, int]:
    """Seconds, and the bytes of memory of the largest process, of git."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return time.perf_counter() - started, max(usage.ru_maxrss, children) * 1024


async def _upload(client: Client, suite: Suite) -> list[Figure]:
    noise = random.Random(1).randbytes(UPLOAD_BYTES)
    archive = tar({"manifests/a.yaml": MANIFEST, "noise": noise})
    source = {"type": "upload", "upload": {"digest": digest_of(archive)}}
    stored = 0.0

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
    return [
        Figure("an upload of 20 MB, until it is stored", f"{stored:.2f} s"),
        Figure("the same, until Unpacked", f"{seconds:.2f} s"),
        Figure("peak memory of rukpak meanwhile, including children", _memory(suite, peak)),
    ]


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
