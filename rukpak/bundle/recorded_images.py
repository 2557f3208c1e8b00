"""The images that BundleDeployments record for Bundles: in status.installed, and in the revisions of status.history.

A record is part of a status: only rukpak writes it, and only from the answers of registries. A Bundle that is created again keeps
the image of its record, and the content of recorded images stays in the store, because its registry may have lost it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.api.bundles import Bundle
from olmkit.api.meta import Object
from olmkit.api.names import digest_of_reference


def recorded_images(bundle: Bundle, deployment: Callable[[str], Object | None]) -> frozenset[str]:
    """The images by digest that the BundleDeployment that controls the Bundle records for it: for its name and its spec."""
    owner = next((one for one in bundle.metadata.owner_references if one.controller), None)
    raw = deployment(owner.name) if owner is not None and owner.kind == bundledeployments.KIND.kind else None
    if raw is None or owner is None or raw["metadata"]["uid"] != owner.uid:
        return frozenset()
    status = BundleDeployment.load(raw).status
    records = (record for record in (status.installed, *(status.history or ())) if record is not None)
    own = (record for record in records if (record.bundle, record.spec) == (bundle.metadata.name, bundle.spec))
    return frozenset(record.image for record in own if record.image)


def recorded_digests(raw: Object) -> set[str]:
    """The digests of all images that a BundleDeployment as read records."""
    return {digest_of_reference(record.get("image") or "") for record in _records(raw)} - {""}


def changed_records(old: Object | None, new: Object | None) -> Iterator[tuple[str, bool]]:
    """Each Bundle whose records differ in two versions of a BundleDeployment as read, and True if the new version has any."""
    before, after = _by_bundle(old), _by_bundle(new)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield name, name in after


def _by_bundle(raw: Object | None) -> dict[str, set[tuple[str, bytes]]]:
    """Bundle -> image and spec of each of its records."""
    found: dict[str, set[tuple[str, bytes]]] = {}
    for record in _records(raw):
        spec = orjson.dumps(record["spec"], option=orjson.OPT_SORT_KEYS)
        found.setdefault(record["bundle"], set()).add((record.get("image") or "", spec))
    return found


def _records(raw: Object | None) -> Iterator[Object]:
    status = (raw or {}).get("status") or {}
    yield from filter(None, (status.get("installed"), *(status.get("history") or ())))
