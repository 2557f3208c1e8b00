"""The olm.csv.metadata property of a ClusterServiceVersion: what people browse, without what is only for installing. Pure.

Called by olmkit.fbc.bundle_blobs. The value is what opm writes: only the fields that its types have (olmkit.gocompat.types), in
their order, and of those that are empty only the ones it always writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from olmkit.gocompat import types

_TYPE: Final = "property.CSVMetadata"
_OF_SPEC = {
    "apiServiceDefinitions": "apiservicedefinitions",
    "crdDescriptions": "customresourcedefinitions",
}
"""Fields that the CSV's spec has under another name; all others have the same."""
_OF_METADATA = ("annotations", "labels")
_ALWAYS: Final[dict[str, frozenset[str]]] = {
    "v1alpha1.CRDDescription": frozenset({"name", "version", "kind"}),
    "v1alpha1.APIServiceDescription": frozenset({"name", "group", "version", "kind"}),
    "v1alpha1.APIResourceReference": frozenset({"name", "kind", "version"}),
    "v1alpha1.StatusDescriptor": frozenset({"path"}),
    "v1alpha1.SpecDescriptor": frozenset({"path"}),
    "v1alpha1.ActionDescriptor": frozenset({"path"}),
    "v1alpha1.InstallMode": frozenset({"type", "supported"}),
    "v1.GroupVersionKind": frozenset({"group", "version", "kind"}),
}
"""The fields of a type that are written also when they are empty. A mapping of fields always is."""
_EMPTY: Final[dict[str, Any]] = {"bool": False, "int32": 0}


def csv_metadata(csv: Mapping[str, Any]) -> dict[str, Any]:
    """The value. Raises ValueError in the words of Go's decoder when the CSV is not what its type says."""
    spec = csv.get("spec") or {}
    about = csv.get("metadata") or {}
    gathered = {name: spec.get(_OF_SPEC.get(name, name)) for name, _ in types.struct_fields(_TYPE)}
    gathered |= {name: about.get(name) for name in _OF_METADATA}
    if fault := types.decode_error(_TYPE, gathered):
        raise ValueError(fault)
    made: dict[str, Any] = _shaped(_TYPE, gathered)
    return made


def _shaped(of: str, value: Any) -> Any:
    """A value that fits the type, as Go writes it."""
    if fields := types.struct_fields(of):
        held = _by_name(fields, value or {})
        always = _ALWAYS.get(of, frozenset())
        made = {name: _shaped(inner, held.get(name)) for name, inner in fields}
        return {
            name: each
            for name, each in made.items()
            if name in always or types.struct_fields(dict(fields)[name]) or not _is_empty(dict(fields)[name], each)
        }
    if of.startswith("[]"):
        return [_shaped(of.removeprefix("[]"), each) for each in value or ()]
    if of.startswith("map[string]"):
        return {key: _shaped(of.removeprefix("map[string]"), (value or {})[key]) for key in sorted(value or {})}
    if of == "json":
        return value
    return _EMPTY.get(of, "") if value is None else value


def _is_empty(of: str, value: Any) -> bool:
    return value is None if of == "json" else not value


def _by_name(fields: tuple[tuple[str, str], ...], value: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the names of the fields, which Go finds in any case of the letters."""
    names = {name.casefold(): name for name, _ in fields}
    held = {names[key.casefold()]: each for key, each in value.items() if key.casefold() in names}
    return held | {name: value[name] for name, _ in fields if name in value}
