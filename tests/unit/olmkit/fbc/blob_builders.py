"""Blobs of small catalogs as they stand in files: valid ones, with what a test changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmctl.authoring.catalog_check import CatalogCheck
from olmkit.fbc.errors import BadBlob

Value = dict[str, Any]


def package(name: str = "p", **more: Any) -> Value:
    """Its default channel is c."""
    return {"schema": "olm.package", "name": name, "defaultChannel": "c", **more}


def channel(*entries: str | Value, name: str = "c", package: str = "p", **more: Any) -> Value:
    """Entries by name, or whole."""
    whole = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    return {"schema": "olm.channel", "name": name, "package": package, "entries": whole, **more}


def entry(name: str, replaces: str = "", skips: tuple[str, ...] = (), skip_range: str = "") -> Value:
    """An entry of a channel."""
    return {"name": name, "replaces": replaces, "skips": list(skips), "skipRange": skip_range}


def bundle(name: str, version: str = "", *, package: str = "p", release: str | None = None, **more: Any) -> Value:
    """Without a version: 1.0.0 and its name's digits, so that no two are the same."""
    digits = "".join(filter(str.isdigit, name)) or "0"
    value = {"packageName": package, "version": version or f"1.0.{int(digits)}"}
    return {
        "schema": "olm.bundle",
        "name": name,
        "package": package,
        "image": "quay.io/o/b:v1",
        "properties": [{"type": "olm.package", "value": {**value, **({"release": release} if release else {})}}],
        **more,
    }


def deprecations(*entries: Value, package: str = "p") -> Value:
    """Entries as `deprecated` makes them."""
    return {"schema": "olm.deprecations", "package": package, "entries": list(entries)}


def deprecated(schema: str, name: str = "", message: str = "old") -> Value:
    """An entry of deprecations."""
    return {"reference": {"schema": schema, "name": name}, "message": message}


def opm_error(*values: Mapping[str, Any]) -> str:
    """opm's answer to a catalog of these blobs; "" when it is valid."""
    catalog = CatalogCheck()
    try:
        for value in values:
            catalog.add(value["schema"], value)
    except BadBlob as error:
        return error.opm_message
    return catalog.error()
