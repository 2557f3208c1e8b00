"""Pushes bundle directories and file-based catalogs to an image registry as OCI images, and fills in the digests.

`python -m devcluster.images --help` is the command. The same files have the same digest. Speaks plain HTTP, and only writes to
the registry.
"""

import argparse
import gzip
import hashlib
import http.client
import io
import json
import re
import tarfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from devcluster.errors import DevclusterError

CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
"""The label of a catalog image that names the directory of the catalog's files."""

_MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
_BUNDLE = "olm.bundle"
_BUNDLE_DIRECTORIES = ("manifests", "metadata")
_WORKERS = 4
_TIMEOUT_SECONDS = 60.0
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE_NAME = re.compile(rf"{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?", re.ASCII)

Blob = dict[str, Any]


class Registry:
    """An image registry at `address` ("127.0.0.1:5000") that speaks plain HTTP and needs no login."""

    def __init__(self, address: str) -> None:
        """Opens no connection: each request uses its own, so threads can share this object."""
        self.address = address

    def push(self, repository: str, tag: str, files: Mapping[str, bytes], labels: Mapping[str, str]) -> str:
        """Push an image with one layer of `files` (path -> content); return the digest of its manifest."""
        return self.push_layers(repository, tag, [layer(files)], labels)

    def push_layers(self, repository: str, tag: str, layers: Iterable[bytes], labels: Mapping[str, str]) -> str:
        """Push an image with these layers, which are tar archives, lowest first; return the digest of its manifest."""
        packed = [(_LAYER_TYPE, gzip.compress(tar, 6, mtime=0), _digest(tar)) for tar in layers]
        return self._push_layers(repository, tag, packed, {"Labels": dict(sorted(labels.items()))})

    def push_program(self, repository: str, tag: str, program: Path) -> str:
        """Push an image that is one program without dependencies; return the digest of its manifest."""
        tar = layer({program.name: program.read_bytes()}, mode=0o755)
        packed = [(_LAYER_TYPE.removesuffix("+gzip"), tar, _digest(tar))]
        return self._push_layers(repository, tag, packed, {"Entrypoint": [f"/{program.name}"]})

    def _push_layers(
        self, repository: str, tag: str, layers: Sequence[tuple[str, bytes, str]], settings: Mapping[str, Any]
    ) -> str:
        """Push an image of layers, each with its media type and the digest of its tar archive."""
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [unpacked for *_, unpacked in layers]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST_TYPE,
            "config": self._blob(repository, _CONFIG_TYPE, _json(config)),
            "layers": [self._blob(repository, media_type, content) for media_type, content, _ in layers],
        }
        content = _json(manifest)
        self._send("PUT", f"/v2/{repository}/manifests/{tag}", content, _MANIFEST_TYPE)
        return _digest(content)

    def push_image(self, repository: str, tag: str, manifest: bytes, blobs: Iterable[bytes]) -> str:
        """Push an image as it is, by its manifest (OCI) and all blobs that the manifest names; return its digest."""
        for content in blobs:
            self._blob(repository, "", content)
        self._send("PUT", f"/v2/{repository}/manifests/{tag}", manifest, _MANIFEST_TYPE)
        return _digest(manifest)

    def _blob(self, repository: str, media_type: str, content: bytes) -> dict[str, Any]:
        digest = _digest(content)
        status, _ = self._request("HEAD", f"/v2/{repository}/blobs/{digest}")
        if status != http.client.OK:
            upload = urlsplit(self._send("POST", f"/v2/{repository}/blobs/uploads/")["location"])
            separator = f"?{upload.query}&" if upload.query else "?"
            self._send("PUT", f"{upload.path}{separator}digest={digest}", content, "application/octet-stream")
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def _send(self, method: str, path: str, body: bytes = b"", content_type: str = "") -> Mapping[str, str]:
        status, headers = self._request(method, path, body, content_type)
        if status >= http.client.BAD_REQUEST:
            raise DevclusterError(f"The registry {self.address} answered {status} to {method} {path}.")
        return headers

    def _request(
        self, method: str, path: str, body: bytes = b"", content_type: str = ""
    ) -> tuple[int, Mapping[str, str]]:
        try:
            with closing(http.client.HTTPConnection(self.address, timeout=_TIMEOUT_SECONDS)) as connection:
                connection.request(method, path, body, {"Content-Type": content_type} if content_type else {})
                answer = connection.getresponse()
                answer.read()
                return answer.status, {name.lower(): value for name, value in answer.getheaders()}
        except OSError as error:
            raise DevclusterError(f"The registry {self.address} does not answer: {error}.") from error
        except http.client.HTTPException as error:
            raise DevclusterError(f"There is no registry at {self.address!r}, as host:port: {error}.") from error


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
        digest = self.registry.push(repository, tag, read_bundle(directory), bundle_labels(directory))
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


def read_bundle(directory: Path) -> dict[str, bytes]:
    """The files below manifests/ and metadata/ of a bundle directory, by path."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for name in _BUNDLE_DIRECTORIES
        for path in sorted((directory / name).rglob("*"))
        if path.is_file()
    }


def bundle_labels(directory: Path) -> dict[str, str]:
    """The labels of a bundle's image: those in its metadata/annotations.yaml; none for a plain bundle."""
    path = directory / "metadata" / "annotations.yaml"
    return bundle_labels_of(path.read_bytes() if path.is_file() else b"")


def bundle_labels_of(annotations: bytes) -> dict[str, str]:
    """The labels of a bundle's image, from the content of its annotations.yaml."""
    found = yaml.load(annotations, yaml.CSafeLoader) or {}
    return {str(name): str(value) for name, value in (found.get("annotations") or {}).items()}


def version_of(blob: Blob) -> str:
    """The version in an olm.bundle blob's olm.package property; empty if there is none."""
    for item in blob.get("properties") or ():
        if item.get("type") == "olm.package":
            return str(item["value"].get("version", ""))
    return ""


def layer(files: Mapping[str, bytes], mode: int = 0o644) -> bytes:
    """A tar archive of the files, which have this mode, and their directories, sorted, without times and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        directories = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
        for name in sorted(directories):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, content in sorted(files.items(), key=lambda item: item[0].split("/")):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


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


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


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
