"""The Secrets and the ConfigMaps that the source of a Bundle as read names. Pure.

Without the model of the API, for events and webhooks: a change of one object asks this of all Bundles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api.content import SourceType


def named_secret(source: Mapping[str, Any]) -> str | None:
    """The Secret with the login; None if the source names none."""
    member = source.get(source["type"])
    if not isinstance(member, dict):
        return None
    name: str | None = member.get("pullSecret") or ((member.get("auth") or {}).get("secret") or {}).get("name")
    return name


def verification_inputs(source: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """The Secrets and ConfigMaps, kind and name, with the keys and roots that the signatures of the image are verified with."""
    if source["type"] != SourceType.IMAGE:
        return frozenset()
    found = set()
    for authority in ((source.get("image") or {}).get("verify") or {}).get("authorities") or ():
        key, root = authority.get("key") or {}, (authority.get("keyless") or {}).get("trustRoot") or {}
        found |= {("Secret", key["secret"]["name"])} if key.get("secret") else set()
        found |= {("ConfigMap", each["configMap"]["name"]) for each in (key, root) if each.get("configMap")}
    return frozenset(found)


def named_config_maps(source: Mapping[str, Any]) -> frozenset[str]:
    """The ConfigMaps with the files; empty for other types of sources."""
    members = (source.get("configMaps") or ()) if source["type"] == SourceType.CONFIG_MAPS else ()
    return frozenset(each["configMap"]["name"] for each in members)
