"""Uploads as ConfigMaps of the suite's namespace: parts with the bytes, and an index that makes them complete.

    upload-UID              the index: the digest and the size of the archive. It is created last, and each Bundle has one
    upload-UID-DIGEST-NNN   part NNN, from 000: PART_BYTES of the archive; the last part has the rest

UID is that of the Bundle, which owns them, so that they are deleted with it. They are immutable. Parts without an index of the
same digest are not seen by anybody: whoever uploads the same archive continues with them, or the collector removes them. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.api import bundles
from olmkit.api.bundles import UPLOAD_DIGEST_ANNOTATION, UPLOAD_LABEL, UPLOAD_SIZE_ANNOTATION
from olmkit.api.meta import Kind, Object
from olmkit.api.names import is_digest

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
PART, INDEX = "part", "index"
KEY = "archive"
"""The key of the bytes in a part."""
PART_BYTES = 768 * 1024
"""Bytes of the archive in one part: in base64 they are 1 MiB."""


@dataclass(frozen=True)
class StoredUpload:
    """An upload that is complete."""

    digest: str
    size: int
    uid: str
    """The uid of the index: another one if the upload was stored again."""


@dataclass(frozen=True)
class Upload:
    """The archive of one Bundle."""

    bundle: str
    bundle_uid: str
    digest: str
    size: int

    @property
    def part_names(self) -> list[str]:
        """The names of the parts, in their order."""
        count = -(-self.size // PART_BYTES)
        short = self.digest.partition(":")[2][:16]
        return [f"{index_name(self.bundle_uid)}-{short}-{number:03d}" for number in range(count)]

    def part(self, name: str, namespace: str, data: bytes) -> Object:
        """The ConfigMap of one part."""
        body = self._config_map(name, namespace, PART, len(data))
        return {**body, "binaryData": {KEY: base64.b64encode(data).decode()}}

    def index(self, namespace: str) -> Object:
        """The ConfigMap that makes the upload complete."""
        return self._config_map(index_name(self.bundle_uid), namespace, INDEX, self.size)

    def _config_map(self, name: str, namespace: str, role: str, size: int) -> Object:
        owner = {
            "apiVersion": bundles.KIND.api_version,
            "kind": bundles.KIND.kind,
            "name": self.bundle,
            "uid": self.bundle_uid,
        }
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": {UPLOAD_LABEL: role, "app.kubernetes.io/part-of": "olm-suite"},
            "annotations": {UPLOAD_DIGEST_ANNOTATION: self.digest, UPLOAD_SIZE_ANNOTATION: str(size)},
            "ownerReferences": [owner],
        }
        return {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": metadata, "immutable": True}


def index_name(bundle_uid: str) -> str:
    """The name of the index of the upload of a Bundle."""
    return f"upload-{bundle_uid}"


def stored_upload(index: Object | None, bundle_uid: str) -> StoredUpload | None:
    """The upload that an index, as read, makes complete; None if it is none of this Bundle."""
    if index is None or role_of(index) != INDEX or owner_of(index)[1] != bundle_uid:
        return None
    digest, size = digest_of(index), size_of(index)
    return StoredUpload(digest, size, str(index["metadata"].get("uid", ""))) if is_digest(digest) and size > 0 else None


def data_of(part: Object) -> bytes:
    """The bytes of a part as read. Raises ValueError if it has none."""
    text = (part.get("binaryData") or {}).get(KEY)
    if not isinstance(text, str):
        raise ValueError("a part of an upload has no bytes")
    return base64.b64decode(text, validate=True)


def is_same(stored: Object, body: Object) -> bool:
    """Report whether a ConfigMap as read is what `body`, a part or an index, was created as."""
    keys = ("labels", "annotations")
    metadata = stored["metadata"]
    return (
        all(_contains(metadata.get(key) or {}, body["metadata"][key]) for key in keys)
        and owner_of(stored) == owner_of(body)
        and stored.get("binaryData") == body.get("binaryData")
        and stored.get("immutable") is True
    )


def role_of(config_map: Object) -> str:
    """PART or INDEX; "" for other ConfigMaps."""
    role = (config_map["metadata"].get("labels") or {}).get(UPLOAD_LABEL)
    return role if role in (PART, INDEX) else ""


def owner_of(config_map: Object) -> tuple[str, str]:
    """Name and uid of the Bundle that owns a part or an index; "" if none does."""
    for owner in config_map["metadata"].get("ownerReferences") or ():
        if owner["kind"] == bundles.KIND.kind and str(owner["apiVersion"]).startswith(f"{bundles.KIND.group}/"):
            return owner["name"], owner["uid"]
    return "", ""


def digest_of(config_map: Object) -> str:
    """The digest of the archive that a part or an index, as read, belongs to."""
    return str((config_map["metadata"].get("annotations") or {}).get(UPLOAD_DIGEST_ANNOTATION, ""))


def size_of(config_map: Object) -> int:
    """The bytes that a part or an index, as read, stands for; 0 if it does not say."""
    text = str((config_map["metadata"].get("annotations") or {}).get(UPLOAD_SIZE_ANNOTATION, ""))
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def parts(config_maps: Iterable[Object]) -> Iterator[Object]:
    """The parts among ConfigMaps as read."""
    return (each for each in config_maps if role_of(each) == PART)


def _contains(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(stored.get(key) == value for key, value in wanted.items())
