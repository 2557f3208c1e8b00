"""`make image`, or `python -m release.image`: builds the image of the suite without a Docker engine, as an OCI archive.

mmdebstrap downloads the packages of the base, pip the wheels, Go builds helm, and buildah runs the Dockerfile on them. One
commit, one set of packages and wheels, and one version of Go give one digest. The programs are installed from Debian if they are
missing, which needs root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from devcluster import buildah
from devcluster.cache import cache_directory, publish_once
from devcluster.errors import DevclusterError
from devcluster.images import Registry
from devcluster.processes import REPOSITORY
from olmctl.authoring.images import layout
from release import base, debian_packages, helm, sources, wheels
from release.runtime_lock import INSTALLERS, NOT_IN_IMAGE, versions
from release.sbom import make_sbom
from release.suite import BUILD, SUITE, suite_version

BASE_NAME = "localhost/base:latest"
RUNTIME, DEVELOPMENT = "runtime", "development"
"""The stages of the Dockerfile that can be built: the image, and the one with a shell for Tilt."""


@dataclass(frozen=True)
class Built:
    """The result of a build: the archive, its image's digest and tags, and the software bill of materials."""

    archive: Path
    digest: str
    tags: tuple[str, ...]
    sbom: Path


def build(
    directory: Path,
    report: Callable[[str], None] = print,
    refresh: bool = False,
    target: str = RUNTIME,
) -> Built:
    """Build the image into `directory`. `refresh` looks for newer Debian packages. Raises DevclusterError."""
    program = buildah.find_or_install(report)
    packages = debian_packages.fetch(report, refresh)
    lock = wheels.read_runtime_lock(REPOSITORY)
    found = _wheels(lock, report)
    version, commit = suite_version(), sources.current_commit()
    directory.mkdir(parents=True, exist_ok=True)
    archive, sbom = _files(directory, version, target)
    with tempfile.TemporaryDirectory(prefix="olm-suite-image-") as scratch:
        charts = Path(scratch) / "helm"
        charts.mkdir()
        helm.fill(charts, report)
        modules = helm.modules(charts / helm.PROGRAM)
        engine = _Engine(program, Path(scratch))
        engine.base(_base(packages, target == DEVELOPMENT, report))
        report("Building the image ...")
        written = engine.image({"wheels": found, "helm": charts}, version, commit, target)
        image = layout.read(written)
        layout.write_archive(image, archive, _tags(version, target), commit.time)
    digest = image.digest
    absent = NOT_IN_IMAGE if target == RUNTIME else INSTALLERS
    installed = {name: each for name, each in versions(lock).items() if name not in absent} | {SUITE: version}
    time = datetime.fromtimestamp(commit.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    contained = [each for each in packages if target == DEVELOPMENT or each.name != debian_packages.SHELL]
    document = make_sbom(version, digest, time, contained, installed, modules)
    sbom.write_text(json.dumps(document, indent=1) + "\n")
    return built_in(directory, target)


def built_in(directory: Path, target: str = RUNTIME) -> Built:
    """Read the result of the last build from `directory`. Raises OSError if there is nothing."""
    version = suite_version()
    archive, sbom = _files(directory, version, target)
    return Built(archive, layout.read(archive).digest, _tags(version, target), sbom)


def push(built: Built, address: str) -> str:
    """Push the image, as it is, to a registry that speaks plain HTTP, such as that of devcluster; return its first reference.

    Raises DevclusterError.
    """
    image, registry = layout.read(built.archive), Registry(address)
    for tag in built.tags:
        repository, _, name = tag.partition(":")
        registry.push_image(repository, name, image)
    return f"{address}/{built.tags[0]}"


def _tags(version: str, target: str) -> tuple[str, ...]:
    if target == RUNTIME:
        return f"{SUITE}:v{version}", f"{SUITE}:latest"
    return f"{SUITE}:v{version}-{target}", f"{SUITE}:{target}"


def _files(directory: Path, version: str, target: str) -> tuple[Path, Path]:
    """The archive and the bill of materials."""
    name = f"{SUITE}-{version}" if target == RUNTIME else f"{SUITE}-{target}-{version}"
    return directory / f"{name}.tar", directory / f"{name}.cdx.json"


def _wheels(lock: str, report: Callable[[str], None]) -> Path:
    directory = cache_directory() / "image" / f"wheels-{hashlib.sha256(lock.encode()).hexdigest()[:16]}"

    def fill(staging: Path) -> None:
        report("Downloading the wheels of the image ...")
        try:
            wheels.download(lock, staging)
        except subprocess.CalledProcessError as error:
            raise DevclusterError(f"pip download ended with exit code {error.returncode}.") from error

    return publish_once(directory, fill, lambda: report("Another process downloads the wheels; waiting ..."))


def _base(packages: Sequence[debian_packages.DebianPackage], development: bool, report: Callable[[str], None]) -> Path:
    """The context of the image BASE_NAME, in the cache: one for the same packages, and the same code that makes it."""
    parts = (Path(base.__file__).read_text(), str(development), *(each.sha256 for each in packages))
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def fill(staging: Path) -> None:
        report("Making the base out of Debian packages ...")
        tree = staging / "tree"
        time = base.make_base(packages, tree, with_shell=development)
        base.write_tar(tree, staging / "base.tar", time)
        shutil.rmtree(tree)
        (staging / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        os.utime(staging / "Dockerfile", (time, time))

    waiting = "Another process makes the base of the image; waiting ..."
    return publish_once(cache_directory() / "image" / f"base-{key}", fill, lambda: report(waiting))


class _Engine:
    """buildah with its data in a directory of its own: no containers, no storage driver of the kernel."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._directory = directory
        root, state = directory / "storage", directory / "run"
        self._command = (str(program), "--storage-driver", "vfs", "--root", str(root), "--runroot", str(state))

    def base(self, context: Path) -> None:
        """Make the image BASE_NAME. Its layer depends on the packages alone, so that releases share it."""
        time = int((context / "Dockerfile").stat().st_mtime)
        self._build(context, time, "--tag", BASE_NAME)

    def image(self, stages: Mapping[str, Path], version: str, commit: sources.Commit, target: str) -> Path:
        """Run the Dockerfile and return the directory of the image's layout. `stages` are directories in the place of stages."""
        context, written = self._directory / "sources", self._directory / "layout"
        sources.export(context)
        name = f"localhost/{SUITE}:built"
        self._build(
            *(context, commit.time, "--tag", name),
            *(each for stage, path in stages.items() for each in ("--build-context", f"{stage}={path}")),
            *("--build-arg", f"BASE={BASE_NAME}", "--build-arg", f"VERSION={version}"),
            *("--build-arg", f"REVISION={commit.revision}", "--build-arg", f"DEVELOPMENT_BASE={BASE_NAME}"),
            *(("--target", target) if target != RUNTIME else ()),
        )
        sources.run(*self._command, "push", "--quiet", "--format", "oci", name, f"oci:{written}")
        return written

    def _build(self, context: Path, time: int, *arguments: str) -> None:
        flags = ("--isolation", "chroot", "--format", "oci", "--identity-label=false", "--timestamp", str(time))
        environment = ("--build-arg", f"SOURCE_DATE_EPOCH={time}")
        sources.run(*self._command, "build", *flags, *environment, *arguments, str(context))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and print the archive, its tags and its digest. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release.image", description="Build the image of the suite.")
    parser.add_argument("--directory", type=Path, default=BUILD, help="where the files are written (default: build)")
    parser.add_argument("--refresh", action="store_true", help="look for newer Debian packages of the base")
    parser.add_argument("--target", choices=(RUNTIME, DEVELOPMENT), default=RUNTIME, help="the stage of the Dockerfile")
    parser.add_argument("--push", metavar="HOST:PORT", help="push it to this registry too, which speaks plain HTTP")
    given = parser.parse_args(arguments)
    try:
        built = build(given.directory, refresh=given.refresh, target=given.target)
        if given.push:
            print(push(built, given.push))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{built.archive}\n{built.sbom}\n{' '.join(built.tags)}\n{built.digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
