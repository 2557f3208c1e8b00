"""One line of a list of packages: what a console shows before anybody looks closer. Pure.

Made by catalogd.ingest.package_index, served as /catalogs/<c>/api/v1/packages. A few hundred bytes per package, and no picture
but the way to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from olmkit.fbc import bundle_objects, catalog
from olmkit.fbc.catalog import Bundle, Channel, Deprecations, Package

MAX_DESCRIPTION_LENGTH = 200
"""Characters."""
MAX_TEXT_LENGTH = 100
"""Characters of a name, a provider, a category or a keyword."""
MAX_LIST_ITEMS = 20
"""Categories and keywords that are named."""
_CSV_METADATA, _OBJECT = "olm.csv.metadata", "olm.bundle.object"


@dataclass(frozen=True)
class ChannelHead:
    """The newest bundle of a channel: the one that no other replaces or skips."""

    name: str
    version: str


def channel_head(channel: Channel) -> str:
    """The name of the channel's head: the first entry that may be it, "" without entries. A bad graph has some head too."""
    replaced = {each for entry in channel.entries for each in (entry.replaces, *entry.skips)}
    heads = [entry.name for entry in channel.entries if entry.name not in replaced]
    return heads[0] if heads else channel.entries[0].name if channel.entries else ""


def package_summary(
    package: Package,
    heads: Mapping[str, ChannelHead | None],
    deprecations: Iterable[Deprecations],
    newest: Bundle | None,
    *,
    has_icon: bool,
) -> dict[str, Any]:
    """The line of one package: `heads` by channel, `newest` is that of the default channel. What is not known is left out."""
    told = _told(newest) if newest is not None else {}
    description = told.pop("description", "") or package.description
    line = {
        "name": package.name,
        **told,
        "description": _short(description, MAX_DESCRIPTION_LENGTH),
        "defaultChannel": package.default_channel,
        "channels": [_channel(name, head) for name, head in heads.items()],
        "deprecated": _deprecated(deprecations),
        "icon": f"packages/{quote(package.name, safe='')}/icon" if has_icon else "",
    }
    return {key: value for key, value in line.items() if value}


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


def _told(bundle: Bundle) -> dict[str, Any]:
    """What a bundle's CSV says of the operator, with olm.csv.metadata in its place where there is one."""
    spec, annotations = _description(bundle)
    return {
        "displayName": _text(spec.get("displayName")),
        "description": _text(annotations.get("description"), MAX_DESCRIPTION_LENGTH)
        or _text(spec.get("description"), MAX_DESCRIPTION_LENGTH),
        "provider": _text(_mapping(spec.get("provider")).get("name")),
        "categories": _texts(_text(annotations.get("categories"), 1000).split(",")),
        "keywords": _texts(spec.get("keywords")),
        "capability": _text(annotations.get("capabilities")),
    }


def _description(bundle: Bundle) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    for each in bundle.properties:
        if each.type == _CSV_METADATA and isinstance(each.value, Mapping):
            return each.value, _mapping(each.value.get("annotations"))
    csv = bundle_objects.find_csv(each.value for each in bundle.properties if each.type == _OBJECT) or {}
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
