"""Reads from a CSV what it requires of the cluster and the kinds that it owns: from olm.csv.metadata or the CSV among the
objects.

Nothing here has been checked before: values of another form are ignored. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from olmkit.fbc import bundle_objects
from olmkit.gocompat.fields import field

MAX_DISPLAY_NAMES, MAX_DISPLAY_NAME_LENGTH = 1_000, 100
"""Names of kinds of one bundle, and characters of each; longer ones are cut."""


_MAX_DAY_TEXT = 100
_DAY = re.compile(r"\s*(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?!\d)", re.ASCII)


class ClusterRequirements(NamedTuple):
    """The requirements of a bundle on a cluster; "" and () where it requires nothing, or its requirements are unknown."""

    min_kube_version: str = ""
    native_apis: tuple[tuple[str, str, str], ...] = ()
    """Group, version and kind of the native APIs that it requires, each once."""


def requirements_of_metadata(metadata: Mapping[str, Any]) -> ClusterRequirements:
    """The requirements in an olm.csv.metadata."""
    return ClusterRequirements(_text(metadata, "minKubeVersion"), _native_apis(metadata))


def requirements_of_csv(values: Iterable[Any]) -> ClusterRequirements:
    """The requirements of the CSV among the values of olm.bundle.object properties."""
    csv = bundle_objects.find_csv(values, _has_requirements)
    spec = csv.get("spec") if csv is not None else None
    if not isinstance(spec, Mapping):
        return ClusterRequirements()
    return ClusterRequirements(_text(spec, "minKubeVersion"), _native_apis(spec))


def date_of(annotations: Mapping[str, Any]) -> str:
    """The day in the annotation createdAt of a CSV, such as 2026-01-31; "" if it does not begin with one."""
    text = annotations.get("createdAt")
    found = _DAY.match(text[:_MAX_DAY_TEXT]) if isinstance(text, str) else None
    return found[1] if found else ""


def display_names_of_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Display names of owned kinds by `<group>/<version>/<kind>`, without those that equal the kind."""
    names: dict[str, str] = {}
    for key in ("crdDescriptions", "apiServiceDefinitions"):
        for each in _owned(metadata, key):
            kind, name = _text(each, "kind"), _text(each, "displayName")
            if name.strip() in ("", kind) or not kind or len(names) == MAX_DISPLAY_NAMES:
                continue
            group = _text(each, "name").partition(".")[2] if key == "crdDescriptions" else _text(each, "group")
            names[f"{group}/{_text(each, 'version')}/{kind}"] = " ".join(name.split())[:MAX_DISPLAY_NAME_LENGTH]
    return names


def _has_requirements(text: bytes) -> bool:
    """Report whether this text of a CSV may contain requirements. Most CSVs do not, and are not parsed."""
    return any(each in text for each in (b"minKubeVersion", b"nativeAPIs"))


def _native_apis(spec: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    found = (
        (_text(each, "group"), _text(each, "version"), _text(each, "kind")) for each in _listed(spec, "nativeAPIs")
    )
    return tuple(dict.fromkeys(found))


def _owned(spec: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    definitions = field(spec, key)
    return _listed(definitions, "owned") if isinstance(definitions, Mapping) else []


def _listed(holder: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The mappings in a list."""
    found = field(holder, key)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _text(holder: Mapping[str, Any], key: str) -> str:
    text = holder.get(key) or field(holder, key)
    return text if isinstance(text, str) else ""
