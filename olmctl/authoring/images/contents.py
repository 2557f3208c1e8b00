"""The files and labels of images: of the directory of a bundle, and of the directory of a catalog.

The labels of a bundle are the annotations of its metadata/annotations.yaml. What no reader of images could use is refused here.
The directory may be somebody else's: a link that leads outside is refused. Never changes the directory.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from olmctl.authoring.catalog_validation import validate
from olmctl.authoring.directory import discover
from olmctl.authoring.images.image import Image, labelled_image
from olmctl.authoring.images.labels import (
    CHANNELS_LABEL,
    CONFIGS_LABEL,
    DEFAULT_CHANNEL_LABEL,
    MANIFESTS_LABEL,
    MEDIA_TYPE_LABEL,
    METADATA_LABEL,
    TESTS_LABEL,
)
from olmctl.authoring.images.layers import Files, compressed
from olmctl.commands import FAILED, WRONG_USAGE, CommandError, warn
from olmctl.directory_files import LinkOutside, check_directory, files_below, no_manifests
from olmctl.questions.operator_state import text_at
from olmkit.api.provisioner_classes import HELM
from olmkit.fbc.bundle_files import MANIFESTS, METADATA, PACKAGE_KEY, BadBundleFiles, read_objects, read_registry
from olmkit.fbc.documents import read_documents
from olmkit.fbc.errors import BadCatalog, BadDocument
from olmkit.gocompat.text import quoted
from olmkit.sources.content_limits import BUNDLE_LIMITS, CATALOG_LIMITS

ANNOTATIONS_FILE = f"{METADATA}/annotations.yaml"
TESTS_DIRECTORY = "tests/scorecard"
CATALOG_DIRECTORY = "configs"
_REGISTRY_V1, _PLAIN_V0 = "registry+v1", "plain+v0"
_REQUIRED = (MEDIA_TYPE_LABEL, MANIFESTS_LABEL, METADATA_LABEL, PACKAGE_KEY, CHANNELS_LABEL)
_USED = (*_REQUIRED, DEFAULT_CHANNEL_LABEL)
"""The annotations that readers of a bundle use."""


@dataclass(frozen=True)
class Content:
    """The files and the labels of an image; `name` is a name for it: of the bundle, or of the directory of a catalog."""

    name: str
    files: Files
    labels: Mapping[str, str]

    def image(self, scratch: Path) -> Image:
        """The image, whose layer is a file in the directory `scratch`. Raises OSError."""
        return labelled_image([compressed(self.files, scratch / "layer")], self.labels)


def bundle_content(directory: Path) -> Content:
    """The image of a bundle's directory. Raises CommandError, which names what is wrong in it, and OSError."""
    try:
        return _bundle_content(directory)
    except BadBundleFiles as error:
        raise CommandError(FAILED, f"{directory}: {error}") from None


def catalog_content(directory: Path) -> Content:
    """The image of a catalog's directory: the files that no .indexignore excludes.

    Raises CommandError for a catalog that opm refuses, and OSError.
    """
    check_directory(directory, "give the directory of a catalog, or what `olm catalog build` wrote")
    if failure := validate(directory):
        place = f" in {failure.place}" if failure.place else ""
        raise CommandError(FAILED, f"{directory} is no valid catalog{place}: {failure.opm_message}")
    try:
        files = {f"{CATALOG_DIRECTORY}/{path}": directory / path for path in discover(directory)}
    except BadCatalog as error:
        raise CommandError(FAILED, f"{directory}: {error}") from None
    size = sum(path.stat().st_size for path in files.values())
    if excess := CATALOG_LIMITS.excess(size, len(files), 0):
        raise CommandError(FAILED, f"{directory}: the catalog would be {excess}")
    return Content(directory.resolve().name, files, {CONFIGS_LABEL: f"/{CATALOG_DIRECTORY}"})


def bundle_files(directory: Path) -> dict[str, bytes]:
    """The files below manifests/ and metadata/, by their paths. Raises BadBundleFiles, OSError."""
    return _read(directory, (MANIFESTS, METADATA))


def annotations_of(text: bytes) -> dict[str, Any]:
    """The annotations in the content of an annotations.yaml. Raises BadBundleFiles."""
    try:
        first = next(read_documents(io.BytesIO(text)), None)
    except BadDocument as error:
        raise BadBundleFiles(f"{ANNOTATIONS_FILE}: {error}") from error
    annotations = first.value.get("annotations") if first is not None and isinstance(first.value, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _bundle_content(directory: Path) -> Content:
    check_directory(directory, "give the directory of a bundle, or what `olm bundle build` wrote")
    if (directory / "Chart.yaml").is_file():
        raise BadBundleFiles("it is a Helm chart, which `helm push` pushes: bundles of the class " + HELM + " take it")
    files = bundle_files(directory)
    if not any(path.startswith(f"{MANIFESTS}/") for path in files):
        raise CommandError(WRONG_USAGE, no_manifests(directory))
    if not (directory / METADATA).is_dir():
        return _plain_content(directory, files)
    if ANNOTATIONS_FILE not in files:
        raise BadBundleFiles(f"it has no {ANNOTATIONS_FILE}, which names the package and its channels")
    bundle = read_registry(files)
    labels = _checked_labels(annotations_of(files[ANNOTATIONS_FILE]))
    name = text_at(bundle.csv, "metadata", "name")
    tests = _read(directory, (_tests_directory(labels),))
    return Content(name or bundle.package, files | tests, labels)


def _plain_content(directory: Path, files: Mapping[str, bytes]) -> Content:
    """The image of a bundle of manifests alone."""
    if any(each["kind"] == "ClusterServiceVersion" for each in read_objects(files)):
        raise BadBundleFiles(
            f"it has a ClusterServiceVersion, but no {ANNOTATIONS_FILE}: a registry+v1 bundle needs both"
        )
    return Content(directory.resolve().name, files, {MEDIA_TYPE_LABEL: _PLAIN_V0, MANIFESTS_LABEL: f"{MANIFESTS}/"})


def _checked_labels(annotations: Mapping[str, Any]) -> dict[str, str]:
    """The annotations as labels. Raises BadBundleFiles with everything that is wrong."""
    problems = list(_problems(annotations))
    if problems:
        raise BadBundleFiles(f"{ANNOTATIONS_FILE}: {'; '.join(problems)}")
    labels = {key: _label_text(value) for key, value in annotations.items()}
    for key in sorted(key for key, value in annotations.items() if not isinstance(value, str)):
        warn(f"{ANNOTATIONS_FILE}: the value of {key} is no string: its label is {quoted(labels[key])}")
    return labels


def _label_text(value: Any) -> str:
    """The value of an annotation as text, as YAML and JSON write it."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _problems(annotations: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"Missing annotation {quoted(key)}" for key in _REQUIRED if key not in annotations)
    for key, value in sorted(annotations.items()):
        if not isinstance(value, str) and (key in _USED or isinstance(value, dict | list | None)):
            yield f"the value of {key} is no string: write it in quotes"
    wanted = ((MANIFESTS_LABEL, f"{MANIFESTS}/"), (METADATA_LABEL, f"{METADATA}/"), (MEDIA_TYPE_LABEL, _REGISTRY_V1))
    for key, expected in wanted:
        value = annotations.get(key)
        if isinstance(value, str) and value.strip("/") != expected.strip("/"):
            yield f"Expecting annotation {quoted(key)} to have value {quoted(expected)} instead of {quoted(value)}"
    for key in (PACKAGE_KEY, CHANNELS_LABEL):
        if annotations.get(key) == "":
            yield f"Expecting annotation {quoted(key)} to have non-empty value"
    yield from _unprintable(annotations)


def _unprintable(annotations: Mapping[str, Any]) -> Iterator[str]:
    """The keys that no label has, and the values that no reader of a bundle can use. Text of others may have several lines."""
    for key in annotations:
        if not key or not key.isprintable() or " " in key:
            yield f"the key {quoted(key)} has a blank or a line break, which no label has"
    for key in _USED:
        value = annotations.get(key)
        if isinstance(value, str) and not value.isprintable():
            yield f"the value {quoted(value)} of {key} has a line break or another control character"


def _tests_directory(labels: Mapping[str, str]) -> str:
    """The directory of the scorecard's configuration. Raises BadBundleFiles if it is outside the bundle."""
    named = labels.get(TESTS_LABEL) or TESTS_DIRECTORY
    path = posixpath.normpath(named.strip("/"))
    if path.startswith("..") or path == ".":
        raise BadBundleFiles(
            f"{ANNOTATIONS_FILE}: {TESTS_LABEL} names {quoted(named)}, which is no directory in the bundle"
        )
    return path


def _read(root: Path, directories: tuple[str, ...]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    left = BUNDLE_LIMITS.bytes
    try:
        for path in files_below(root, directories):
            left -= path.stat().st_size
            if left < 0:
                raise BadBundleFiles(f"its files are larger than {BUNDLE_LIMITS.bytes // 1024**2} MiB")
            found[path.relative_to(root).as_posix()] = path.read_bytes()
    except LinkOutside as error:
        raise BadBundleFiles(str(error)) from None
    return found
