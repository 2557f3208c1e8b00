"""The common work of `olm bundle build|push` and `olm catalog build|push`: an image as a file, and an image in registries."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from olmctl.authoring.images import layout
from olmctl.authoring.images.contents import Content
from olmctl.authoring.images.image import Image
from olmctl.authoring.images.layout import BadLayout
from olmctl.authoring.images.push import push
from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.registry_logins import login_hint, reached_registries
from olmctl.terminal import clean
from olmctl.terminal_output import ProgressLine, say
from olmkit.errors import Blocked, OlmError
from olmkit.gocompat.text import quoted
from olmkit.sources.access import Access
from olmkit.sources.errors import SourceReason
from olmkit.sources.oci.reference import parse

_ARCHIVE_SUFFIX = ".tar"


def write_image(content: Content, output: Path | None, names: Sequence[str]) -> int:
    """Write the image under these names to the path, an archive if its name ends with .tar, and print the path and the digest.

    Raises CommandError, OSError.
    """
    check_names(names)
    path = output or Path(f"{_file_name(content.name)}{_ARCHIVE_SUFFIX}")
    if not path.parent.is_dir():
        raise CommandError(WRONG_USAGE, f"{path.parent}: there is no such directory")
    with _scratch() as scratch:
        image = content.image(scratch)
        try:
            if path.suffix == _ARCHIVE_SUFFIX and not path.is_dir():
                layout.write_archive(image, path, names)
            else:
                layout.write_directory(image, path, names)
        except BadLayout as error:
            raise CommandError(FAILED, f"{path} {error}") from None
    say(f"{path} {image.digest}")
    return 0


def push_image(path: Path, read: Callable[[Path], Content], references: Sequence[str], access: Access) -> int:
    """Push the image of a directory, which `read` reads, or the one that is stored at the path; print its references by digest.

    Raises CommandError, OlmError, OSError.
    """
    check_names(references)
    for text in unwritten_registries(references):
        warn(text)
    with _scratch() as scratch:
        for reference in send(_image(path, read, scratch), references, access):
            say(reference)
    return 0


def send(image: Image, references: Sequence[str], access: Access) -> list[str]:
    """Push the image with the progress on standard error; returns the references by digest. Raises OlmError."""
    line = ProgressLine()
    try:
        return asyncio.run(push(image, references, reached_registries(references, access), line.show))
    except OlmError as error:
        if error.reason != SourceReason.UNAUTHORIZED:
            raise
        hint = f"{login_hint()} with an account that may push"
        raise Blocked(error.reason, f"{_without_secrets_hint(error.message)}: {hint}") from error
    finally:
        line.end()


def unwritten_registries(references: Sequence[str]) -> Iterator[str]:
    """Say for each reference without a registry to which public one it is pushed."""
    for each in map(parse, references):
        if not each.names_registry:
            yield f"{quoted(str(each))} names no registry: it is pushed to {each.registry}, as {each.full_name}"


@contextmanager
def _scratch() -> Iterator[Path]:
    """A directory for the layers of an image, which is removed at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="olm-image-") as directory:
        yield Path(directory)


def _image(path: Path, read: Callable[[Path], Content], scratch: Path) -> Image:
    if not layout.is_layout(path):
        return read(path).image(scratch)
    try:
        return layout.read(path)
    except BadLayout as error:
        raise CommandError(FAILED, f"{path} {error}") from None


def check_names(names: Sequence[str]) -> None:
    """Raise CommandError for a name that is no reference by tag."""
    for name in names:
        if problem := layout.reference_error(name):
            raise CommandError(WRONG_USAGE, problem)


def _file_name(name: str) -> str:
    """A name without what would lead to another directory."""
    return clean(name).replace("/", "_").lstrip(".") or "image"


def _without_secrets_hint(message: str) -> str:
    """The message without the advice for a cluster."""
    return message.partition(": no pull secret has")[0].replace("Secret ", "")
