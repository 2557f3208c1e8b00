"""Images of bundles that need far more memory, disk or time than their size suggests, as commands of authors read them."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from tests.bundle_files import CSV, changed, files
from tests.e2e.hostile import MEGABYTE, ZEROS, Part, gzipped, header, member, push, tar, zstd
from tests.images import digest_of
from tests.integration.olmkit.sources.proxied_image import insecure_rule
from tests.servers.local_registry import LocalRegistry
from tests.servers.registry import served

COMMANDS = ("validate", "scorecard", "add")
EACH = (COMMANDS[0], *(pytest.param(each, marks=pytest.mark.hostile) for each in COMMANDS[1:]))
MAX_MEGABYTES = 400
"""More than a command needs for a bundle that may be read, and less than any of the bombs has."""
PROGRAM = """\
import re, sys
from olmctl.main import main
status = main(sys.argv[1:])
# Not ru_maxrss, which begins with that of the process of the tests.
print(int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024, file=sys.stderr)
sys.exit(status)
"""


@dataclass(frozen=True)
class Ended:
    """The end of a command: its outputs, and the most memory that it had, in megabytes."""

    status: int
    said: str
    megabytes: int


def run(command: str, image: str, registry: LocalRegistry, directory: Path) -> Ended:
    """Run the command in a process of its own."""
    options = ("--registries-conf", str(registry.registries_conf), "--allow-source-cidr", "127.0.0.0/8")
    arguments: tuple[str, ...] = ("catalog", "add", image, "--catalog", str(directory / "catalog"))
    if command != "add":
        arguments = ("bundle", command, image)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, *options],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        env={**os.environ, "TMPDIR": str(directory)},
    )
    *errors, megabytes = ended.stderr.splitlines()
    return Ended(ended.returncode, "\n".join([ended.stdout, *errors]), int(megabytes))


def beside(*parts: Part, path: str = "manifests/zeros.bin") -> list[Part]:
    """The files of a bundle, and one more of these parts."""
    found = files(changed(CSV))
    members = [member(name, (data, 1)) for name, data in found.items()]
    return tar(*members, member(path, *parts))


def many(count: int) -> bytes:
    block = b"".join(header(f"manifests/e{number}") for number in range(1000))
    return gzipped(tar([(block, count // 1000)]))


@dataclass(frozen=True)
class Bomb:
    """A layer, and what is said of it by each of the commands."""

    layer: Callable[[], bytes]
    words: str


TOO_LARGE = "makes the content larger than 268,435,456 bytes, the most that is read"
SMALL = (
    pytest.param(Bomb(lambda: gzipped(beside((ZEROS, 20))), TOO_LARGE), id="320 MB of zeros"),
    pytest.param(
        Bomb(lambda: gzipped(tar([(header("manifests", kind=tarfile.CHRTYPE), 1)])), "is a device"), id="a device"
    ),
)
LARGE = (
    pytest.param(Bomb(lambda: gzipped(beside((ZEROS, 320))), TOO_LARGE), id="5 GB of zeros"),
    pytest.param(Bomb(lambda: zstd(beside((ZEROS, 320))), TOO_LARGE), id="5 GB of zeros, zstd"),
    pytest.param(Bomb(lambda: many(1_000_000), "more files than are read"), id="a million files"),
    pytest.param(
        Bomb(lambda: gzipped(beside((ZEROS, 15), path="manifests/z.yaml")), "(more than|larger than)"),
        id="a manifest of 240 MB",
    ),
    pytest.param(
        Bomb(lambda: gzipped(beside((b"- a\n" * (MEGABYTE // 4), 200), path="manifests/z.yaml")), "(more|larger) than"),
        id="a manifest of 200 MB of YAML",
    ),
)


def check(command: str, bomb: Bomb, registry: LocalRegistry, directory: Path) -> None:
    layer = bomb.layer()
    image = push(registry.address, f"bombs/{command}-{digest_of(layer)[7:15]}", [layer], labels={})
    ended = run(command, image, registry, directory)
    assert (ended.status, "Traceback" in ended.said) == (1, False), ended.said

    assert re.search(bomb.words, ended.said), ended.said
    assert ended.megabytes < MAX_MEGABYTES
    assert not [path for path in directory.rglob("*") if path.is_file() and path.name != ".lock"], "nothing is left"


@pytest.mark.parametrize("bomb", SMALL[:1])
def test_a_bomb_is_refused_with_little_memory(bomb: Bomb, local_registry: LocalRegistry, tmp_path: Path) -> None:
    check("validate", bomb, local_registry, tmp_path)


@pytest.mark.hostile
@pytest.mark.parametrize("bomb", [*SMALL, *LARGE])
@pytest.mark.parametrize("command", COMMANDS)
def test_bombs_of_all_kinds_are_refused_by_all_commands(
    command: str, bomb: Bomb, local_registry: LocalRegistry, tmp_path: Path
) -> None:
    check(command, bomb, local_registry, tmp_path)


@pytest.mark.parametrize("command", EACH)
def test_the_layers_of_a_catalog_are_not_pulled(command: str, local_registry: LocalRegistry, tmp_path: Path) -> None:
    """The layer is no archive at all: who reads it fails with another message."""
    image = push(local_registry.address, f"bombs/catalog-{command}", [b"no layer"])
    ended = run(command, image, local_registry, tmp_path)
    assert (ended.status, "catalog" in ended.said, "archive" in ended.said) == (1, True, False), ended.said


@pytest.mark.parametrize("command", EACH)
async def test_a_manifest_without_end_is_not_read(command: str, tmp_path: Path) -> None:
    async def registry(request: web.Request) -> web.StreamResponse:
        if "/manifests/" not in request.path:
            return web.Response()
        if request.method == "HEAD":
            return web.Response(status=405)
        endless = web.StreamResponse(headers={"Content-Type": "application/vnd.oci.image.manifest.v1+json"})
        await endless.prepare(request)
        with suppress(ConnectionError):
            while True:
                await endless.write(b" " * MEGABYTE)
        return endless

    async with served(registry) as address:
        conf = tmp_path / "registries.conf"
        conf.write_text(insecure_rule(address))
        local = LocalRegistry(address, conf)
        ended = await asyncio.to_thread(run, command, f"{address}/bombs/manifest:v1", local, tmp_path)
    assert (ended.status, "with a manifest of more than 4,194,304 bytes" in ended.said) == (1, True), ended.said
    assert ended.megabytes < MAX_MEGABYTES
