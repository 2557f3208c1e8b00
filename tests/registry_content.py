"""Copies the signatures of an image out of a registry, as texts, and into another one."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from tests.images import INDEX, MANIFEST, push_blob, push_manifest

ACCEPT = f"{MANIFEST['oci']}, {INDEX['oci']}"


def copied(registry: str, repository: str, digest: str) -> dict[str, Any]:
    """`manifests` by tag or digest, and `blobs`, of the signatures of this digest."""
    manifests: dict[str, str] = {}
    blobs: dict[str, str] = {}
    tag = digest.replace(":", "-")
    left = [f"{tag}.sig", tag]
    while left:
        version = left.pop()
        text = _get(registry, f"/v2/{repository}/manifests/{version}")
        if text is None:
            continue
        manifests[version] = text
        manifest = json.loads(text)
        left += [each["digest"] for each in manifest.get("manifests", ())]
        for blob in (*manifest.get("layers", ()), *([manifest["config"]] if "config" in manifest else ())):
            blobs[blob["digest"]] = _get(registry, f"/v2/{repository}/blobs/{blob['digest']}") or ""
    return {"manifests": manifests, "blobs": sorted(blobs.values())}


def put(registry: str, repository: str, content: Mapping[str, Any]) -> None:
    """Push what copied() has returned."""
    for blob in content["blobs"]:
        push_blob(registry, repository, blob.encode(), "application/octet-stream")
    # An index is pushed after the manifests that it lists.
    for version, text in sorted(content["manifests"].items(), key=lambda item: "manifests" in json.loads(item[1])):
        kind = json.loads(text).get("mediaType") or MANIFEST["oci"]
        push_manifest(registry, repository, version, text.encode(), kind)


def _get(registry: str, path: str) -> str | None:
    request = urllib.request.Request(f"http://{registry}{path}", headers={"Accept": ACCEPT})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None
