"""Limits the responses of a Catalog to the packages that spec.packages lists, and to their documents for resolvers.

The whole catalog is always served, and its digest does not depend on the list; the entity tag and the date of a response that the
list limits do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from catalogd.http.responses import ResponseBody
from catalogd.http.routes import NO_PACKAGE, NOT_SELECTED, Route
from catalogd.ingest.content import CONTENT_FORMAT
from catalogd.storage.catalog_store import ServedCatalog
from catalogd.storage.record import Record
from olmkit.runtime.listener.http_errors import HTTPError

DIGEST_HEADER = "Olm-Catalog-Digest"
LIMITED = {"Olm-Catalog-Packages": "selected"}
"""The header of a response that the list limits: a client that needs all packages must not take it for the whole."""


def digest_header(served: ServedCatalog) -> dict[str, str]:
    """The header that names the content of a response."""
    return {DIGEST_HEADER: served.record.digest}


def entity_tag(digest: str, suffix: str) -> str:
    """The entity tag without quotes.

    The format is part of it: another version of catalogd may write other bytes for the same digest.
    """
    return f"{digest}.{CONTENT_FORMAT}{suffix}"


def modified(record: Record, route: Route) -> datetime:
    """The time of the last change of the response: of the content, or of the list that limits it."""
    unpacked = datetime.fromisoformat(record.unpacked).astimezone(UTC)
    if not route.is_selected or not record.packages_changed:
        return unpacked
    return max(unpacked, datetime.fromisoformat(record.packages_changed).astimezone(UTC))


def with_selection(served: ServedCatalog, current: Record) -> ServedCatalog:
    """Replaced content with the packages that the Catalog offers today."""
    record = replace(served.record, packages=current.packages, packages_changed=current.packages_changed)
    return replace(served, record=record)


def check_selected(served: ServedCatalog, package: str) -> None:
    """Raises HTTPError(404) for a package that the Catalog does not offer."""
    if not served.record.offers(package):
        raise HTTPError(404, NOT_SELECTED, digest_header(served))


def packages_body(served: ServedCatalog, route: Route) -> ResponseBody:
    """The summaries of the packages that the Catalog offers."""
    content, packages = served.content, served.record.packages
    if packages is None:
        return _whole_file(served, content.summaries_path, route.media_type)
    ranges = content.summary_ranges(frozenset(packages))
    return ResponseBody(content, content.summaries_path, ranges, route.media_type, tag=_tag(packages), headers=LIMITED)


def resolution_body(served: ServedCatalog, route: Route, parameters: Mapping[str, str]) -> ResponseBody:
    """The document of one package if only `package` is given, otherwise those that match, one per line. Raises HTTPError(404)."""
    content, package, provided = served.content, parameters.get("package", ""), parameters.get("provides", "")
    packages = None if parameters.get("all") == "true" else served.record.packages
    selected, tag = (None, "") if packages is None else (frozenset(packages), _tag(packages))
    headers = {} if packages is None else LIMITED
    if package and content.resolution_range(package) is None:
        raise HTTPError(404, NO_PACKAGE, digest_header(served))
    if package and selected is not None:
        check_selected(served, package)
    if not package and not provided:
        if selected is None:
            return _whole_file(served, content.resolution_path, route.also)
        ranges = content.resolution_ranges(selected)
        return ResponseBody(content, content.resolution_path, ranges, route.also, tag=tag, headers=headers)
    names = content.providers(provided) if provided else (package,)
    offered = (name for name in names if package in ("", name) and (selected is None or name in selected))
    ranges = [found for name in offered if (found := content.resolution_range(name))]
    media_type = route.media_type if package and not provided else route.also
    return ResponseBody(content, content.resolution_path, ranges, media_type, tag=tag, headers=headers)


def _tag(packages: tuple[str, ...]) -> str:
    """The part of an entity tag that names the list."""
    return f".{hashlib.sha256(orjson.dumps(packages)).hexdigest()[:16]}"


def _whole_file(served: ServedCatalog, path: Path, media_type: str) -> ResponseBody:
    return ResponseBody(served.content, path, [(0, path.stat().st_size)], media_type, is_whole=True)
