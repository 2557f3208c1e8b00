"""Layers that no honest builder makes: tar archives with paths and links that lead out of the image."""

import io
import tarfile
from collections.abc import Sequence


def archive(*entries: tarfile.TarInfo) -> bytes:
    """A tar archive of exactly these entries; files are empty."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for entry in entries:
            tar.addfile(entry)
    return buffer.getvalue()


def file(path: str) -> tarfile.TarInfo:
    """An empty file."""
    return tarfile.TarInfo(path)


def link(path: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A symbolic link, or with tarfile.LNKTYPE a hard link."""
    entry = tarfile.TarInfo(path)
    entry.type, entry.linkname = kind, target
    return entry


OUT_OF_THE_IMAGE: Sequence[tuple[str, tarfile.TarInfo, str]] = (
    ("a path with ..", file("configs/../../evil.yaml"), 'holds "configs/../../evil.yaml": a path outside the image'),
    ("an absolute path", file("/configs/evil.yaml"), 'holds "/configs/evil.yaml": an absolute path'),
    (
        "a symbolic link out",
        link("configs/evil.yaml", "../../etc/passwd"),
        '"configs/evil.yaml", a link to "../../etc/passwd", which is outside',
    ),
    (
        "a hard link out",
        link("configs/evil.yaml", "../../etc/passwd", tarfile.LNKTYPE),
        '"../../etc/passwd": a path outside',
    ),
)
"""(what, the only entry of the layer, what a message should say of it)."""
