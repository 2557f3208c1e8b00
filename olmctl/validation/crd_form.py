"""A CustomResourceDefinition in the form that Kubernetes validates: with its defaults, and what all versions have in common moved
from the versions of a v1 definition into its spec. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.validation.loaded_bundle import V1BETA1, Document
from rukpak.format.objects import mapping

Schema = Mapping[str, Any]
NONE, WEBHOOK = "None", "Webhook"
_NESTED_MAPS = ("properties", "patternProperties", "definitions", "dependencies")
_NESTED_LISTS = ("allOf", "anyOf", "oneOf")
_NESTED = ("items", "additionalProperties", "additionalItems", "not")


@dataclass
class Parts:
    """The parts that a version has, or all versions: None is absent."""

    schema: Any = None
    subresources: Any = None
    columns: Any = None
    selectable_fields: Any = None


@dataclass
class Version:
    """A version of a definition."""

    name: str
    is_storage: bool
    deprecated: bool
    deprecation_warning: str | None
    parts: Parts


@dataclass
class Conversion:
    """The conversion between versions."""

    strategy: str
    client: Mapping[str, Any] | None = None
    review_versions: Sequence[str] = ()


@dataclass
class Definition:
    """A definition as Kubernetes validates it."""

    metadata: Mapping[str, Any]
    group: str
    version: str
    scope: str
    names: Mapping[str, Any]
    conversion: Conversion
    preserves_unknown_fields: bool
    versions: list[Version] = field(default_factory=list)
    common: Parts = field(default_factory=Parts)

    def schemas(self) -> Iterator[Schema]:
        """The schemas of all versions."""
        for parts in (self.common, *(each.parts for each in self.versions)):
            schema = mapping(parts.schema).get("openAPIV3Schema")
            if isinstance(schema, Mapping):
                yield schema


def definition_of(document: Document) -> Definition:
    """The definition in a document that Go's type accepts."""
    is_old = document.api_version == V1BETA1
    spec = document.spec
    versions = [_version(mapping(each), is_old) for each in spec.get("versions") or ()]
    first = spec.get("version") or "" if is_old else ""
    if is_old and not versions and first:
        versions = [Version(first, is_storage=True, deprecated=False, deprecation_warning=None, parts=Parts())]
    if not first and versions:
        first = versions[0].name
    made = Definition(
        metadata=_metadata(document.metadata),
        group=spec.get("group") or "",
        version=first,
        scope=spec.get("scope") or ("Namespaced" if is_old else ""),
        names=_names(mapping(spec.get("names"))),
        conversion=_conversion(spec.get("conversion"), is_old),
        preserves_unknown_fields=_preserves(spec.get("preserveUnknownFields"), is_old),
        versions=versions,
    )
    if is_old:
        made.common = _parts(spec, is_old, schema="validation")
    else:
        _move_common_parts(made)
    return made


def _preserves(value: Any, is_old: bool) -> bool:
    return is_old if value is None else bool(value)


def _metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata with empty texts for null, as Go reads them."""
    made = dict(metadata)
    for key in ("labels", "annotations"):
        if isinstance(made.get(key), Mapping):
            made[key] = {name: "" if value is None else value for name, value in made[key].items()}
    return made


def _names(names: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = names.get("kind") or ""
    return {
        "plural": names.get("plural") or "",
        "kind": kind,
        "singular": names.get("singular") or kind.lower(),
        "listKind": names.get("listKind") or (f"{kind}List" if kind else ""),
        "shortNames": [each or "" for each in names.get("shortNames") or ()],
        "categories": [each or "" for each in names.get("categories") or ()],
    }


def _conversion(conversion: Any, is_old: bool) -> Conversion:
    if conversion is None:
        return Conversion(NONE)
    strategy = conversion.get("strategy") or ""
    holder = conversion if is_old else mapping(conversion.get("webhook"))
    versions = [each or "" for each in holder.get("conversionReviewVersions") or ()]
    if is_old and strategy == WEBHOOK and not versions:
        versions = ["v1beta1"]
    return Conversion(strategy, holder.get("webhookClientConfig" if is_old else "clientConfig"), versions)


def _version(version: Mapping[str, Any], is_old: bool) -> Version:
    return Version(
        name=version.get("name") or "",
        is_storage=bool(version.get("storage")),
        deprecated=bool(version.get("deprecated")),
        deprecation_warning=version.get("deprecationWarning"),
        parts=_parts(version, is_old),
    )


def _parts(holder: Mapping[str, Any], is_old: bool, schema: str = "schema") -> Parts:
    columns = [
        {**mapping(each), "path": mapping(each).get("JSONPath" if is_old else "jsonPath") or ""}
        for each in holder.get("additionalPrinterColumns") or ()
    ]
    fields = [mapping(each).get("jsonPath") or "" for each in holder.get("selectableFields") or ()]
    return Parts(holder.get(schema), holder.get("subresources"), columns or None, fields or None)


def _move_common_parts(definition: Definition) -> None:
    """Move what is equal in all versions into the spec, as the conversion from v1 does."""
    versions = definition.versions
    for name in ("schema", "subresources", "columns", "selectable_fields"):
        values = [getattr(each.parts, name) for each in versions]
        if values and all(each == values[0] for each in values[1:]):
            setattr(definition.common, name, values[0])
            for each in versions:
                setattr(each.parts, name, None)


def has_default(schema: Any) -> bool:
    """Report whether a schema has a default anywhere."""
    pending = [schema]
    while pending:
        each = pending.pop()
        if not isinstance(each, Mapping):
            continue
        if each.get("default") is not None:
            return True
        for key in _NESTED_MAPS:
            pending += mapping(each.get(key)).values()
        for key in (*_NESTED_LISTS, *_NESTED):
            value = each.get(key)
            pending += value if isinstance(value, list) else [value]
    return False
