"""Resolution documents of the usual form: decoded from their JSON in one step, and their bundles made when they are reached.

dependency_versions.py ranks the bundles without making them. Nearly all documents have this form. Whatever else JSON may contain
raises AnotherForm: parsed_document_reader.py then reads the whole document, and says what is wrong with it. Both give the same
package. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from olmkit.fbc.schemas import CONSTRAINT, DEPRECATED, GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Order, parse_bundle_version, plain_order
from operator_controller.resolve.documents.package_index import PackageIndex, index_properties
from operator_controller.resolve.package.package_content import (
    DEFAULT_MEDIA_TYPE,
    MAX_CHANNEL_ENTRIES,
    Bundle,
    Channel,
    GroupVersionKind,
    PackageContent,
    PackageTooLarge,
    Property,
    recording_problem,
    refuse_too_large,
)
from operator_controller.resolve.requirements.bundle_constraints import BundleConstraints, keep_constraints
from operator_controller.resolve.requirements.constraints import Constraint, KindConstraint, PackageConstraint

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Bytes of a document that is decoded here: those that were parsed whole when they were received."""
MAX_SMALL_BYTES = 3 * MAX_CHANNEL_ENTRIES
"""A document of fewer bytes cannot exceed a limit of its entries: each takes at least three, and so does each named edge."""
MAX_PLAIN_PROPERTIES = 32
MAX_PLAIN_NAME_LENGTH = 64
MAX_PLAIN_RANGE_LENGTH = 64
"""A bundle with so many properties at most, whose requirements are so short, certainly can be recorded in an annotation."""

MAX_KEPT_RANGES = 4_096
"""Ranges of which it is kept whether they can be read."""


class AnotherForm(ValueError):
    """The document is to be read by read_package."""


class _Value(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The base of values that have exactly these fields."""


class _PackageValue(_Value, frozen=True, gc=False, rename="camel"):
    package_name: str
    version_range: str


class _KindValue(_Value, frozen=True, gc=False):
    group: str
    version: str
    kind: str

    @property
    def known(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)


class _RequiredPackage(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=PACKAGE_REQUIRED):
    value: _PackageValue


class _RequiredKind(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=GVK_REQUIRED):
    value: _KindValue


class _ProvidedKind(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=GVK):
    value: _KindValue


class _Constraint(msgspec.Struct, frozen=True, eq=False, tag_field="type", tag=CONSTRAINT):
    value: Any = None


class _MaxOpenShiftVersion(msgspec.Struct, frozen=True, eq=False, tag_field="type", tag="olm.maxOpenShiftVersion"):
    value: Any = None


class _Deprecated(msgspec.Struct, frozen=True, eq=False, tag_field="type", tag=DEPRECATED):
    value: Any = None


_PropertyText = _RequiredPackage | _RequiredKind | _ProvidedKind | _Constraint | _MaxOpenShiftVersion | _Deprecated


class _BundleText(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    image: str = ""
    version: str = ""
    release: str | None = None
    media_type: str = ""
    problem: str = ""
    min_kube_version: str = ""
    native_apis: tuple[_KindValue, ...] = msgspec.field(default=(), name="nativeAPIs")
    display_names: dict[str, str] = msgspec.field(default_factory=dict)
    properties: tuple[_PropertyText, ...] = ()


class _Reference(msgspec.Struct, frozen=True, gc=False):
    schema: str = ""
    name: str = ""


class _Deprecation(msgspec.Struct, frozen=True, gc=False):
    reference: _Reference
    message: str = ""


class _Document(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    package: str = ""
    digest: str = ""
    catalog_digest: str = ""
    default_channel: str = ""
    channels: tuple[Channel, ...] = ()
    bundles: tuple[_BundleText, ...] = ()
    deprecations: tuple[_Deprecation, ...] = ()
    display_names: dict[str, str] = msgspec.field(default_factory=dict)
    too_large: str = ""


_DECODER = msgspec.json.Decoder(_Document)


@dataclass(frozen=True)
class TextPackage:
    """A package with the index of its bundles."""

    content: PackageContent
    index: PackageIndex


def read_package_text(text: bytes, package: str, digest: str, content: str) -> TextPackage:
    """The package of a document with this name and digest, of a content. Raises AnotherForm and PackageTooLarge."""
    if len(text) > MAX_TEXT_BYTES:
        raise AnotherForm
    try:
        document = _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise AnotherForm from error
    if (document.package, document.digest, document.catalog_digest) != (package, digest, content):
        raise AnotherForm
    if document.too_large:
        raise PackageTooLarge(document.too_large)
    if len(text) > MAX_SMALL_BYTES:
        _check_limits(document.channels)
    deprecated: dict[str, dict[str, str]] = {"olm.package": {}, "olm.channel": {}, "olm.bundle": {}}
    for each in document.deprecations:
        if each.reference.schema in deprecated:
            deprecated[each.reference.schema][each.reference.name] = each.message
    bundles = TextBundles(document.bundles, document.display_names)
    found = PackageContent(
        name=document.package,
        default_channel=document.default_channel,
        channels=document.channels,
        bundles=bundles,
        deprecated_bundles={**bundles.deprecated, **deprecated["olm.bundle"]},
        deprecated_channels=deprecated["olm.channel"],
        deprecation=next(iter(deprecated["olm.package"].values()), None),
    )
    return TextPackage(found, bundles.index)


def _check_limits(channels: Iterable[Channel]) -> None:
    """Raises PackageTooLarge."""
    entries = [entry for channel in channels for entry in channel.entries]
    edges = sum(bool(entry.replaces) + len(entry.skips) for entry in entries)
    refuse_too_large(len(entries), edges, (entry.skip_range for entry in entries))


class TextBundles(Mapping[str, Bundle]):
    """The bundles of a package by name; of several of one name the last. Each is made when it is first requested."""

    def __init__(self, texts: Sequence[_BundleText], common_names: Mapping[str, str]) -> None:
        self._texts = {text.name: text for text in texts}
        self._common_names = common_names
        self._made: dict[str, Bundle] = {}
        properties = set[_PropertyText]().union(*[text.properties for text in texts])
        self._unusual = _unusual_bundles(texts, properties)
        """The bundles that have to be made to know whether they can be installed."""
        self.index = _index(texts, properties)
        """The kinds and packages that all bundles require and own."""
        any_marked = any(type(each) is _Deprecated for each in properties)
        self.deprecated = {name: "" for name, text in self._texts.items() if _is_marked(text)} if any_marked else {}
        """The bundles that a property marks as deprecated, with the message of each: none."""

    def __getitem__(self, name: str) -> Bundle:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = _TextBundle(self._texts[name], self._common_names, name in self._unusual)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def order(self, name: str) -> Order | None:
        """The place of the version of a bundle among all versions; None if the bundle is not here or cannot be read."""
        text = self._texts.get(name)
        if text is None:
            return None
        if name not in self._unusual and (found := plain_order(text.version)):
            return found
        version = self[name].version
        return version.order if version is not None else None

    def needs_check(self, name: str) -> bool:
        """Report whether the bundle has requirements of the cluster itself, or may have some that cannot be read."""
        text = self._texts[name]
        return bool(text.min_kube_version or text.native_apis) or name in self._unusual


def _unusual_bundles(texts: Iterable[_BundleText], properties: Iterable[_PropertyText]) -> Collection[str]:
    """The names of those of which it is not certain without making them that they can be read, recorded and installed.

    `properties` are those of all bundles, equal ones once.
    """
    required = [each.value for each in properties if type(each) is _RequiredPackage]
    are_plain = _are_plain(required)  # nearly always, and faster than one by one
    unusual = {each for each in properties if not ((are_plain and type(each) is _RequiredPackage) or _is_plain(each))}
    return {
        text.name
        for text in texts
        if not text.image
        or text.problem
        or text.release
        or len(text.properties) > MAX_PLAIN_PROPERTIES
        or (unusual and not unusual.isdisjoint(text.properties))
    }


def _are_plain(required: Iterable[_PackageValue]) -> bool:
    """Report whether all are short values of requirements that can be read."""
    lengths = {len(each.package_name) for each in required}
    return all(0 < each <= MAX_PLAIN_NAME_LENGTH for each in lengths) and all(
        map(_is_plain_range, [each.version_range for each in required])
    )


def _is_plain(each: _PropertyText) -> bool:
    """Report whether it is no requirement, or the short value of one that can be read."""
    if type(each) is _RequiredPackage:
        return _are_plain([each.value])
    if type(each) is _RequiredKind:
        return _is_plain_kind(each.value)
    return type(each) is not _Constraint


def _index(texts: Iterable[_BundleText], properties: Iterable[_PropertyText]) -> PackageIndex:
    """Make the index of what the bundles require and own together. `properties` are those of all bundles, equal ones once."""
    required = {each.value.package_name for each in properties if type(each) is _RequiredPackage}
    rest = [each for each in properties if type(each) is not _RequiredPackage]
    constraints = index_properties((CONSTRAINT, each.value) for each in rest if type(each) is _Constraint)
    native = [kind for text in texts if text.native_apis for kind in text.native_apis]
    return PackageIndex(
        packages=constraints.packages | required,
        kinds=constraints.kinds | {(each.value.group, each.value.kind) for each in rest if type(each) is _RequiredKind},
        owned=frozenset((each.value.group, each.value.kind) for each in rest if type(each) is _ProvidedKind),
        requires_any=constraints.requires_any,
        native_kinds=frozenset(f"{kind.group}/{kind.version}/{kind.kind}" for kind in native),
        requires_version=any([text.min_kube_version for text in texts]),
        rules_length=constraints.rules_length,
    )


def _is_marked(text: _BundleText) -> bool:
    return any(type(each) is _Deprecated for each in text.properties)


@lru_cache(maxsize=MAX_KEPT_RANGES)
def _is_plain_range(text: str) -> bool:
    """Report whether it is a short range."""
    if not 0 < len(text) <= MAX_PLAIN_RANGE_LENGTH:
        return False
    try:
        BlangRange.parse(text)
    except BadRange:
        return False
    return True


def _is_plain_kind(value: _KindValue) -> bool:
    """Report whether it is the value of a requirement that has no empty part and is short."""
    parts = (value.group, value.version, value.kind)
    return all(parts) and max(map(len, parts)) <= MAX_PLAIN_NAME_LENGTH


class _TextBundle(Bundle):
    """A bundle whose properties are made when they are first needed."""

    _text: _BundleText

    def __init__(self, text: _BundleText, common_names: Mapping[str, str], is_unusual: bool) -> None:
        problem, version = text.problem, None
        try:
            version = parse_bundle_version(text.version, text.release)
        except BadVersion as error:
            problem = problem or str(error)
        problem = problem or ("" if text.image else "it names no image")
        if is_unusual:
            problem = problem or recording_problem(_properties(text))
        vars(self).update(
            _text=text,
            name=text.name,
            image=text.image,
            version=None if problem else version,
            media_type=text.media_type or DEFAULT_MEDIA_TYPE,
            problem=problem,
            min_kube_version=text.min_kube_version,
            native_apis=tuple(kind.known for kind in text.native_apis if kind.kind) if text.native_apis else (),
            display_names={**common_names, **text.display_names} if text.display_names else common_names,
        )
        if not is_unusual:
            keep_constraints(self, BundleConstraints(tuple(dict.fromkeys(_constraints(text)))))

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """All properties."""
        return _properties(self._text)

    @cached_property
    def provided_kinds(self) -> frozenset[GroupVersionKind]:
        """As of every Bundle."""
        return frozenset(
            each.value.known for each in self._text.properties if type(each) is _ProvidedKind and each.value.kind
        )

    def with_image(self, image: str) -> Bundle:
        """The same bundle from another registry."""
        return Bundle(
            self.name,
            image,
            self.version,
            self.media_type,
            self.properties,
            self.problem,
            self.min_kube_version,
            self.native_apis,
            self.display_names,
        )


def _properties(text: _BundleText) -> tuple[Property, ...]:
    return tuple(Property(str(each.__struct_config__.tag), msgspec.to_builtins(each.value)) for each in text.properties)


def _constraints(text: _BundleText) -> Iterator[Constraint]:
    """The constraints of a bundle that is not unusual."""
    for each in text.properties:
        if type(each) is _RequiredPackage:
            yield PackageConstraint(each.value.package_name, BlangRange.parse(each.value.version_range))
        elif type(each) is _RequiredKind:
            yield KindConstraint(each.value.known)
