"""Images for the commands that take them: what kind one is, and its files in a folder for a while.

Called by olmctl.catalog.render only. The one module below olmkit.fbc that knows olmkit.sources: a command may use what is
above the format it is about. Says by its labels what an image is (formats 1.8), and by its files when those say nothing.
"""

from __future__ import annotations

import asyncio
import base64
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from olmkit.errors import Blocked, OlmError
from olmkit.fbc.bundle_files import MANIFESTS, METADATA, PACKAGE_KEY
from olmkit.gocompat.text import quoted
from olmkit.sources.access import Access
from olmkit.sources.credentials import Credentials
from olmkit.sources.errors import BadReference, SourceReason
from olmkit.sources.oci import image
from olmkit.sources.oci.reference import parse
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.tree import BUNDLE_LIMITS

CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1"
DATABASE_LABEL = "operators.operatorframework.io.index.database.v1"
MEDIA_TYPE_LABEL = "operators.operatorframework.io.bundle.mediatype.v1"
_PLAIN = ("plain", "plain+v0")
_ABSENT = (
    SourceReason.NOT_FOUND,
    SourceReason.UNAUTHORIZED,
    SourceReason.UNAVAILABLE,
    SourceReason.REGISTRY_BLOCKED,
    SourceReason.ADDRESS_REFUSED,
)
"""Reasons why nobody knows whether there is such an image, or there is none."""
_LOGIN_KEYS = ("auth", "username", "password", "identitytoken", "registrytoken")


@dataclass(frozen=True)
class Unpacked:
    """An image's files below `root`: of a catalog those its label names, of a bundle all. `package` is what a label says."""

    root: Path
    is_catalog: bool
    is_plain: bool = False
    package: str = ""


class NoFolder(ValueError):
    """A reference that names no registry, and no image either: most likely a folder that is not there."""

    def __init__(self, meant: str, why: str) -> None:
        words = f"an image is written with its registry, and {quoted(meant)} cannot be had: {why}"
        super().__init__(f"there is no such folder; {words}")


@contextmanager
def unpacked(
    reference: str, registries_conf: Path | None, ca_folder: Path | None, allowed: Sequence[str]
) -> Iterator[Unpacked]:
    """The image for as long as the block runs; the rest as in Access. Raises Blocked, Waiting, NoFolder."""
    access = Access(registries_conf, ca_folder, tuple(allowed), credentials=_credentials())
    registries = access.registries()
    with tempfile.TemporaryDirectory(prefix="olm-render-") as folder:
        try:
            found = asyncio.run(_unpack(reference, Path(folder), registries))
        except OlmError as error:
            if error.reason in _ABSENT and (meant := _with_registry(reference)):
                raise NoFolder(meant, error.message) from error
            if error.reason != SourceReason.UNAUTHORIZED:
                raise
            words = f"the registry does not let you have {quoted(reference)}, or has no such image"
            hint = f"log in with docker, podman or buildah ({_login_file()} is read)"
            raise Blocked(error.reason, f"{words}: {hint}") from error
        yield found


async def _unpack(reference: str, into: Path, registries: Registries) -> Unpacked:
    found = await image.resolve(reference, registries)
    labels = await image.labels(found.ref_by_digest, registries)
    if CONFIGS_LABEL in labels:
        only = image.FromLabel(CONFIGS_LABEL)
        pulled = await image.pull(found.ref_by_digest, into, registries, only=only)
        return Unpacked(into / pulled.root, is_catalog=True)
    if DATABASE_LABEL in labels:
        words = "the catalog in it is a database of the old kind, which is not read: ask for a file-based one"
        raise Blocked(SourceReason.UNSUPPORTED, f"render {quoted(reference)}: {words}")
    await image.pull(found.ref_by_digest, into, registries, limits=BUNDLE_LIMITS)
    if not (into / MANIFESTS).is_dir():
        shown = "".join(f"\n  {key}={value}" for key, value in sorted(labels.items()))
        words = f"found labels{shown}" if shown else "image has no labels"
        raise Blocked(
            SourceReason.UNSUPPORTED,
            f"render {quoted(reference)}: image type could not be determined, {words}\n"
            "A catalog's image says where its files are, a bundle's holds them in /manifests.",
        )
    is_plain = labels.get(MEDIA_TYPE_LABEL) in _PLAIN or not (into / METADATA).is_dir()
    return Unpacked(into, is_catalog=False, is_plain=is_plain, package=labels.get(PACKAGE_KEY, ""))


def _credentials() -> Credentials:
    """The logins that docker, podman or buildah keep for this user; those of credential helpers cannot be had."""
    path = _login_file()
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Credentials()
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise Blocked(SourceReason.INVALID_SECRET, f"{path} is no JSON, as a file of logins is") from None
    logins = _logins(document)
    if not logins:
        return Credentials()
    data = base64.b64encode(orjson.dumps({"auths": logins})).decode()
    secret = {
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": str(path)},
        "data": {".dockerconfigjson": data},
    }
    try:
        return Credentials.from_secret(secret)
    except Blocked as error:
        raise Blocked(error.reason, error.message.removeprefix("Secret ")) from error


def _login_file() -> Path:
    """The first that the user named, or that is there."""
    if named := os.environ.get("REGISTRY_AUTH_FILE"):
        return Path(named)
    docker = Path(os.environ.get("DOCKER_CONFIG") or Path("~/.docker").expanduser()) / "config.json"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    containers = Path(runtime) / "containers" / "auth.json" if runtime else docker
    return containers if containers.is_file() else docker


def _logins(document: Any) -> dict[str, Any]:
    """The entries that hold a login."""
    auths = document.get("auths") if isinstance(document, dict) else None
    if not isinstance(auths, dict):
        return {}
    return {
        host: entry
        for host, entry in auths.items()
        if isinstance(entry, dict) and any(entry.get(key) for key in _LOGIN_KEYS)
    }


def _with_registry(text: str) -> str:
    """What a reference that names no registry means, in full; "" for one that names its registry."""
    found = parse(text)
    if found.written.startswith((f"{found.registry}/", "index.docker.io/")):
        return ""
    return str(replace(found, written=f"{found.registry}/{found.repository}"))


def reference_fault(text: str) -> str:
    """Why `text` can be no image reference; "" when it can."""
    try:
        parse(text)
    except BadReference as error:
        return str(error)
    return ""
