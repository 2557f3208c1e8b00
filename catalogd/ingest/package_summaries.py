"""The summary of a package for lists in consoles. Pure.

A few hundred bytes per package, with a link to the icon instead of the icon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from olmkit.fbc import bundle_objects, catalog
from olmkit.fbc.catalog import Bundle, Channel, Deprecations, Package
from olmkit.fbc.csv_metadata import date_of
from olmkit.fbc.schemas import GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version

MAX_DESCRIPTION_LENGTH = 200
MAX_TEXT_LENGTH = 100
"""The longest name, provider, category or keyword."""
MAX_LIST_ITEMS = 20
"""The most categories, and the most keywords."""
MAX_KINDS = 50
"""The most kinds that are provided, and the most kinds or packages that are required."""
_CSV_METADATA_TYPE, _BUNDLE_OBJECT_TYPE = "olm.csv.metadata", "olm.bundle.object"


@dataclass(frozen=True)
class ChannelHead:
    """The head of a channel: the bundle that no other one replaces or skips."""

    name: str
    version: str


def channel_head(channel: Channel, versions: Mapping[str, str]) -> str:
    """The name of the head; "" without entries. Of several heads, which an invalid graph has, it is the one that resolution would
    choose: that of the highest version, else the first. `versions` are those of the bundles by name."""
    replaced = {each for entry in channel.entries for each in (entry.replaces, *entry.skips)}
    heads = [entry.name for entry in channel.entries if entry.name not in replaced]
    if len(heads) > 1:
        return max(heads, key=lambda name: _rank(versions.get(name, "")))  # the first of equal ones
    return heads[0] if heads else channel.entries[0].name if channel.entries else ""


def _rank(version: str) -> tuple[bool, Version | None]:
    """Sorts texts that are no version first."""
    try:
        return True, parse_bundle_version(version)
    except BadVersion:
        return False, None


def package_summary(
    package: Package,
    heads: Mapping[str, ChannelHead | None],
    deprecations: Iterable[Deprecations],
    newest: Bundle | None,
    *,
    has_icon: bool,
) -> dict[str, Any]:
    """The summary of one package. `heads` are by channel, `newest` is the head of the default channel. Empty fields are left
    out."""
    described = _csv_fields(newest) if newest is not None else {}
    description = described.pop("description", "") or package.description
    summary = {
        "name": package.name,
        **described,
        "description": _short(description, MAX_DESCRIPTION_LENGTH),
        "defaultChannel": package.default_channel,
        "channels": [_channel(name, head) for name, head in heads.items()],
        "deprecated": _deprecated(deprecations),
        "icon": f"packages/{quote(package.name, safe='')}/icon" if has_icon else "",
    }
    return {key: value for key, value in summary.items() if value}


def _channel(name: str, head: ChannelHead | None) -> dict[str, Any]:
    if head is None:
        return {"name": name}
    return {"name": name, "head": {"name": head.name, **({"version": head.version} if head.version else {})}}


def _deprecated(deprecations: Iterable[Deprecations]) -> str | bool:
    for blob in deprecations:
        for each in blob.entries:
            if each.schema == catalog.PACKAGE:
                return _short(each.message, MAX_DESCRIPTION_LENGTH) or True
    return False


def _csv_fields(bundle: Bundle) -> dict[str, Any]:
    """Fields of the CSV of a bundle; olm.csv.metadata is used instead of the CSV if there is one."""
    spec, annotations = bundle_description(bundle)
    return {
        "displayName": _text(spec.get("displayName")),
        "description": _text(annotations.get("description"), MAX_DESCRIPTION_LENGTH)
        or _text(spec.get("description"), MAX_DESCRIPTION_LENGTH),
        "provider": _text(_mapping(spec.get("provider")).get("name")),
        "categories": _texts(_text(annotations.get("categories"), 1000).split(",")),
        "keywords": _texts(spec.get("keywords")),
        "capability": _text(annotations.get("capabilities")),
        "createdOn": date_of(annotations),
        "installModes": _install_modes(spec.get("installModes")),
        "minKubeVersion": _text(spec.get("minKubeVersion")),
        "nativeAPIs": _kinds(spec.get("nativeAPIs")),
        "kinds": _kinds(each.value for each in bundle.properties if each.type == GVK),
        "requiredKinds": _kinds(each.value for each in bundle.properties if each.type == GVK_REQUIRED),
        "requiredPackages": _package_names(each.value for each in bundle.properties if each.type == PACKAGE_REQUIRED),
    }


def _package_names(values: Iterable[Any]) -> list[str]:
    """The packages that are required by name, each once."""
    names = (_text(_mapping(each).get("packageName")) for each in values)
    return list(dict.fromkeys(filter(None, names)))[:MAX_KINDS]


def _install_modes(values: Any) -> list[str]:
    """The names of the supported install modes."""
    listed = values[:MAX_LIST_ITEMS] if isinstance(values, list) else []
    return [name for each in listed if _mapping(each).get("supported") is True and (name := _text(each.get("type")))]


def _kinds(values: Any) -> list[str]:
    """Kinds as `<group>/<version>/<kind>`, each once."""
    found: dict[str, None] = {}
    for each in values if isinstance(values, Iterable) and not isinstance(values, str) else ():
        kind = _text(_mapping(each).get("kind"))
        if kind:
            found["/".join((_text(each.get("group")), _text(each.get("version")), kind))] = None
        if len(found) == MAX_KINDS:
            break
    return list(found)


def bundle_description(bundle: Bundle) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The fields of olm.csv.metadata, else of the spec of the CSV, which have mostly the same names, and the annotations."""
    for each in bundle.properties:
        if each.type == _CSV_METADATA_TYPE and isinstance(each.value, Mapping):
            return each.value, _mapping(each.value.get("annotations"))
    csv = bundle_objects.find_csv(each.value for each in bundle.properties if each.type == _BUNDLE_OBJECT_TYPE) or {}
    return _mapping(csv.get("spec")), _mapping(_mapping(csv.get("metadata")).get("annotations"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any, limit: int = MAX_TEXT_LENGTH) -> str:
    return _short(value, limit) if isinstance(value, str) else ""


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list):
        return []
    found = dict.fromkeys(_text(each).strip() for each in values)
    return [each for each in found if each][:MAX_LIST_ITEMS]


def _short(text: str, limit: int) -> str:
    """One line, at most `limit` characters."""
    line = " ".join(text[: 2 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
