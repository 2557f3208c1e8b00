"""Pulls the image of a catalog or bundle into a temporary directory, and detects which of the two it is.

Called by olmctl.catalog.render, which imports it only for images. The labels of an image show what it contains (formats 1.8); if
they do not, its files do. Never runs anything from an image and never writes outside the temporary directory.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from olmctl.authoring.images.labels import CONFIGS_LABEL, DATABASE_LABEL, MEDIA_TYPE_LABEL
from olmctl.registry_logins import login_hint, reached_registries
from olmkit.errors import Blocked, OlmError
from olmkit.fbc.bundle_files import MANIFESTS, METADATA, PACKAGE_KEY
from olmkit.gocompat.text import quoted
from olmkit.sources.access import Access
from olmkit.sources.content_limits import BUNDLE_LIMITS
from olmkit.sources.errors import BadReference, SourceReason
from olmkit.sources.oci import image
from olmkit.sources.oci.reference import parse
from olmkit.sources.oci.registries_conf import Registries

_PLAIN = ("plain", "plain+v0")
UNREACHABLE = (
    SourceReason.NOT_FOUND,
    SourceReason.UNAUTHORIZED,
    SourceReason.UNAVAILABLE,
    SourceReason.REGISTRY_BLOCKED,
    SourceReason.ADDRESS_REFUSED,
)
"""Reasons that leave open whether the image exists, and whether others can pull it."""


@dataclass(frozen=True)
class Unpacked:
    """The files of an image below `root`: of a catalog those that its label names, of a bundle all. `package` is from a label."""

    root: Path
    is_catalog: bool
    is_plain: bool = False
    package: str = ""
    reference: str = ""
    """The reference by digest."""


class NoDirectory(ValueError):
    """A reference without a registry of which there is no image: most likely a directory that does not exist."""

    def __init__(self, meant: str, why: str) -> None:
        hint = f"an image is written with its registry, and {quoted(meant)} cannot be pulled: {why}"
        super().__init__(f"there is no such directory; {hint}")


@contextmanager
def unpacked(
    reference: str,
    registries_conf: Path | None,
    ca_directory: Path | None,
    allowed: Sequence[str],
    *,
    only_bundles: bool = False,
) -> Iterator[Unpacked]:
    """The image's files, which are removed at the end of the block. `only_bundles`: those of a catalog, which may have gigabytes,
    are left out. For the other arguments see Access.

    Raises Blocked, Waiting, NoDirectory.
    """
    access = Access(registries_conf, ca_directory, tuple(allowed))
    with tempfile.TemporaryDirectory(prefix="olm-render-") as directory:
        try:
            registries = reached_registries([reference], access)
            found = asyncio.run(_unpack(reference, Path(directory), registries, only_bundles=only_bundles))
        except OlmError as error:
            if error.reason in UNREACHABLE and not (meant := parse(reference)).names_registry:
                raise NoDirectory(meant.full_name, error.message) from error
            if error.reason != SourceReason.UNAUTHORIZED:
                raise
            problem = f"the registry denies access to {quoted(reference)}, or has no such image"
            raise Blocked(error.reason, f"{problem}: {login_hint()}") from error
        yield found


async def _unpack(reference: str, into: Path, registries: Registries, *, only_bundles: bool) -> Unpacked:
    found = await image.resolve(reference, registries)
    labels = await image.labels(found.ref_by_digest, registries)
    if CONFIGS_LABEL in labels and only_bundles:
        return Unpacked(into, is_catalog=True, reference=found.ref_by_digest)
    if CONFIGS_LABEL in labels:
        only = image.FromLabel(CONFIGS_LABEL)
        pulled = await image.pull(found.ref_by_digest, into, registries, only=only)
        return Unpacked(into / pulled.root, is_catalog=True, reference=found.ref_by_digest)
    if DATABASE_LABEL in labels:
        problem = "it contains a catalog as a SQLite database, which is not supported: use a file-based catalog"
        raise Blocked(SourceReason.UNSUPPORTED, problem)
    await image.pull(found.ref_by_digest, into, registries, limits=BUNDLE_LIMITS)
    if not (into / MANIFESTS).is_dir() and only_bundles:
        hint = "if it is the image of the operator itself, give that of its bundle"
        text = f"{quoted(reference)} is the image of no bundle, because it has no directory /{MANIFESTS}: {hint}"
        raise Blocked(SourceReason.UNSUPPORTED, text)
    if not (into / MANIFESTS).is_dir():
        shown = "".join(f"\n  {key}={value}" for key, value in sorted(labels.items()))
        found_labels = f"found labels{shown}" if shown else "image has no labels"
        raise Blocked(
            SourceReason.UNSUPPORTED,
            f"image type could not be determined, {found_labels}\n"
            f"The image of a catalog has the label {CONFIGS_LABEL}, the image of a bundle has the directory /manifests.",
        )
    is_plain = labels.get(MEDIA_TYPE_LABEL) in _PLAIN or not (into / METADATA).is_dir()
    package = labels.get(PACKAGE_KEY, "")
    return Unpacked(into, is_catalog=False, is_plain=is_plain, package=package, reference=found.ref_by_digest)


def reference_error(text: str) -> str:
    """The reason why `text` is no image reference; "" when it is one."""
    try:
        parse(text)
    except BadReference as error:
        return str(error)
    return ""
