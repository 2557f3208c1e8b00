"""The sources that BundleDeployments record for Bundles: in status.installed, and in the revisions of status.history.

A record is part of a status: only rukpak writes it, and only from what servers have answered. A Bundle that is created again
keeps the image or commit of its record, and the content of records stays in the store, because its server may have lost it. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.bundles import IMAGE_BY_DIGEST_ANNOTATION, Bundle
from olmkit.api.meta import Object
from olmkit.sources.resolved_source import content_digest, resolved_image


def resolved_digest(raw: Object) -> str:
    """The digest of the content that a Bundle as read has resolved; "" if there is none."""
    return content_digest((raw.get("status") or {}).get("resolvedSource") or {})


def recorded_pins(bundle: Bundle, deployment: Callable[[str], Object | None]) -> frozenset[tuple[str, str]]:
    """The annotations, name and value, with which the BundleDeployment that controls the Bundle may create it again: those of its
    records for its name and its spec."""
    owner = bundle.metadata.controller
    raw = deployment(owner.name) if owner is not None and owner.kind == bundledeployments.KIND.kind else None
    if raw is None or owner is None or raw["metadata"]["uid"] != owner.uid:
        return frozenset()
    status = BundleDeployment.load(raw).status
    records = (record for record in (status.installed, *(status.history or ())) if record is not None)
    own = (record for record in records if (record.bundle, record.spec) == (bundle.metadata.name, bundle.spec))
    return frozenset(pin for record in own for pin in record.pin().items())


def pinned_source(name: str, value: str) -> dict[str, Any]:
    """The resolved source that a pin stands for."""
    if name == IMAGE_BY_DIGEST_ANNOTATION:
        return resolved_image(value)
    source: dict[str, Any] = json.loads(value)
    return source


def recorded_digests(raw: Object) -> set[str]:
    """The digests of all content that a BundleDeployment as read records."""
    return {content_digest(_resolved(record)) for record in _records(raw)} - {""}


def changed_records(old: Object | None, new: Object | None) -> Iterator[tuple[str, bool]]:
    """Each Bundle whose records differ in two versions of a BundleDeployment as read, and True if the new version has any."""
    before, after = _by_bundle(old), _by_bundle(new)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield name, name in after


def _by_bundle(raw: Object | None) -> dict[str, set[bytes]]:
    """Bundle -> source and spec of each of its records."""
    found: dict[str, set[bytes]] = {}
    for record in _records(raw):
        facts = orjson.dumps([_resolved(record), record["spec"]], option=orjson.OPT_SORT_KEYS)
        found.setdefault(record["bundle"], set()).add(facts)
    return found


def _resolved(record: Object) -> Mapping[str, Any]:
    image = record.get("image")
    return resolved_image(image) if image else record.get("resolvedSource") or {}


def _records(raw: Object | None) -> Iterator[Object]:
    status = (raw or {}).get("status") or {}
    yield from filter(None, (status.get("installed"), *(status.get("history") or ())))
