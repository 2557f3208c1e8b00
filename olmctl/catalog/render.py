"""`render REFERENCE...`: catalogs and bundles, in folders or images, as the blobs of a catalog.

As opm's; by default a bundle's blob carries its manifests (olm.bundle.object), with --migrate what is for browsing stands in
their place (olm.csv.metadata), in catalogs too: a bundle needs an image for that. Beyond opm: --image names the image that a
bundle's folder will be, and plain bundles are rendered.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from olmctl.catalog.output import add_form, fail, print_documents, warn
from olmkit.fbc import bundle_blobs, catalog
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.bundle_files import MANIFESTS, METADATA, BadBundleFiles, read_registry
from olmkit.fbc.checks.pull_specs import pull_spec_error
from olmkit.fbc.checks.version_errors import version_error
from olmkit.fbc.documents import Document
from olmkit.fbc.errors import BadBlob, BadCatalog, BadDocument
from olmkit.fbc.folder import read_folder
from olmkit.fbc.serialize import order_fields, sort_blobs
from olmkit.gocompat.text import quoted

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from olmctl.catalog.images import Unpacked

_LEVELS = ("none", "bundle-object-to-csv-metadata")
_BUNDLE_LIMIT = 256 * 1024**2
"""Bytes of a bundle's files."""
_CHECKS = {
    catalog.PACKAGE: catalog.package,
    catalog.CHANNEL: catalog.channel,
    catalog.BUNDLE: catalog.bundle,
    catalog.DEPRECATIONS: catalog.deprecations,
}


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's parser."""
    parser = commands.add_parser(
        "render",
        help="print the blobs of catalogs and bundles",
        description="Print the blobs of catalogs and bundles, package by package.",
    )
    parser.add_argument(
        "references",
        metavar="REFERENCE",
        nargs="+",
        help="a catalog's folder, a bundle's folder (manifests/ and metadata/, or manifests/ alone), or an image of either",
    )
    add_form(parser)
    parser.add_argument("--migrate", action="store_true", help=f"the same as --migrate-level {_LEVELS[-1]}")
    parser.add_argument(
        "--migrate-level", choices=_LEVELS, default=_LEVELS[0], help="write olm.csv.metadata in place of the manifests"
    )
    bundles = parser.add_argument_group("bundles in folders")
    bundles.add_argument("--image", default="", help="the image that the bundle's folder is or will be")
    plain = parser.add_argument_group("plain bundles, which do not say it themselves")
    plain.add_argument("--package", default="", help="the bundle's package")
    plain.add_argument("--version", default="", help="the bundle's version")
    plain.add_argument("--name", default="", help="the bundle's name (default PACKAGE.vVERSION)")
    images = parser.add_argument_group("images")
    images.add_argument(
        "--registries-conf", metavar="FILE", type=Path, help="mirrors, as containers-registries.conf(5)"
    )
    images.add_argument(
        "--pull-cas-dir",
        metavar="DIR",
        type=Path,
        help="a folder of PEM files of authorities to trust besides the system's",
    )
    images.add_argument(
        "--allow-source-cidr",
        metavar="CIDR",
        action="append",
        default=[],
        help="addresses to connect to although they are loopback or link-local; may be repeated",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when all is printed; nothing is printed unless all can be rendered."""
    found: list[Blob] = []
    try:
        for reference in arguments.references:
            found += _Rendering(reference, arguments).blobs()
    except (BadBundleFiles, BadCatalog, BadBlob, BadDocument) as error:
        return fail(f"render {quoted(reference)}: {error}")
    print_documents((order_fields(each.value) for each in sort_blobs(found)), arguments.output)
    return 0


@dataclass(frozen=True)
class _Rendering:
    """One of the references, and all that was asked for."""

    reference: str
    arguments: argparse.Namespace

    def blobs(self) -> Iterator[Blob]:
        """Raises BadBundle, BadCatalog, BadBlob; Blocked and Waiting for images."""
        path = Path(self.reference)
        if path.is_dir():
            yield from self._folder(path)
        elif path.exists():
            raise BadCatalog("it is a file: give the folder that holds it")
        else:
            yield from self._image()

    def _folder(self, path: Path) -> Iterator[Blob]:
        kind = self._kind(path)
        if kind == "catalog":
            yield from self._catalog(path)
        elif kind == "plain":
            yield self._plain(path, self.arguments.image)
        else:
            yield self._registry(path, self.arguments.image)

    def _kind(self, path: Path) -> str:
        """A folder with manifests/ alone is a plain bundle if it is said to be, or if nothing in it can be a catalog."""
        folders = {each.name for each in path.iterdir() if each.is_dir() and not each.name.startswith(".")}
        if {MANIFESTS, METADATA} <= folders:
            return "registry"
        is_said = bool(self.arguments.package or self.arguments.version)
        others = [each for each in path.iterdir() if each.suffix in (".json", ".yaml", ".yml")]
        return "plain" if MANIFESTS in folders and (is_said or (folders == {MANIFESTS} and not others)) else "catalog"

    def _image(self) -> Iterator[Blob]:
        # Here, because what pulls images takes a third of a second to import.
        from olmctl.catalog.images import NoFolder, reference_fault, unpacked

        if why := reference_fault(self.reference):
            raise BadCatalog(f"there is no such folder, and it is no image: {why}")
        given = self.arguments
        access = (given.registries_conf, given.pull_cas_dir, given.allow_source_cidr)
        try:
            with unpacked(self.reference, *access) as found:
                yield from self._unpacked(found)
        except NoFolder as error:
            raise BadCatalog(str(error)) from error

    def _unpacked(self, found: Unpacked) -> Iterator[Blob]:
        if found.is_catalog:
            yield from self._catalog(found.root)
        elif found.is_plain:
            yield self._plain(found.root, self.reference, found.package)
        else:
            yield self._registry(found.root, self.reference)

    def _catalog(self, root: Path) -> Iterator[Blob]:
        for each in read_folder(root):
            if each.schema in _CHECKS:
                _CHECKS[each.schema](each.value)
            yield self._migrated(each)

    def _migrated(self, each: Blob) -> Blob:
        if not self._is_summarized or each.schema != catalog.BUNDLE:
            return each
        value = bundle_blobs.summarized_blob(each.value)
        return each if value == each.value else _made(value)

    def _registry(self, root: Path, image: str) -> Blob:
        given = [flag for flag in ("package", "version", "name") if getattr(self.arguments, flag)]
        if given:
            raise BadBundleFiles(f"--{given[0]} is for plain bundles: this one's metadata/ says it")
        bundle = read_registry(_files(root))
        for sentence in bundle.warnings:
            warn(f"render {quoted(self.reference)}: {sentence}")
        _check_image(image)
        return _made(bundle_blobs.registry_blob(bundle, image, summarized=self._is_summarized))

    def _plain(self, root: Path, image: str, package: str = "") -> Blob:
        package, version = self.arguments.package or package, self.arguments.version
        wanted = {"--image": image, "--package": package, "--version": version}
        if missing := [flag for flag, value in wanted.items() if not value]:
            raise BadBundleFiles(f"a plain bundle does not say what it is, so tell it with {', '.join(missing)}")
        _check_image(image)
        if why := version_error(version):
            raise BadBundleFiles(f"--version {quoted(version)} is no semantic version: {why}")
        return _made(bundle_blobs.plain_blob(_files(root), image, package, version, self.arguments.name))

    @property
    def _is_summarized(self) -> bool:
        return bool(self.arguments.migrate or self.arguments.migrate_level != _LEVELS[0])


def _made(value: Mapping[str, Any]) -> Blob:
    """A blob made here, in the form of those that are read."""
    return parse_blob(Document(value, orjson.dumps(value), 1))


def _check_image(image: str) -> None:
    if image and (why := pull_spec_error(image)):
        raise BadBundleFiles(f"invalid image pull spec {quoted(image)}: {why}")


def _files(root: Path) -> dict[str, bytes]:
    """The files of a bundle by their paths below it."""
    found: dict[str, bytes] = {}
    left = _BUNDLE_LIMIT
    for folder in (MANIFESTS, METADATA):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file():
                name = path.relative_to(root).as_posix()
                left -= path.stat().st_size
                if left < 0:
                    raise BadBundleFiles(f"its files are larger than {_BUNDLE_LIMIT // 1024**2} MiB")
                found[name] = path.read_bytes()
    return found
