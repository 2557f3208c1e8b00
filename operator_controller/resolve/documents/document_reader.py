"""Reads a resolution document: `read_document(text) -> ReadDocument`, a package and the index of its bundles.

The document is decoded in one step, without the values of properties: publishers write those, and nobody has checked them. Equal
properties are read once, and a bundle is made when the solver or an explanation first needs it; dependency_versions.py ranks the
bundles without making them. catalogd writes the document itself (olmkit/fbc/resolution_document.py), so that one of another form
is an error of the whole document. A bundle that cannot be read is kept with its problem and never selected. The format is in
docs/catalogd-http.md.

The index is made from properties as their publisher wrote them. What cannot be read requires and owns nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from olmkit.fbc.schemas import DEPRECATED, GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.fields import canonical_keys
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Order, parse_bundle_version, plain_order
from operator_controller.resolve.package.package_content import (
    DEFAULT_MEDIA_TYPE,
    DEPENDENCY_TYPES,
    MAX_CHANNEL_ENTRIES,
    SHRINK_HINT,
    Bundle,
    Channel,
    GroupKind,
    GroupVersionKind,
    PackageContent,
    PackageTooLarge,
    Property,
    recording_problem,
    refuse_too_large,
)
from operator_controller.resolve.requirements.bundle_constraints import read_constraints
from operator_controller.resolve.requirements.constraints import rules_of

MAX_REQUIRED_NAMES = 1_000
"""Packages and kinds that all bundles of one package require, each counted once. Real packages require some tens."""

INDEXED_TYPES = frozenset({GVK, *DEPENDENCY_TYPES})
"""The types of properties that count; others require and own nothing."""
_GVK_FIELDS = frozenset(GroupVersionKind._fields)
MAX_SMALL_BYTES = 3 * MAX_CHANNEL_ENTRIES
"""A document of fewer bytes cannot exceed a limit of its entries: each takes at least three, and so does each named edge."""
MAX_PLAIN_PROPERTIES = 32
MAX_PLAIN_LENGTH = 256
"""A bundle with so many properties at most, whose requirements are so short, certainly can be recorded in an annotation."""
MAX_KEPT_RANGES = 4_096
"""Ranges of which it is kept whether they can be read."""


T = TypeVar("T")


@dataclass(frozen=True)
class PackageIndex:
    """The requirements and the owned kinds of the bundles of a package, all versions together."""

    packages: frozenset[str] = frozenset()
    """Packages that they require."""
    kinds: frozenset[GroupKind] = frozenset()
    """Kinds that they require."""
    owned: frozenset[GroupKind] = frozenset()
    requires_any: bool = False
    """A requirement may be met by a bundle of any package."""
    native_kinds: frozenset[str] = frozenset()
    """Native APIs that the cluster must serve, as `<group>/<version>/<kind>`."""
    requires_version: bool = False
    """A bundle has a minKubeVersion."""
    rules_length: int = 0
    """Characters of the different rules in CEL of the bundles."""
    is_unknown: bool = False
    """True if the record of a bundle that runs cannot be read: it may require any package that runs."""

    def merged(self, other: PackageIndex) -> PackageIndex:
        """Both together."""
        return PackageIndex(
            self.packages | other.packages,
            self.kinds | other.kinds,
            self.owned | other.owned,
            self.requires_any or other.requires_any,
            self.native_kinds | other.native_kinds,
            self.requires_version or other.requires_version,
            self.rules_length + other.rules_length,
            self.is_unknown or other.is_unknown,
        )


EMPTY_INDEX = PackageIndex()


def refuse_many_names(index: PackageIndex) -> None:
    """Raises PackageTooLarge if the bundles require more than MAX_REQUIRED_NAMES packages and kinds."""
    count = len(index.packages) + len(index.kinds)
    if count > MAX_REQUIRED_NAMES:
        raise PackageTooLarge(
            f"its bundles require {count:,} different packages and kinds, and at most {MAX_REQUIRED_NAMES:,} are resolved; "
            f"{SHRINK_HINT}"
        )


def index_properties(properties: Iterable[tuple[str, Any]]) -> PackageIndex:
    """The index of properties, given as types and values."""
    packages: set[str] = set()
    kinds: set[GroupKind] = set()
    owned: set[GroupKind] = set()
    rules: set[str] = set()
    requires_any = False
    for kind, value in properties:
        if kind == GVK:
            owned |= group_kind_of(value)
        elif kind == GVK_REQUIRED and (known := group_kind_of(value)):
            kinds |= known
        elif kind == PACKAGE_REQUIRED and isinstance(value, dict) and isinstance(value.get("packageName"), str):
            packages.add(value["packageName"])
        elif kind in INDEXED_TYPES:
            constraints = read_constraints([Property(kind, value)], checks_rules=False)
            scope = constraints.scope
            rules.update(rules_of([*constraints.required, *constraints.exclusions]))
            packages |= scope.packages
            kinds |= scope.kinds
            requires_any = requires_any or scope.any_package
    length = sum(map(len, rules))
    return PackageIndex(frozenset(packages), frozenset(kinds), frozenset(owned), requires_any, rules_length=length)


def group_kind_of(value: Any) -> set[GroupKind]:
    """The group and kind of the value of an olm.gvk property, or of a requirement of one, if it has them."""
    if not isinstance(value, dict):
        return set()
    fields = value if value.keys() <= _GVK_FIELDS else canonical_keys(value, GroupVersionKind._fields)
    group, kind = fields.get("group") or "", fields.get("kind")
    return {(group, kind)} if isinstance(group, str) and isinstance(kind, str) else set()


# --- documents


class InvalidDocument(ValueError):
    """The document is not of the form that catalogd writes. The message names the part and what to do."""


class MalformedDocument(InvalidDocument):
    """The text is no JSON."""


class _Value(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The base of values that have exactly these fields."""


class _PackageValue(_Value, frozen=True, gc=False, rename="camel"):
    package_name: str
    version_range: str


class _KindValue(_Value, frozen=True, gc=False):
    group: str
    version: str
    kind: str


class _RequiredPackage(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=PACKAGE_REQUIRED):
    value: _PackageValue


class _RequiredKind(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=GVK_REQUIRED):
    value: _KindValue


class _ProvidedKind(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=GVK):
    value: _KindValue


class _OtherProperty(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    value: msgspec.Raw = msgspec.Raw(b"null")


_UsualProperty = _RequiredPackage | _RequiredKind | _ProvidedKind
_Property = _UsualProperty | bytes
"""A property as typed value, or as the text of one of another form."""


class _BundleFields(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    image: str = ""
    version: str = ""
    release: str | None = None
    media_type: str = ""
    problem: str = ""
    min_kube_version: str = ""
    native_apis: tuple[_KindValue, ...] = msgspec.field(default=(), name="nativeAPIs")
    display_names: dict[str, str] = msgspec.field(default_factory=dict)


class _Bundle(_BundleFields, gc=False, rename="camel"):
    properties: tuple[msgspec.Raw, ...] = ()


class _UsualBundle(_BundleFields, gc=False, rename="camel"):
    """A bundle whose properties all have the usual form: nearly all have, and are decoded in one step with the document."""

    properties: tuple[_UsualProperty, ...] = ()


class _Reference(msgspec.Struct, frozen=True, gc=False):
    schema: str = ""
    name: str = ""


class _Deprecation(msgspec.Struct, frozen=True, gc=False):
    reference: _Reference
    message: str = ""


class _DocumentFields(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    package: str = ""
    digest: str = ""
    catalog_digest: str = ""
    default_channel: str = ""
    channels: tuple[Channel, ...] = ()
    deprecations: tuple[_Deprecation, ...] = ()
    display_names: dict[str, str] = msgspec.field(default_factory=dict)
    too_large: str = ""


class _Document(_DocumentFields, frozen=True, gc=False, rename="camel"):
    bundles: tuple[_Bundle, ...] = ()


class _UsualDocument(_DocumentFields, frozen=True, gc=False, rename="camel"):
    bundles: tuple[_UsualBundle, ...] = ()


class _OwningBundle(msgspec.Struct, frozen=True, gc=False):
    properties: tuple[msgspec.Raw, ...] = ()


class _Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    package: str = ""
    digest: str = ""
    catalog_digest: str = ""
    channels: tuple[msgspec.Raw, ...] = ()
    bundles: tuple[msgspec.Raw, ...] = ()
    deprecations: tuple[msgspec.Raw, ...] = ()


_USUAL_DOCUMENT = msgspec.json.Decoder(_UsualDocument)
_DOCUMENT, _ENVELOPE = msgspec.json.Decoder(_Document), msgspec.json.Decoder(_Envelope)
_OWNING_BUNDLE = msgspec.json.Decoder(_OwningBundle)
_USUAL: msgspec.json.Decoder[_UsualProperty] = msgspec.json.Decoder(_UsualProperty)
_OTHER = msgspec.json.Decoder(_OtherProperty)
_GVK_TEXT = msgspec.json.encode(GVK)


@dataclass(frozen=True)
class ReadDocument:
    """A package with the index of its bundles, the digest of its document and that of the catalog, and the bytes of its text."""

    content: PackageContent
    index: PackageIndex
    digest: str
    catalog_digest: str
    size: int


@dataclass(frozen=True)
class DocumentEnvelope:
    """The names that identify a document, and the kinds that its bundles provide."""

    package: str
    digest: str
    catalog_digest: str
    owned: Collection[GroupKind]


def read_document(text: bytes) -> ReadDocument:
    """Raises InvalidDocument, and PackageTooLarge before any edge is built."""
    document: _UsualDocument | _Document
    try:
        document = _USUAL_DOCUMENT.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        document = _decoded(_DOCUMENT, text)
    if document.too_large:
        raise PackageTooLarge(document.too_large)
    if len(text) > MAX_SMALL_BYTES:
        _check_limits(document.channels)
    deprecated: dict[str, dict[str, str]] = {"olm.package": {}, "olm.channel": {}, "olm.bundle": {}}
    for each in document.deprecations:
        if each.reference.schema in deprecated:
            deprecated[each.reference.schema][each.reference.name] = each.message
    bundles = DocumentBundles(document.bundles, document.display_names)
    content = PackageContent(
        name=document.package,
        default_channel=document.default_channel,
        channels=document.channels,
        bundles=bundles,
        deprecated_bundles={**bundles.deprecated, **deprecated["olm.bundle"]},
        deprecated_channels=deprecated["olm.channel"],
        deprecation=next(iter(deprecated["olm.package"].values()), None),
    )
    return ReadDocument(content, bundles.index, document.digest, document.catalog_digest, len(text))


def read_package(document: Any) -> PackageContent:
    """The package of a document that was parsed before. Raises InvalidDocument and PackageTooLarge."""
    try:
        text = msgspec.json.encode(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDocument(f"it is no JSON: {error}") from error
    return read_document(text).content


def read_envelope(text: bytes) -> DocumentEnvelope:
    """Read what identifies a document. A bundle of another form provides nothing: read_document reports it.

    Raises InvalidDocument.
    """
    found = _decoded(_ENVELOPE, text)
    kinds: set[bytes] = set()
    for bundle in map(bytes, found.bundles):
        with suppress(InvalidDocument):
            kinds.update(each for each in map(bytes, _decoded(_OWNING_BUNDLE, bundle).properties) if _GVK_TEXT in each)
    distinct: dict[bytes, _Property] = {}
    for each in kinds:
        with suppress(InvalidDocument):
            _distinct(each, distinct)
    return DocumentEnvelope(found.package, found.digest, found.catalog_digest, _index((), distinct.values()).owned)


def _decoded(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    """Raises InvalidDocument."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        message = f"{error}; catalogd and operator-controller have to be of the same version"
        raise InvalidDocument(message) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise MalformedDocument(f"it is no JSON: {error}") from error


def _check_limits(channels: Iterable[Channel]) -> None:
    """Raises PackageTooLarge."""
    entries = [entry for channel in channels for entry in channel.entries]
    edges = sum(bool(entry.replaces) + len(entry.skips) for entry in entries)
    refuse_too_large(len(entries), edges, (entry.skip_range for entry in entries))


class DocumentBundles(Mapping[str, Bundle]):
    """The bundles of a package by name; of several of one name the last. Each is made when it is first requested.

    Raises InvalidDocument for a property of another form.
    """

    def __init__(self, bundles: Sequence[_UsualBundle | _Bundle], common_names: Mapping[str, str]) -> None:
        self._read: dict[str, _BundleFields] = {each.name: each for each in bundles}
        self._common_names = common_names
        self._made: dict[str, Bundle] = {}
        known: dict[bytes, _Property] = {}
        listed = [_listed(each, known) for each in bundles]
        self._properties = {each.name: properties for each, properties in zip(bundles, listed, strict=True)}
        """Those of another form are decoded when their bundle is made."""
        distinct = set[_Property]().union(*listed)
        others = [(each, _type_of(each)) for each in distinct if type(each) is bytes]
        unusual = {each for each in distinct if type(each) is not bytes and not _is_plain(each)}
        unusual.update(each for each, kind in others if kind in DEPENDENCY_TYPES)
        self._unusual = _unusual_bundles(bundles, listed, unusual)
        """The bundles that have to be made to know whether they can be installed."""
        self.index = _index(bundles, distinct)
        """Requirements and owned kinds of all bundles."""
        marks = {each for each, kind in others if kind == DEPRECATED}
        self.deprecated = {name: "" for name, each in self._properties.items() if marks and not marks.isdisjoint(each)}
        """The bundles that a property marks as deprecated, with the message of each: none."""

    def __getitem__(self, name: str) -> Bundle:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(self._read[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    def __contains__(self, name: object) -> bool:
        return name in self._read

    def order(self, name: str) -> Order | None:
        """The place of the version of a bundle among all versions; None if the bundle is not here or cannot be read."""
        read = self._read.get(name)
        if read is None:
            return None
        if name not in self._unusual and (found := plain_order(read.version)):
            return found
        version = self[name].version
        return version.order if version is not None else None

    def needs_check(self, name: str) -> bool:
        """Report whether the bundle has requirements of the cluster itself, or may have some that cannot be read."""
        read = self._read[name]
        return bool(read.min_kube_version or read.native_apis) or name in self._unusual

    def _make(self, read: _BundleFields) -> Bundle:
        properties = tuple(map(_property, self._properties[read.name]))
        problem, version = read.problem, None
        try:
            version = parse_bundle_version(read.version, read.release)
        except BadVersion as error:
            problem = problem or str(error)
        problem = problem or ("" if read.image else "it names no image")
        if read.name in self._unusual:
            problem = problem or recording_problem(properties)
        native = [GroupVersionKind(each.group, each.version, each.kind) for each in read.native_apis if each.kind]
        names = self._common_names
        return Bundle(
            name=read.name,
            image=read.image,
            version=None if problem else version,
            media_type=read.media_type or DEFAULT_MEDIA_TYPE,
            properties=properties,
            problem=problem,
            min_kube_version=read.min_kube_version,
            native_apis=tuple(native),
            display_names={**names, **read.display_names} if read.display_names else names,
        )


def _listed(bundle: _UsualBundle | _Bundle, known: dict[bytes, _Property]) -> tuple[_Property, ...]:
    """The properties of a bundle, which is not to keep the text of the document. Raises InvalidDocument."""
    if isinstance(bundle, _UsualBundle):
        return bundle.properties
    found = tuple([_distinct(bytes(each), known) for each in bundle.properties])
    bundle.properties = ()
    return found


def _distinct(text: bytes, known: dict[bytes, _Property]) -> _Property:
    """The property of this text, equal ones once. Raises InvalidDocument."""
    found = known.get(text)
    if found is None:
        try:
            found = _USUAL.decode(text)
        except msgspec.ValidationError:
            _decoded(_OTHER, text)
            found = text
        known[text] = found
    return found


def _property(read: _Property) -> Property:
    if isinstance(read, bytes):
        other = _OTHER.decode(read)
        return Property(other.type, msgspec.json.decode(other.value))
    return Property(_type_of(read), msgspec.to_builtins(read.value))


def _type_of(read: _Property) -> str:
    return _OTHER.decode(read).type if isinstance(read, bytes) else str(read.__struct_config__.tag)


def _unusual_bundles(
    bundles: Iterable[_BundleFields], listed: Iterable[Sequence[_Property]], unusual: Collection[_Property]
) -> Collection[str]:
    """The names of those of which it is not certain without making them that they can be read, recorded and installed.

    `listed` are the properties of each, `unusual` those that may be invalid or too long.
    """
    return {
        each.name
        for each, properties in zip(bundles, listed, strict=True)
        if not each.image
        or each.problem
        or each.release
        or len(properties) > MAX_PLAIN_PROPERTIES
        or (unusual and any(one in unusual for one in properties))
    }


def _is_plain(read: _Property) -> bool:
    """Report whether it is no requirement, or the short one of a package or of a kind that can be read."""
    if isinstance(read, _RequiredPackage):
        required = read.value
        length = len(required.package_name) + len(required.version_range)
        return bool(required.package_name) and length <= MAX_PLAIN_LENGTH and _is_range(required.version_range)
    if isinstance(read, _RequiredKind):
        parts = (read.value.group, read.value.version, read.value.kind)
        return all(parts) and sum(map(len, parts)) <= MAX_PLAIN_LENGTH
    return True


@lru_cache(maxsize=MAX_KEPT_RANGES)
def _is_range(text: str) -> bool:
    try:
        BlangRange.parse(text)
    except BadRange:
        return False
    return bool(text)


def _index(bundles: Iterable[_BundleFields], properties: Collection[_Property]) -> PackageIndex:
    """Make the index of what the bundles require and own together. `properties` are those of all bundles, equal ones once."""
    counted = (each for each in properties if type(each) is bytes and _type_of(each) in INDEXED_TYPES)
    others = index_properties((each.type, each.value) for each in map(_property, counted))
    packages = {each.value.package_name for each in properties if type(each) is _RequiredPackage}
    kinds = {(each.value.group, each.value.kind) for each in properties if type(each) is _RequiredKind}
    owned = {(each.value.group, each.value.kind) for each in properties if type(each) is _ProvidedKind}
    native = [kind for each in bundles if each.native_apis for kind in each.native_apis]
    return replace(
        others,
        packages=others.packages | packages,
        kinds=others.kinds | kinds,
        owned=others.owned | owned,
        native_kinds=frozenset(f"{kind.group}/{kind.version}/{kind.kind}" for kind in native),
        requires_version=any([each.min_kube_version for each in bundles]),
    )
