"""`olm catalog render REFERENCE...`: print catalogs and bundles, in directories or images, as blobs (formats 1.5, 1.8, 1.9).

Follows `opm render`. In addition, --image names the image that a bundle's directory is for, and plain bundles are rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from olmctl.authoring import bundle_blobs
from olmctl.authoring.directory import read_directory
from olmctl.authoring.images.contents import bundle_files
from olmctl.authoring.serialize import Format
from olmctl.catalog.output import print_sorted
from olmctl.commands import WRONG_USAGE, CommandError, fail, warn
from olmkit.errors import OlmError
from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.bundle_files import MANIFESTS, METADATA, BadBundleFiles, read_registry
from olmkit.fbc.checks.pull_specs import pull_spec_error
from olmkit.fbc.checks.version_errors import version_error
from olmkit.fbc.documents import Document
from olmkit.fbc.errors import BadBlob, BadCatalog, BadDocument
from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import version_hint

if TYPE_CHECKING:
    from olmctl.catalog.images import Unpacked

_SUMMARIZED = "bundle-object-to-csv-metadata"
_NO_MIGRATION = "none"
"""The value of --migrate-level that keeps the manifests."""
RenderError = (BadBundleFiles, BadCatalog, BadBlob, BadDocument)
"""The errors of a reference that cannot be rendered, but those of registries."""
_SCHEMA_TYPES = {
    catalog.PACKAGE: catalog.package,
    catalog.CHANNEL: catalog.channel,
    catalog.BUNDLE: catalog.bundle,
    catalog.DEPRECATIONS: catalog.deprecations,
}


@dataclass(frozen=True)
class _Options:
    """The options of the command, named as its flags."""

    migrate: bool
    migrate_level: str
    image: str
    package: str
    version: str
    name: str
    registries_conf: Path | None
    pull_cas_dir: Path | None
    allow_source_cidr: tuple[str, ...]

    @property
    def is_summarized(self) -> bool:
        """True if bundles get olm.csv.metadata in place of their manifests."""
        return self.migrate or self.migrate_level != _NO_MIGRATION


def render(references: tuple[str, ...], output: Format, **options: Any) -> int:
    """Print the blobs of catalogs and bundles, ordered by package."""
    reference = ""

    def blobs() -> Iterator[Blob]:
        nonlocal reference
        for reference in references:
            yield from _Rendering(reference, _Options(**options)).blobs()

    try:
        print_sorted(blobs(), output)
    except (*RenderError, OlmError) as error:
        return fail(f"render {quoted(reference)}: {error}")
    return 0


def bundle_blob(image: str, **access: Any) -> Blob:
    """The blob of the bundle in an image, and of nothing else. Raises what RenderError names, OlmError."""
    options = _Options(migrate=False, migrate_level=_NO_MIGRATION, image="", package="", version="", name="", **access)
    found = list(_Rendering(image, options).pulled())
    if len(found) != 1 or found[0].schema != catalog.BUNDLE:
        raise BadCatalog("it is no image of a bundle: name the images of bundles only")
    return found[0]


def migrated_blob(each: Blob, migrate_level: str) -> Blob:
    """The blob as --migrate-level asks for it. Raises BadBundleFiles."""
    if migrate_level == _NO_MIGRATION or each.schema != catalog.BUNDLE:
        return each
    value = bundle_blobs.summarized_blob(each.value)
    return each if value == each.value else _made(value)


@dataclass(frozen=True)
class _Rendering:
    """The rendering of one reference."""

    reference: str
    options: _Options

    def blobs(self) -> Iterator[Blob]:
        """Raises BadBundleFiles, BadCatalog, BadBlob; Blocked and Waiting for images."""
        path = Path(self.reference)
        if path.is_dir():
            yield from self._directory(path)
        elif path.exists():
            text = "it is a file: give the directory that contains it"
            raise CommandError(WRONG_USAGE, f"render {quoted(self.reference)}: {text}")
        else:
            yield from self.pulled()

    def _directory(self, path: Path) -> Iterator[Blob]:
        kind = self._kind(path)
        if kind == "catalog":
            yield from self._catalog(path)
        elif kind == "plain":
            yield self._plain(path, self.options.image)
        else:
            yield self._registry(path, self.options.image)

    def _kind(self, path: Path) -> str:
        """A directory with manifests/ alone is a plain bundle if the flags name one, or if nothing else in it can be a
        catalog."""
        directories = {each.name for each in path.iterdir() if each.is_dir() and not each.name.startswith(".")}
        if {MANIFESTS, METADATA} <= directories:
            return "registry"
        is_named = bool(self.options.package or self.options.version)
        others = [each for each in path.iterdir() if each.suffix in (".json", ".yaml", ".yml")]
        return (
            "plain"
            if MANIFESTS in directories and (is_named or (directories == {MANIFESTS} and not others))
            else "catalog"
        )

    def pulled(self) -> Iterator[Blob]:
        """The same of an image."""
        # Imported here because the image source takes a third of a second to import.
        from olmctl.catalog.images import NoDirectory, reference_error, unpacked

        if why := reference_error(self.reference):
            text = f"render {quoted(self.reference)}: there is no such directory, and it is no image: {why}"
            raise CommandError(WRONG_USAGE, text)
        given = self.options
        access = (given.registries_conf, given.pull_cas_dir, given.allow_source_cidr)
        try:
            with unpacked(self.reference, *access) as found:
                yield from self._unpacked(found)
        except NoDirectory as error:
            raise CommandError(WRONG_USAGE, f"render {quoted(self.reference)}: {error}") from error

    def _unpacked(self, found: Unpacked) -> Iterator[Blob]:
        if found.is_catalog:
            yield from self._catalog(found.root)
        elif found.is_plain:
            yield self._plain(found.root, self.reference, found.package)
        else:
            yield self._registry(found.root, self.reference)

    def _catalog(self, root: Path) -> Iterator[Blob]:
        for each in read_directory(root):
            if each.schema in _SCHEMA_TYPES:
                _SCHEMA_TYPES[each.schema](each.value)  # raises BadBlob
            yield migrated_blob(each, _SUMMARIZED if self.options.is_summarized else _NO_MIGRATION)

    def _registry(self, root: Path, image: str) -> Blob:
        given = [flag for flag in ("package", "version", "name") if getattr(self.options, flag)]
        if given:
            raise BadBundleFiles(f"--{given[0]} is for plain bundles: this bundle's metadata/ has it")
        bundle = read_registry(bundle_files(root))
        for sentence in bundle.warnings:
            warn(f"render {quoted(self.reference)}: {sentence}")
        _check_image(image)
        return _made(bundle_blobs.registry_blob(bundle, image, summarized=self.options.is_summarized))

    def _plain(self, root: Path, image: str, package: str = "") -> Blob:
        package, version = self.options.package or package, self.options.version
        wanted = {"--image": image, "--package": package, "--version": version}
        if missing := [flag for flag, value in wanted.items() if not value]:
            raise BadBundleFiles(f"a plain bundle does not contain its name and version: set {', '.join(missing)}")
        _check_image(image)
        if why := version_error(version):
            raise BadBundleFiles(f"--version {quoted(version)} is not a semantic version: {why}{version_hint(version)}")
        return _made(bundle_blobs.plain_blob(bundle_files(root), image, package, version, self.options.name))


def _made(value: Mapping[str, Any]) -> Blob:
    """The blob of a generated value."""
    return parse_blob(Document(value, orjson.dumps(value), 1))


def _check_image(image: str) -> None:
    if image and (why := pull_spec_error(image)):
        raise BadBundleFiles(f"invalid image pull spec {quoted(image)}: {why}")
