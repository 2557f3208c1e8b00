"""Resolution documents of the usual form: decoded from their JSON in one step, and their bundles made when they are reached.

Called by documents.py; dependency_versions.py ranks the bundles without making them. Nearly all documents have this form.
Whatever else JSON may contain raises AnotherForm: read_package of package.py then reads the whole document, and says what is
wrong with it. Both give the same package. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from olmkit.fbc.schemas import CONSTRAINT, DEPRECATED, GVK, GVK_REQUIRED, PACKAGE_REQUIRED
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Order, parse_bundle_version, plain_order
from operator_controller.resolve.components import PackageIndex, index_properties
from operator_controller.resolve.constraints import Constraint, KindConstraint, PackageConstraint
from operator_controller.resolve.package import (
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
from operator_controller.resolve.requirements import BundleConstraints, keep_constraints

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Bytes of a document that is decoded here: those that were parsed whole when they were received."""
MAX_SMALL_BYTES = 3 * MAX_CHANNEL_ENTRIES
"""A document of fewer bytes cannot exceed a limit of its entries: each takes at least three, and so does each named edge."""
MAX_PLAIN_PROPERTIES = 32
MAX_PLAIN_NAME_LENGTH = 64
MAX_PLAIN_RANGE_LENGTH = 64
"""A bundle with so many properties at most, whose requirements are so short, certainly can be recorded in an annotation."""


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


class _Constraint(msgspec.Struct, frozen=True, tag_field="type", tag=CONSTRAINT):
    value: Any = None


class _MaxOpenShiftVersion(msgspec.Struct, frozen=True, tag_field="type", tag="olm.maxOpenShiftVersion"):
    value: Any = None


class _Deprecated(msgspec.Struct, frozen=True, tag_field="type", tag=DEPRECATED):
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
    api_services: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
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
        indexer = _Indexer()
        self._unusual = {text.name for text in texts if not indexer.add(text)}
        """The bundles that have to be made to know whether they can be installed."""
        self.index = indexer.index()
        """What all bundles require and own."""
        self.deprecated = (
            {name: "" for name, text in self._texts.items() if _is_marked(text)} if indexer.any_marked else {}
        )
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
        """Whether the bundle has requirements of the cluster itself, or may have some that cannot be read."""
        text = self._texts[name]
        return bool(text.min_kube_version or text.native_apis) or name in self._unusual


class _Indexer:
    """Collects what the bundles of a package require and own."""

    def __init__(self) -> None:
        self._packages: set[str] = set()
        self._required: set[_KindValue] = set()
        self._owned: set[_KindValue] = set()
        self._constraints: list[tuple[str, Any]] = []
        self._native: set[str] = set()
        self._requires_version = False
        self._plain_ranges: set[str] = set()
        self.any_marked = False
        """Whether a property marks one of the bundles as deprecated."""

    def add(self, text: _BundleText) -> bool:
        """Whether it is certain without making the bundle that it can be read, recorded and installed."""
        self._native.update(f"{kind.group}/{kind.version}/{kind.kind}" for kind in text.native_apis)
        self._requires_version = self._requires_version or bool(text.min_kube_version)
        is_usual = bool(text.image) and not (text.problem or text.release)
        for each in text.properties:
            if type(each) is _ProvidedKind:
                self._owned.add(each.value)
            elif type(each) is _RequiredPackage:
                self._packages.add(each.value.package_name)
                is_usual = self._is_plain(each.value) and is_usual
            elif type(each) is _RequiredKind:
                self._required.add(each.value)
                is_usual = is_usual and _is_plain_kind(each.value)
            elif type(each) is _Constraint:
                self._constraints.append((CONSTRAINT, each.value))
                is_usual = False
            elif type(each) is _Deprecated:
                self.any_marked = True
        return is_usual and len(text.properties) <= MAX_PLAIN_PROPERTIES

    def _is_plain(self, value: _PackageValue) -> bool:
        """Whether it is the short value of a requirement that can be read."""
        if value.version_range not in self._plain_ranges:
            if not _is_plain_range(value.version_range):
                return False
            self._plain_ranges.add(value.version_range)
        return 0 < len(value.package_name) <= MAX_PLAIN_NAME_LENGTH

    def index(self) -> PackageIndex:
        """Of all bundles together."""
        rest = index_properties(self._constraints)
        return PackageIndex(
            packages=rest.packages | self._packages,
            kinds=rest.kinds | {(value.group, value.kind) for value in self._required},
            owned=frozenset((value.group, value.kind) for value in self._owned),
            requires_any=rest.requires_any,
            native_kinds=frozenset(self._native),
            requires_version=self._requires_version,
            rules_length=rest.rules_length,
        )


def _is_marked(text: _BundleText) -> bool:
    return any(type(each) is _Deprecated for each in text.properties)


def _is_plain_range(text: str) -> bool:
    """Whether it is a short range."""
    if not 0 < len(text) <= MAX_PLAIN_RANGE_LENGTH:
        return False
    try:
        BlangRange.parse(text)
    except BadRange:
        return False
    return True


def _is_plain_kind(value: _KindValue) -> bool:
    """Whether it is the value of a requirement that has no empty part and is short."""
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
            api_services=text.api_services,
            webhooks=text.webhooks,
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
            self.api_services,
            self.webhooks,
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
