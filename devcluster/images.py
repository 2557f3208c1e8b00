"""Pushes bundle directories and file-based catalogs to an image registry as OCI images, and fills in the digests.

`python -m devcluster.images --help` is the command. The same files have the same digest. Speaks plain HTTP, and only writes to
the registry.
"""

import argparse
import asyncio
import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import orjson
import yaml

from devcluster.errors import DevclusterError
from olmctl.authoring.images.contents import ANNOTATIONS_FILE, annotations_of, bundle_files
from olmctl.authoring.images.image import Image, labelled_image, make_image
from olmctl.authoring.images.labels import CONFIGS_LABEL
from olmctl.authoring.images.layers import COMPRESSED_TYPE, TAR_TYPE, Layer, StoredBlob, compressed, digest_of
from olmctl.authoring.images.push import push
from olmkit.errors import OlmError
from olmkit.sources.oci.registries_conf import Registries, RegistryRule

_BUNDLE = "olm.bundle"
_WORKERS = 4
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE_NAME = re.compile(rf"{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?", re.ASCII)

Blob = dict[str, Any]


class Registry:
    """An image registry at `address` ("127.0.0.1:5000") that speaks plain HTTP and needs no login."""

    def __init__(self, address: str) -> None:
        """Opens no connection: each push uses its own, so threads can share this object."""
        self.address = address

    def push(self, repository: str, tag: str, files: Mapping[str, bytes], labels: Mapping[str, str]) -> str:
        """Push an image with one layer of `files` (path -> content); return the digest of its manifest."""
        return self.push_image(repository, tag, labelled_image([compressed(files)], labels))

    def push_layers(self, repository: str, tag: str, layers: Iterable[bytes], labels: Mapping[str, str]) -> str:
        """Push an image with these layers, which are tar archives, lowest first; return the digest of its manifest."""
        return self.push_image(repository, tag, labelled_image([_packed_layer(each) for each in layers], labels))

    def push_program(self, repository: str, tag: str, program: Path) -> str:
        """Push an image that is one program without dependencies; return the digest of its manifest."""
        archive = _program_archive(program)
        layer = Layer(TAR_TYPE, StoredBlob.of(archive), digest_of(archive))
        return self.push_image(repository, tag, make_image([layer], {"Entrypoint": [f"/{program.name}"]}))

    def push_image(self, repository: str, tag: str, image: Image) -> str:
        """Push an image as it is; return its digest. Raises DevclusterError."""
        reference = f"{self.address}/{repository}:{tag}"

        def work() -> None:
            rule = RegistryRule(self.address, self.address, insecure=True)
            asyncio.run(push(image, [reference], Registries((rule,)), attempts=1))

        try:
            with ThreadPoolExecutor(1) as thread:  # the caller's thread may have an event loop
                thread.submit(work).result()
        except OlmError as error:
            raise DevclusterError(f"{reference} cannot be pushed: {error}") from error
        return image.digest


@dataclass(frozen=True)
class Content:
    """A catalog on disk: a directory with `<package>/catalog.json` or `.yaml`, and one with
    `<package>/<version>/{manifests,metadata}`."""

    catalog: Path
    bundles: Path

    def packages(self) -> list[str]:
        """The names of the packages, sorted. Raises DevclusterError if there are none or a directory is missing."""
        missing = next((directory for directory in (self.catalog, self.bundles) if not directory.is_dir()), None)
        if missing is not None:
            raise DevclusterError(
                f"There is no directory {missing}: the directory with the catalog contains catalog/<package>/ and "
                "bundles/<package>/<version>/."
            )
        names = sorted(directory.name for directory in self.catalog.iterdir() if directory.is_dir())
        if not names:
            raise DevclusterError(f"{self.catalog} does not contain a directory of a package.")
        return names

    def blobs(self, package: str) -> list[Blob]:
        """The catalog's blobs of one package in the order of the file. Raises DevclusterError if there is none."""
        directory = self.catalog / package
        if (lines := directory / "catalog.json").is_file():
            return _blobs(lines, lambda text: [json.loads(line) for line in text.splitlines() if line.strip()])
        if (documents := directory / "catalog.yaml").is_file():
            return _blobs(documents, lambda text: [blob for blob in yaml.load_all(text, yaml.CSafeLoader) if blob])
        raise DevclusterError(f"{directory} contains neither catalog.json nor catalog.yaml.")

    def bundle_directory(self, blob: Blob) -> Path | None:
        """The directory of the bundle of an olm.bundle blob; None if it does not exist."""
        version = version_of(blob)
        for name in (version, f"v{version}"):
            directory = self.bundles / str(blob.get("package", "")) / name
            if directory.is_dir():
                return directory
        return None


@dataclass(frozen=True)
class Pushed:
    """A catalog image. `reference` is by tag, `images` the pushed bundles' images by digest under (package, bundle name)."""

    reference: str
    digest: str
    images: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Catalog:
    """The image of a catalog: the registry, `name:tag` there, and the host in image references (the registry's own address, or
    one that it mirrors)."""

    registry: Registry
    name: str
    host: str

    def push(
        self,
        content: Content,
        *,
        packages: Collection[str] | None = None,
        without: Collection[str] = (),
        report: Callable[[int, int], None] = lambda done, total: None,
    ) -> Pushed:
        """Push all bundles that have a directory, then the catalog that names them by digest.

        `packages` limits the catalog, `without` leaves bundles out of it by name. Bundles without a directory keep the image
        reference they have. `report` hears how many of how many bundles are pushed. Raises DevclusterError.
        """
        chosen = content.packages() if packages is None else sorted(packages)
        found = {package: content.blobs(package) for package in chosen}
        _check_names(
            without, [blob["name"] for listed in found.values() for blob in listed if blob["schema"] == _BUNDLE]
        )
        blobs = {package: _without(listed, without) for package, listed in found.items()}
        images = self._push_bundles(content, [blob for listed in blobs.values() for blob in listed], report)
        files = {f"{package}/catalog.json": _lines(listed, images) for package, listed in blobs.items()}
        return Pushed(self.reference, self.push_files(files), images)

    @property
    def reference(self) -> str:
        """The image reference by tag, for the spec of a Catalog."""
        return f"{self.host}/{self.name}"

    def push_files(self, files: Mapping[str, bytes]) -> str:
        """Push a catalog of exactly these files (path below the catalog's directory -> content); return the digest."""
        repository, _, tag = self.name.partition(":")
        below = {f"configs/{path}": content for path, content in files.items()}
        return self.registry.push(repository, tag or "latest", below, {CONFIGS_LABEL: "/configs"})

    def _push_bundles(
        self, content: Content, blobs: Iterable[Blob], report: Callable[[int, int], None]
    ) -> dict[tuple[str, str], str]:
        directories = {}
        for blob in blobs:
            directory = content.bundle_directory(blob) if blob["schema"] == "olm.bundle" else None
            if directory is not None:
                directories[blob["package"], blob["name"]] = (str(blob["package"]), version_of(blob), directory)
        images: dict[tuple[str, str], str] = {}
        with ThreadPoolExecutor(_WORKERS) as workers:
            references = workers.map(lambda bundle: self._push_bundle(*bundle), directories.values())
            for key, reference in zip(directories, references, strict=True):
                images[key] = reference
                report(len(images), len(directories))
        return images

    def _push_bundle(self, package: str, version: str, directory: Path) -> str:
        repository = f"bundles/{package.lower()}"
        tag = "v" + re.sub(r"[^\w.-]", "_", version)[:127]
        files = bundle_files(directory)
        digest = self.registry.push(repository, tag, files, labels_of(files.get(ANNOTATIONS_FILE, b"")))
        return f"{self.host}/{repository}@{digest}"


def _blobs(path: Path, parse: Callable[[str], list[Any]]) -> list[Blob]:
    """The blobs of the file. Raises DevclusterError, which names the file, if it does not contain blobs."""
    try:
        found = parse(path.read_text())
    except (ValueError, yaml.YAMLError) as error:
        raise DevclusterError(f"{path} does not parse: {error}") from error
    for blob in found:
        needed = (
            ("schema", "package", "name") if isinstance(blob, dict) and blob.get("schema") == _BUNDLE else ("schema",)
        )
        if not isinstance(blob, dict) or not all(isinstance(blob.get(name), str) for name in needed):
            raise DevclusterError(f"{path} contains a value that is not a blob with {', '.join(needed)}.")
    return found


def labels_of(annotations: bytes) -> dict[str, str]:
    """The labels of a bundle's image, from the content of its annotations.yaml; none for a plain bundle."""
    found = annotations_of(annotations)
    return {key: value if isinstance(value, str) else orjson.dumps(value).decode() for key, value in found.items()}


def _packed_layer(archive: bytes) -> Layer:
    return Layer(COMPRESSED_TYPE, StoredBlob.of(gzip.compress(archive, 6, mtime=0)), digest_of(archive))


def _program_archive(program: Path) -> bytes:
    """A tar archive of one program."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo(program.name)
        entry.size, entry.mode = program.stat().st_size, 0o755
        with program.open("rb") as file:
            archive.addfile(entry, file)
    return buffer.getvalue()


def version_of(blob: Blob) -> str:
    """The version in an olm.bundle blob's olm.package property; empty if there is none."""
    for item in blob.get("properties") or ():
        if item.get("type") == "olm.package":
            return str(item["value"].get("version", ""))
    return ""


def _check_names(without: Collection[str], known: Collection[str]) -> None:
    """Raise DevclusterError if a bundle to leave out does not exist, which is probably a typing error."""
    for name in sorted(set(without) - set(known)):
        near = get_close_matches(name, known, n=3)
        there = f"did you mean {' or '.join(near)}?" if near else f"{len(known)} bundles have other names."
        raise DevclusterError(f"The catalog has no bundle {name!r} that could be left out: {there}")


def _without(blobs: list[Blob], names: Collection[str]) -> list[Blob]:
    """The blobs without the named bundles and their channel entries."""
    kept = []
    for blob in blobs:
        if blob["schema"] == "olm.bundle" and blob["name"] in names:
            continue
        if blob["schema"] == "olm.channel":
            entries = [entry for entry in blob["entries"] if entry["name"] not in names]
            if not entries:
                continue
            blob = {**blob, "entries": entries}
        kept.append(blob)
    return kept


def _lines(blobs: Iterable[Blob], images: Mapping[tuple[str, str], str]) -> bytes:
    """The blobs as JSON lines, with the images by digest."""
    lines = []
    for blob in blobs:
        image = images.get((blob["package"], blob["name"])) if blob["schema"] == "olm.bundle" else None
        filled = {**blob, "image": image} if image else blob
        lines.append(json.dumps(filled, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    return b"".join(lines)


def _check_image_name(name: str) -> None:
    """Raise DevclusterError for a name that a registry would refuse with nothing but 404."""
    if not _IMAGE_NAME.fullmatch(name):
        raise DevclusterError(
            f"{name!r} is no name of an image in a registry: it is written like catalogs/samples:latest, with lower-case "
            "letters, digits and . _ - in each part, and without the registry's host."
        )


def main(arguments: list[str] | None = None) -> int:
    """Push a catalog and its bundles, and print the catalog's image reference."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.images", description=main.__doc__)
    parser.add_argument("registry", help="host:port of a registry that speaks plain HTTP")
    parser.add_argument(
        "directory", type=Path, help="directory with catalog/<package>/ and bundles/<package>/<version>/"
    )
    parser.add_argument("name", help="name:tag of the catalog image in the registry")
    parser.add_argument("--host", help="host that image references name, when it is not the registry's address")
    parser.add_argument("--without", action="append", default=[], metavar="BUNDLE", help="leave this bundle out")
    given = parser.parse_args(arguments)
    catalog = Catalog(Registry(given.registry), given.name, given.host or given.registry)
    try:
        _check_image_name(given.name)
        pushed = catalog.push(Content(given.directory / "catalog", given.directory / "bundles"), without=given.without)
    except DevclusterError as error:
        parser.exit(1, f"{error}\n")
    print(f"{len(pushed.images)} bundles, catalog {pushed.reference} ({pushed.digest})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
