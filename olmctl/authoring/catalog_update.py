"""A package in the directory of a catalog, changed: which file gets which document, and the check of what comes out.

Files are replaced by renaming, those with new bundles first. If a process ends in between, the same change completes it. Nothing
is written that opm would refuse in the package. Documents of other packages are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from olmctl.authoring.catalog_addition import Addition, NewBundle, PackageState
from olmctl.authoring.catalog_check import CatalogCheck
from olmctl.authoring.catalog_text import CatalogText, NotEditable, Piece
from olmctl.authoring.directory import discover
from olmctl.authoring.serialize import Format, serialize
from olmctl.commands import FAILED, CommandError
from olmctl.file_replacement import is_partial, make_directory, replace_file
from olmkit.fbc.blobs import Blob
from olmkit.fbc.catalog import BUNDLE, CHANNEL, PACKAGE
from olmkit.fbc.errors import BadBlob, BadCatalog, BadDocument

_ESCAPED = re.compile(
    rb"\\(?:u00|U000000|x)(?:2[dD]|3[0-9]|[67][0-9a-fA-F])|\\(?:[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9])|\0"
)
"""Other spellings of the name of a package, which is a DNS label: an escaped letter, digit or dash, a line that
continues, and UTF-16."""


def write_file(path: Path, text: str) -> None:
    """Write the text to the file, or to the one that a link names. Raises OSError."""
    replace_file(path.resolve() if path.is_symlink() else path, text.encode())


@dataclass
class PackageFiles:
    """The files of a catalog that contain documents of one package, as they are to be: path -> text."""

    root: Path
    package: str
    texts: dict[str, CatalogText] = field(default_factory=dict)
    suffix: str = ".yaml"
    """The suffix of the files of the catalog."""
    changed: list[str] = field(default_factory=list)
    """The paths of changed and new files, in the order in which they are to be written."""

    @classmethod
    def read(cls, root: Path, package: str) -> PackageFiles:
        """The files of the package, in a catalog that is locked: what a killed process has left of a file is removed. Raises
        CommandError, which names the file, and OSError."""
        found = cls(root, package)
        path = ""
        try:
            for path in discover(root):
                if is_partial(root / path):
                    (root / path).unlink()
                    continue
                data = (root / path).read_bytes()
                found.suffix = PurePosixPath(path).suffix or found.suffix
                if package.encode() in data or _ESCAPED.search(data):
                    found.texts[path] = CatalogText.read(data)
        except (BadDocument, BadBlob, NotEditable) as error:
            raise CommandError(FAILED, f"{root / path}: {error}") from None
        except BadCatalog as error:
            raise CommandError(FAILED, f"{root}: {error}") from None
        return found

    def blobs(self) -> Iterator[tuple[str, Piece]]:
        """The documents of the package with their files, in the order of a walk."""
        for path, text in sorted(self.texts.items()):
            for piece in text.pieces:
                if _package_of(piece.blob) == self.package:
                    yield path, piece

    def state(self) -> PackageState:
        """The package as the catalog has it."""
        found: dict[str, dict[str, Mapping[str, object]]] = {PACKAGE: {}, CHANNEL: {}, BUNDLE: {}}
        for _, piece in self.blobs():
            if piece.blob.schema in found:
                found[piece.blob.schema][piece.blob.name] = piece.blob.value
        return PackageState(found[PACKAGE].get(self.package), found[CHANNEL], found[BUNDLE])

    def apply(self, addition: Addition, bundle: NewBundle) -> None:
        """Make the changes. Raises CommandError."""
        try:
            if addition.new_package is not None:
                self._add(addition.new_package, None)
            for value in addition.new_channels:
                self._add(value, self._last((CHANNEL, PACKAGE)))
            for name, value in addition.replaced_channels.items():
                path, piece = self._find(CHANNEL, name)
                self._set(path, self.texts[path].with_replaced(piece, value))
            for name, entry in addition.entries.items():
                path, piece = self._find(CHANNEL, name)
                self._set(path, self.texts[path].with_entry(piece, entry))
            if addition.bundle is not None:
                path = self._put_bundle(addition.bundle, bundle)
                self.changed.sort(key=lambda each: each != path)
        except (BadDocument, BadBlob, NotEditable) as error:
            raise CommandError(
                FAILED, f"the package {self.package} of {self.root} cannot be changed: {error}"
            ) from None

    def error(self) -> str:
        """opm's message for the package as it is to be; "" if it is valid."""
        check = CatalogCheck()
        try:
            for _, piece in self.blobs():
                check.add(piece.blob.schema, piece.blob.value)
        except BadBlob as error:
            return str(error)
        return check.error()

    def write(self) -> list[Path]:
        """Write the changed files; returns their paths. Raises OSError."""
        for path in self.changed:
            make_directory((self.root / path).parent, self.root)
            write_file(self.root / path, self.texts[path].text)
        return [self.root / path for path in self.changed]

    def _put_bundle(self, value: Mapping[str, object], bundle: NewBundle) -> str:
        """Add or replace the document of the bundle; returns the path of its file."""
        known = [found for found in self.blobs() if (found[1].blob.schema, found[1].blob.name) == (BUNDLE, bundle.name)]
        if known:
            path, piece = known[0]
            self._set(path, self.texts[path].with_replaced(piece, value))
            return path
        if own := self._own_file(bundle):
            self._create(own, value)
            return own
        return self._add(value, self._last((BUNDLE, CHANNEL, PACKAGE)))

    def _own_file(self, bundle: NewBundle) -> str:
        """The path of a file for the bundle alone, if each bundle of the package has one; else ""."""
        files = {path: piece for path, piece in self.blobs() if piece.blob.schema == BUNDLE}
        if not files or any(len(self.texts[path].pieces) > 1 for path in files):
            return ""
        near = PurePosixPath(sorted(files)[-1])
        old, new = files[str(near)].blob.name, bundle.name
        versions = re.search(r"\.v?(\d.*)", old), re.search(r"\.v?(\d.*)", new)
        stem = near.stem
        if old in stem:
            stem = stem.replace(old, new)
        elif all(versions) and versions[0] and versions[1] and versions[0][1] in stem:
            stem = stem.replace(versions[0][1], versions[1][1])
        else:
            stem = new
        path = str(near.with_name(f"{stem}{near.suffix}"))
        return str(near.with_name(f"{new}{near.suffix}")) if path in self.texts else path

    def _add(self, value: Mapping[str, object], after: tuple[str, Piece] | None) -> str:
        """Add a document after another one; to the file of the package if there is none. Returns the path of the file."""
        if after is not None:
            path, piece = after
            self._set(path, self.texts[path].with_document(piece, value))
            return path
        path = f"{self.package}/catalog{self.suffix if self.suffix in ('.json', '.yaml', '.yml') else '.yaml'}"
        if path in self.texts:
            self._set(path, self.texts[path].with_document(None, value))
        else:
            self._create(path, value)
        return path

    def _create(self, path: str, value: Mapping[str, object]) -> None:
        if (self.root / path).exists():
            raise CommandError(FAILED, f"{self.root / path} exists, and is no file of package {self.package}")
        if path not in set(discover(self.root, (path,))):
            raise CommandError(FAILED, f"{self.root / path} would be excluded by .indexignore")
        form: Format = "json" if path.endswith(".json") else "yaml"
        self._set(path, CatalogText.read(serialize(value, form)))

    def _last(self, schemas: tuple[str, ...]) -> tuple[str, Piece] | None:
        """The last document of the package of the first of these schemas that there is."""
        for schema in schemas:
            found = [each for each in self.blobs() if each[1].blob.schema == schema]
            if found:
                return found[-1]
        return None

    def _find(self, schema: str, name: str) -> tuple[str, Piece]:
        return next(each for each in self.blobs() if (each[1].blob.schema, each[1].blob.name) == (schema, name))

    def _set(self, path: str, text: CatalogText) -> None:
        self.texts[path] = text
        if path not in self.changed:
            self.changed.append(path)


def _package_of(blob: Blob) -> str:
    return blob.name if blob.schema == PACKAGE else blob.package
