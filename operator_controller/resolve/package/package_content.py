"""One package of one catalog: channels, entries, bundles with versions, deprecations.

Values alone, and what of a bundle its BundleDeployment records. A bundle with a problem is never selected. Pure.

Bundle, Channel, Entry and Property are the part of one package that resolution needs, with parsed versions. olmkit.fbc.catalog
has classes of the same names for the publisher's blobs in full, as opm reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from olmkit.fbc.schemas import CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from olmkit.gocompat.versions import Version

DEPENDENCY_TYPES = (PACKAGE_REQUIRED, GVK_REQUIRED, CONSTRAINT)
DEFAULT_MEDIA_TYPE = "registry+v1"
MAX_CHANNEL_ENTRIES = 50_000
"""Entries of all channels of one package. The largest real packages have some hundreds."""
MAX_NAMED_EDGES = 1_000_000
"""Names in `replaces` and `skips` of all entries of one package."""
MAX_RANGE_COMPARISONS = 200_000
"""Comparisons in the skipRanges of all entries of one package: four for each of MAX_CHANNEL_ENTRIES. Real entries have two."""

DISPLAY_NAMES = "operators.operatorframework.io/display-names"
"""The type of the recorded property with the display names of the provided kinds. Catalogs do not contain it."""
MAX_RECORDED_PROPERTIES_BYTES = 131_072
"""Bytes of the annotation that records a bundle's properties. The API server allows twice that for all annotations together."""
MAX_RECORDED_DEPTH = 250
"""Levels of nesting in that annotation. Catalogs permit no more."""
_MAX_SHORT_DEPENDENCIES = 32
"""As many dependencies of 4 KiB each certainly fit."""
SHRINK_HINT = "ask its publisher to remove old entries"


class PackageTooLarge(ValueError):
    """The package exceeds a limit of resolution. The message says which, by how much, and what to do."""


class Entry(msgspec.Struct, frozen=True, gc=False, rename={"skip_range": "skipRange"}):
    """One entry of a channel: a bundle by name, and the bundles that it upgrades."""

    name: str = ""
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""


class Channel(msgspec.Struct, frozen=True, gc=False):
    """An upgrade channel."""

    name: str = ""
    entries: tuple[Entry, ...] = ()


GroupKind = tuple[str, str]


class GroupVersionKind(NamedTuple):
    """A kind of the Kubernetes API; the core group is ""."""

    group: str
    version: str
    kind: str

    @property
    def group_kind(self) -> GroupKind:
        """The kind in any version."""
        return self.group, self.kind

    def __str__(self) -> str:
        return f"{self.group}/{self.version} {self.kind}" if self.group else f"{self.version} {self.kind}"


_GVK_FIELDS = frozenset(GroupVersionKind._fields)


@dataclass(frozen=True)
class Property:
    """A property of a bundle; `value` is JSON as read."""

    type: str
    value: Any


@dataclass(frozen=True)
class Bundle:
    """One version of the package. A bundle without a version has a problem and is never selected."""

    name: str
    image: str
    version: Version | None
    media_type: str = DEFAULT_MEDIA_TYPE
    properties: tuple[Property, ...] = ()
    problem: str = ""
    min_kube_version: str = ""
    """The least version of Kubernetes, as its CSV has it."""
    native_apis: tuple[GroupVersionKind, ...] = ()
    """Kinds that the cluster must serve without it."""
    display_names: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Names for people of kinds that it may provide, by `<group>/<version>/<kind>`. Its provided kinds need not have one."""

    @property
    def dependencies(self) -> tuple[Property, ...]:
        """The requirements of the bundle on other packages."""
        return tuple(entry for entry in self.properties if entry.type in DEPENDENCY_TYPES)

    def rule_properties(self, package: str) -> list[dict[str, Any]]:
        """The properties that the rule of an olm.constraint sees: olm.package and those that its catalog lists."""
        identity = {"packageName": package, "version": "" if self.version is None else str(self.version)}
        listed = [{"type": entry.type, "value": entry.value} for entry in self.properties]
        return [{"type": PACKAGE, "value": identity}, *listed]

    @cached_property
    def provided_kinds(self) -> frozenset[GroupVersionKind]:
        """The kinds that it provides. Invalid olm.gvk properties are ignored: opm refuses them."""
        return frozenset(found for entry in self.properties if entry.type == GVK and (found := kind_of(entry.value)))

    def with_image(self, image: str) -> Bundle:
        """The same bundle from another registry."""
        return replace(self, image=image)

    @cached_property
    def recorded_properties(self) -> str:
        """JSON of the dependencies, the provided kinds and their display names, in this order.

        The dependencies are complete: a bundle with too many has a problem. Kinds and names beyond the size limit are left
        out, names first.
        """
        kinds = [entry for entry in self.properties if entry.type == GVK]
        provided = {f"{kind.group}/{kind.version}/{kind.kind}" for kind in self.provided_kinds}
        names = {kind: name for kind, name in sorted(self.display_names.items()) if kind in provided}
        kept: list[str] = []
        size = 2
        for entry in (*self.dependencies, *kinds, *([Property(DISPLAY_NAMES, names)] if names else [])):
            text = _as_json(entry)
            size += len(text) + 1
            if size <= MAX_RECORDED_PROPERTIES_BYTES:
                kept.append(text)
        return f"[{','.join(kept)}]"


def parse_recorded_properties(text: str) -> list[dict[str, Any]]:
    """The items of Bundle.recorded_properties, those that are mappings.

    A person can edit the annotation: empty if it is no JSON list, names characters that UTF-8 cannot hold, or nests too deep.
    """
    return [each for each in _recorded_list(text) or () if isinstance(each, dict)]


def is_recorded_list(text: str) -> bool:
    """Report whether the text can be read as Bundle.recorded_properties writes it. If not, the requirements are not known."""
    found = _recorded_list(text)
    return found is not None and all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in found)


def _recorded_list(text: str) -> list[Any] | None:
    """The list in the text, empty without an annotation; None if there is no list that can be read."""
    if not text.strip():
        return []
    try:
        found = msgspec.json.decode(text)  # the reader of candidates: it accepts integers of the same length
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    is_deep = text.count("[") + text.count("{") > MAX_RECORDED_DEPTH and _is_deep(found)
    return found if isinstance(found, list) and not is_deep else None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_RECORDED_DEPTH):
        parts = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for each in parts for inner in each]
    return any(isinstance(each, dict | list) for each in level)


def recorded_display_names(properties: Iterable[Property]) -> dict[str, str]:
    """The display names in recorded properties, by `<group>/<version>/<kind>`."""
    found = next((entry.value for entry in properties if entry.type == DISPLAY_NAMES), None)
    return display_names_of(found)


@dataclass(frozen=True)
class PackageContent:
    """Everything in a catalog that resolution needs of one package."""

    name: str
    default_channel: str
    channels: tuple[Channel, ...]
    bundles: Mapping[str, Bundle]
    deprecated_bundles: Mapping[str, str]
    """Message by bundle name; "" for a bundle that only its property olm.deprecated marks."""
    deprecated_channels: Mapping[str, str] = field(default_factory=dict)
    """Message by channel name. Deprecated packages and channels do not affect resolution."""
    deprecation: str | None = None
    """Message of the deprecation of the package itself; None if it is not deprecated."""

    def channel(self, name: str) -> Channel | None:
        """The channel of that name."""
        return next((channel for channel in self.channels if channel.name == name), None)


def refuse_too_large(entries: int, edges: int, ranges: Iterable[str]) -> None:
    """Raise PackageTooLarge for that many entries and named edges, and for these skipRanges, which may be empty."""
    comparisons = sum(text.count(" ") + 1 for text in ranges if text)
    for count, limit, what in (
        (entries, MAX_CHANNEL_ENTRIES, "entries in its channels"),
        (edges, MAX_NAMED_EDGES, "names in replaces and skips"),
        (comparisons, MAX_RANGE_COMPARISONS, "comparisons in its skipRanges"),
    ):
        if count > limit:
            raise PackageTooLarge(f"it has {count:,} {what}, and at most {limit:,} are resolved; {SHRINK_HINT}")


def recording_problem(properties: Iterable[Property]) -> str:
    """Explain why the dependencies cannot be recorded in an annotation; "" if they can. What is not recorded would be
    forgotten."""
    dependencies = [entry for entry in properties if entry.type in DEPENDENCY_TYPES]
    if all(map(_is_short, dependencies)) and len(dependencies) <= _MAX_SHORT_DEPENDENCIES:
        return ""
    try:
        texts = [_as_json(each) for each in dependencies]
    except RecursionError:
        return "its requirements are nested too deep"
    size = 2 + sum(len(each) + 1 for each in texts)
    if size <= MAX_RECORDED_PROPERTIES_BYTES:
        return "" if is_recorded_list(f"[{','.join(texts)}]") else "its requirements are nested too deep"
    return (
        f"its requirements take {size:,} bytes, and at most {MAX_RECORDED_PROPERTIES_BYTES:,} are recorded; "
        "ask its publisher to shorten them"
    )


def _is_short(entry: Property) -> bool:
    """Report whether the property certainly takes less than 4 KiB as JSON, where a character takes up to 12 bytes: nearly all
    do."""
    value = entry.value
    if type(value) is not dict or len(value) > 4:
        return False
    try:
        return len("".join(value)) + len("".join(value.values())) < 256
    except TypeError:
        return False


def _as_json(entry: Property) -> str:
    return json.dumps({"type": entry.type, "value": entry.value}, sort_keys=True, separators=(",", ":"))


def display_names_of(value: Any) -> dict[str, str]:
    """The names in a mapping of any form."""
    found = value if isinstance(value, dict) else {}
    return {kind: name for kind, name in found.items() if isinstance(kind, str) and isinstance(name, str)}


def kind_of(value: Any) -> GroupVersionKind | None:
    """The kind that a property or a native API names; None if it cannot be read."""
    if not isinstance(value, dict):
        return None
    fields = value if _GVK_FIELDS.issuperset(value) else canonical_keys(value, _GVK_FIELDS)
    group, version, kind = fields.get("group") or "", fields.get("version") or "", fields.get("kind") or ""
    if not (isinstance(group, str) and isinstance(version, str) and isinstance(kind, str) and kind):
        return None
    return GroupVersionKind(group, version, kind)
