"""The changes of a package that one more bundle makes: entries of channels, new channels, or a new package.

    if                                             then
    the package is new                             it gets an olm.package blob, and its default channel
    no channel is given                            those of the bundle's annotation
    a channel is new                               it gets this one entry
    the bundle and its entry are there             nothing changes
    the bundle is there with another content       refused, unless it is to be overwritten
    no edge is given                               `replaces`, `skips` and olm.skipRange of the ClusterServiceVersion
    it has no `replaces` either                    the head of the channel is replaced
    the channel would have two heads               refused, with the head that nothing replaces

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from olmkit.api.names import is_dns1123_label, is_dns1123_subdomain
from olmkit.fbc import catalog
from olmkit.fbc.catalog import BUNDLE_OBJECT, CHANNEL, PACKAGE, Entry
from olmkit.fbc.channel_graph import heads
from olmkit.fbc.errors import BadBlob
from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BadVersion, Version, parse_bundle_version
from rukpak.format.objects import mappings, texts


class Refused(ValueError):
    """The bundle cannot be added; the message names what to change."""


@dataclass(frozen=True)
class Wanted:
    """The choices of the user for the addition. `None` and () stand for what the bundle itself says."""

    channels: tuple[str, ...] = ()
    replaces: str | None = None
    skips: tuple[str, ...] = ()
    skip_range: str | None = None
    default_channel: str | None = None
    is_overwritten: bool = False

    @property
    def has_edges(self) -> bool:
        """True if the user names an edge."""
        return self.replaces is not None or bool(self.skips) or self.skip_range is not None


@dataclass(frozen=True)
class NewBundle:
    """The bundle: its blob, and what its ClusterServiceVersion and its annotations say of upgrades and channels."""

    blob: Mapping[str, Any]
    channels: tuple[str, ...]
    default_channel: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    description: str = ""
    icon: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the bundle."""
        return str(self.blob["name"])

    @property
    def package(self) -> str:
        """The name of its package."""
        return str(self.blob["package"])


@dataclass(frozen=True)
class PackageState:
    """The blobs of the package as the catalog has them."""

    package: Mapping[str, Any] | None = None
    channels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bundles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def has_objects(self) -> bool:
        """True if its bundles contain their manifests."""
        properties = (each for bundle in self.bundles.values() for each in mappings(bundle.get("properties")))
        return any(each.get("type") == BUNDLE_OBJECT for each in properties)


@dataclass(frozen=True)
class Addition:
    """The changes. `notes` are sentences for people, one for each channel."""

    new_package: Mapping[str, Any] | None = None
    bundle: Mapping[str, Any] | None = None
    """The blob to add, or to put in the place of the one of this name; None if it is there."""
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Entries to add, by channel."""
    new_channels: tuple[Mapping[str, Any], ...] = ()
    replaced_channels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Channels with another entry of the bundle."""
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing changes."""
        return not (self.new_package or self.bundle or self.entries or self.new_channels or self.replaced_channels)


def plan_addition(state: PackageState, bundle: NewBundle, wanted: Wanted) -> Addition:
    """The changes of the package. Raises Refused."""
    _check_names(bundle)
    channels = wanted.channels or bundle.channels
    if not channels:
        raise Refused("the bundle names no channel in its annotations: name one with --channel")
    is_new = _is_new_blob(state, bundle, wanted)
    entries, new, replaced, notes = {}, [], {}, []
    for name in dict.fromkeys(channels):
        change = _channel_change(state, bundle, wanted, name)
        if change is None:
            continue
        entry, old, note = change
        notes.append(note)
        if name not in state.channels:
            new.append({"schema": CHANNEL, "name": name, "package": bundle.package, "entries": [entry]})
        elif old is None:
            entries[name] = entry
        else:
            kept = [entry if each is old else each for each in state.channels[name]["entries"]]
            replaced[name] = {**state.channels[name], "entries": kept}
    return Addition(
        None if state.package is not None else _new_package(bundle, wanted, channels),
        bundle.blob if is_new else None,
        entries,
        tuple(new),
        replaced,
        tuple(notes),
    )


def _check_names(bundle: NewBundle) -> None:
    """Names become parts of paths: they are checked before."""
    if not is_dns1123_label(bundle.package):
        raise Refused(f"{quoted(bundle.package)} is no name of a package: it must be a DNS label")
    if not is_dns1123_subdomain(bundle.name):
        raise Refused(f"{quoted(bundle.name)} is no name of a bundle: it must be a DNS subdomain")


def _is_new_blob(state: PackageState, bundle: NewBundle, wanted: Wanted) -> bool:
    """True if the blob has to be written. Raises Refused for another one under its name."""
    known = state.bundles.get(bundle.name)
    if known is None:
        return True
    is_same_image = known.get("image") == bundle.blob.get("image") and "@" in str(known.get("image"))
    if _same(known, bundle.blob) or (is_same_image and not wanted.is_overwritten):
        return False  # an image by its digest has one content, however it was rendered
    if not wanted.is_overwritten:
        what = (
            f"the image {quoted(str(known.get('image')))}, and not {quoted(str(bundle.blob.get('image')))}"
            if known.get("image") != bundle.blob.get("image")
            else "another content"
        )
        hint = "a bundle that was released does not change: release a new version, or use --overwrite"
        raise Refused(f"package {bundle.package} has {bundle.name} with {what}; {hint}")
    return True


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    option = orjson.OPT_SORT_KEYS
    return orjson.dumps(dict(one), option=option) == orjson.dumps(dict(other), option=option)


_Change = tuple[Mapping[str, Any], Mapping[str, Any] | None, str]
"""The entry, the one that it replaces, and a sentence."""


def _channel_change(state: PackageState, bundle: NewBundle, wanted: Wanted, name: str) -> _Change | None:
    """The change of a channel; None if its entry is as it should be."""
    listed = list(mappings(state.channels[name].get("entries"))) if name in state.channels else []
    old = next((each for each in listed if each.get("name") == bundle.name), None)
    if old is not None and not wanted.has_edges:
        return None
    others = {each.name: each for each in _entries(listed) if each.name != bundle.name}
    replaces, is_head = _replaces(bundle, wanted, others)
    skips = wanted.skips or bundle.skips
    skip_range = wanted.skip_range if wanted.skip_range is not None else bundle.skip_range
    entry: dict[str, Any] = {"name": bundle.name}
    entry |= {"replaces": replaces} if replaces else {}
    entry |= {"skips": list(skips)} if skips else {}
    entry |= {"skipRange": skip_range} if skip_range else {}
    if old is not None and _same(old, entry):
        return None
    if old is not None and not wanted.is_overwritten:
        raise Refused(f"channel {name} has {bundle.name} with other edges: use --overwrite to change them")
    _check_edges(state, bundle, name, Entry(bundle.name, replaces, tuple(skips), skip_range), others)
    return entry, old, _note(bundle, name, entry, is_head, name in state.channels)


def _entries(listed: Sequence[Mapping[str, Any]]) -> Iterator[Entry]:
    for each in listed:
        if isinstance(each.get("name"), str):
            skips = tuple(texts(each.get("skips")))
            yield Entry(each["name"], str(each.get("replaces") or ""), skips, str(each.get("skipRange") or ""))


def _replaces(bundle: NewBundle, wanted: Wanted, others: Mapping[str, Entry]) -> tuple[str, bool]:
    """The bundle that the new one replaces, and True if it is the head of the channel for want of another word."""
    if wanted.replaces is not None:
        return wanted.replaces, False
    if bundle.replaces:
        return bundle.replaces, False
    skips = wanted.skips or bundle.skips
    left = [each for each in heads(others) if each not in skips]
    return (left[0], True) if len(left) == 1 else ("", False)


def _check_edges(
    state: PackageState, bundle: NewBundle, channel: str, entry: Entry, others: Mapping[str, Entry]
) -> None:
    """Raise Refused for edges that make no sense."""
    if entry.replaces == bundle.name or bundle.name in entry.skips:
        raise Refused(f"{bundle.name} cannot replace or skip itself")
    if others:
        left = [each for each in heads({**others, entry.name: entry}) if each != entry.name]
        before = heads(others)
        if entry.name in heads({**others, entry.name: entry}) and left:
            unreached = ", ".join(each for each in left if each in before)
            hint = f"name it with --replaces{' or --skips' if len(left) == 1 else ' and --skips'}"
            text = f"channel {channel} would have two heads, because no edge leads from {unreached} to {bundle.name}"
            raise Refused(f"{text}: {hint}")
    older, newer = _version(state.bundles.get(entry.replaces)), _version(bundle.blob)
    if older is not None and newer is not None and not older < newer:
        text = (
            f"{bundle.name} has version {newer}, which is not above {older} of {entry.replaces}, which it would replace"
        )
        raise Refused(f"{text}: name another one with --replaces, or none with --replaces ''")


def _version(blob: Mapping[str, Any] | None) -> Version | None:
    """The version of a bundle; None if it cannot be read."""
    try:
        return parse_bundle_version(*catalog.bundle(blob).version()) if blob is not None else None
    except (BadBlob, BadVersion):
        return None


def _note(bundle: NewBundle, channel: str, entry: Mapping[str, Any], is_head: bool, exists: bool) -> str:
    edges = []
    if "replaces" in entry:
        edges.append(f"replaces {entry['replaces']}{' (the head of the channel)' if is_head else ''}")
    if "skips" in entry:
        edges.append(f"skips {', '.join(entry['skips'])}")
    if "skipRange" in entry:
        edges.append(f"skips {entry['skipRange']}")
    what = "channel" if exists else "the new channel"
    return f"{bundle.name} in {what} {channel} of {bundle.package}{': ' if edges else ''}{', '.join(edges)}"


def _new_package(bundle: NewBundle, wanted: Wanted, channels: Sequence[str]) -> Mapping[str, Any]:
    """The olm.package blob of a package that the catalog does not have."""
    default = wanted.default_channel or bundle.default_channel
    if not default and len(set(channels)) == 1:
        default = channels[0]
    if default not in channels:
        found = f"its default channel {quoted(default)} is none of them" if default else "it names no default channel"
        raise Refused(f"the bundle is for the channels {', '.join(channels)}, and {found}: use --default-channel")
    blob: dict[str, Any] = {"schema": PACKAGE, "name": bundle.package, "defaultChannel": default}
    blob |= {"description": bundle.description} if bundle.description else {}
    blob |= {"icon": dict(bundle.icon)} if bundle.icon else {}
    return blob
