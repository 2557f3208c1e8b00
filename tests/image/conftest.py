"""The image, built twice from this commit, and containers of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from devcluster import debian
from devcluster.errors import DevclusterError
from olmctl.authoring.images import layout
from olmctl.authoring.images.image import Image
from release import image
from release.container import bundle, command
from tests.image.unpacking import unpack, unpacked_size


@dataclass(frozen=True)
class Unpacked:
    """A built image and its files."""

    built: image.Built
    content: Image
    tree: Path

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return unpacked_size(self.tree)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unpacked]:
    """The image of this working tree: that of the directory OLM_IMAGE_DIRECTORY, or a new one."""
    directory = tmp_path_factory.mktemp("image")
    try:
        given = os.environ.get("OLM_IMAGE_DIRECTORY")
        built = image.built_in(Path(given)) if given else image.build(directory, print)
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)
    content = layout.read(built.archive)
    unpack(content, directory / "tree")
    yield Unpacked(built, content, directory / "tree")
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def runc() -> Path:
    """The program that runs containers."""
    try:
        return debian.find_or_install("runc", print)
    except DevclusterError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def run(unpacked: Unpacked, runc: Path, tmp_path: Path) -> Run:
    """Runs a command in a container of the image until it ends."""
    numbers = count()

    def once(*arguments: str) -> subprocess.CompletedProcess[str]:
        configuration = bundle(unpacked.tree, unpacked.content.configuration["config"], arguments)
        started = command(runc, tmp_path / f"container-{next(numbers)}", configuration)
        return subprocess.run(started, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    return once
