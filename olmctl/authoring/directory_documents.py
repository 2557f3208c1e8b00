"""The resolution documents of a catalog in a directory, as catalogd would serve them.

Invalid blobs affect their own package only, as on a cluster: no bundle of it may be chosen, or only that bundle may not. All
documents are in memory; of a bundle only what resolution needs is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from olmctl.authoring.directory import read_directory
from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob
from olmkit.fbc.errors import BadBlob
from olmkit.fbc.resolution_document import ResolutionBlobs, build_document, bundle_part, invalid_bundle_part

Value = TypeVar("Value")


@dataclass
class _Package:
    """The blobs of one package: of those with the same name the last one counts."""

    package: catalog.Package | None = None
    channels: dict[str, catalog.Channel] = field(default_factory=dict)
    bundles: dict[str, dict[str, Any]] = field(default_factory=dict)
    deprecations: list[catalog.Deprecations] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read_directory_documents(root: Path) -> dict[str, Any]:
    """The parsed JSON of each document, by package. Raises BadCatalog for a file that cannot be read."""
    packages: defaultdict[str, _Package] = defaultdict(_Package)
    for blob in read_directory(root):
        if blob.schema in (catalog.PACKAGE, catalog.CHANNEL, catalog.BUNDLE, catalog.DEPRECATIONS):
            name = blob.name if blob.schema == catalog.PACKAGE else blob.package
            if name:
                _add(packages[name], blob)
    return {name: _document(name, found) for name, found in sorted(packages.items())}


def _add(package: _Package, blob: Blob) -> None:
    match blob.schema:
        case catalog.PACKAGE:
            package.package = _typed(package, catalog.package, blob.value) or package.package
        case catalog.CHANNEL:
            channel = _typed(package, catalog.channel, blob.value)
            if channel is not None:
                package.channels[channel.name] = channel
        case catalog.DEPRECATIONS:
            deprecations = _typed(package, catalog.deprecations, blob.value)
            package.deprecations += [deprecations] if deprecations is not None else []
        case _:
            package.bundles[blob.name] = _bundle_part(blob)


def _bundle_part(blob: Blob) -> dict[str, Any]:
    try:
        return bundle_part(catalog.bundle(blob.value))
    except BadBlob as error:
        return invalid_bundle_part(blob.name, str(error))


def _typed(package: _Package, read: Callable[[Mapping[str, Any]], Value], value: Mapping[str, Any]) -> Value | None:
    try:
        return read(value)
    except BadBlob as error:
        package.errors.append(str(error))
        return None


def _document(name: str, found: _Package) -> Any:
    errors = [*found.errors, *([] if found.package else [f'unknown package "{name}"'])]
    parts = ResolutionBlobs(
        name, found.package, [*found.channels.values()], [*found.bundles.values()], found.deprecations, errors
    )
    return msgspec.json.decode(build_document(parts, ""))  # orjson refuses integers beyond float64
