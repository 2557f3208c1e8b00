"""One more bundle in the text of a template: its image, and in a basic template the entries of channels.

What is not changed stays byte for byte, comments included, as far as the text is YAML in block style. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmctl.authoring.catalog_addition import Addition, NewBundle, PackageState, Refused, Wanted, plan_addition
from olmctl.authoring.catalog_text import CatalogText
from olmctl.authoring.semver_channels import ARCHETYPES
from olmctl.authoring.serialize import serialize
from olmctl.authoring.template import BASIC, BUNDLES, ENTRIES, IMAGE, Template, member
from olmkit.fbc.blobs import Blob
from olmkit.fbc.catalog import BUNDLE, CHANNEL, PACKAGE

Path = tuple[str | int, ...]


@dataclass
class TemplateChange:
    """The text of a template, and sentences about what was added to it."""

    text: CatalogText
    notes: list[str] = field(default_factory=list)

    @property
    def template(self) -> Template:
        """The template as it is to be."""
        return Template.read(self.text.text.encode())

    def insert(
        self, path: Path, item: Mapping[str, Any], *, after: int | None = None, instead: int | None = None
    ) -> None:
        """Add an item to the list at the path, or replace one."""
        listed: Any = self.text.pieces[0].blob.value
        for step in path:
            listed = listed[step]
        at = instead if instead is not None else len(listed) if after is None else after + 1
        changed = [*listed[:at], dict(item), *listed[at + (instead is not None) :]]
        value = _changed(self.text.pieces[0].blob.value, path, changed)
        place = {key: found for key, found in (("after", after), ("instead", instead)) if found is not None}
        self.text = self.text.with_item(self.text.pieces[0], path, item, value, **place)

    def append(self, key: str, section: Mapping[str, Any]) -> None:
        """Add a key to the template."""
        value = {**self.text.pieces[0].blob.value, key: section}
        lines = serialize({key: section}, "yaml").decode().removeprefix("---\n")
        self.text = self.text.with_lines(self.text.pieces[0], lines, value)

    def replace(self, value: Mapping[str, Any]) -> None:
        """Write the template anew."""
        self.text = self.text.with_replaced(self.text.pieces[0], value)


def add_to_template(data: bytes, bundle: NewBundle, image: str, given: str, wanted: Wanted) -> TemplateChange:
    """The template with the bundle, whose `image` is by digest; it was `given` with a tag perhaps. Nothing changes without notes.

    Raises Refused, BadTemplate, and what CatalogText.read raises.
    """
    change = TemplateChange(CatalogText.read(data))
    known = {image, given} & set(change.template.images())
    if change.template.schema == BASIC:
        _add_to_basic(change, bundle, image, wanted, is_known=bool(known))
    else:
        _add_to_semver(change, bundle, image, given, wanted)
    return change


def _changed(value: Any, path: Path, new: Any) -> Any:
    """A copy of the value with another one at the path."""
    if not path:
        return new
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], new)
    return copy


def _add_to_basic(change: TemplateChange, bundle: NewBundle, image: str, wanted: Wanted, *, is_known: bool) -> None:
    addition = plan_addition(_state(change.template.entries(), bundle.package), bundle, wanted)
    has_change = bool(addition.entries or addition.new_channels or addition.replaced_channels)
    if not has_change and not is_known:
        text = f"the template has {bundle.name} in its channels, and another image for it"
        raise Refused(f"{text}: a version that was released does not change; edit the image if it has moved")
    _apply(change, addition, bundle.package)
    if not is_known:
        item = {"schema": BUNDLE, IMAGE: image}
        change.insert(_entries_path(change), item, after=_last(change, (BUNDLE,), ""))
    change.notes += addition.notes


def _state(entries: Sequence[Blob], package: str) -> PackageState:
    """The package as the template has it: without its bundles, whose names only their images say."""
    named = next((each.value for each in entries if (each.schema, each.name) == (PACKAGE, package)), None)
    channels = {each.name: each.value for each in entries if (each.schema, each.package) == (CHANNEL, package)}
    return PackageState(named, channels)


def _apply(change: TemplateChange, addition: Addition, package: str) -> None:
    if addition.new_package is not None:
        change.insert(_entries_path(change), addition.new_package)
    for channel in addition.new_channels:
        change.insert(_entries_path(change), channel, after=_last(change, (CHANNEL, PACKAGE), package))
    for name, entry in addition.entries.items():
        index, blob = _channel(change, package, name)
        change.insert((*_entries_path(change), index, member(blob.value, ENTRIES)[0]), entry)
    for name, value in addition.replaced_channels.items():
        index, blob = _channel(change, package, name)
        key, old = member(blob.value, ENTRIES)
        for number, entry in enumerate(value[ENTRIES]):
            if entry != old[number]:
                change.insert((*_entries_path(change), index, key), entry, instead=number)


def _entries_path(change: TemplateChange) -> Path:
    """The path of the entries, which are written if there are none."""
    value = change.text.pieces[0].blob.value
    key, found = member(value, ENTRIES)
    if found is None:
        change.replace({**value, key: []})
    return (key,)


def _last(change: TemplateChange, schemas: tuple[str, ...], package: str) -> int | None:
    """The index of the last entry of the first of these schemas that there is; of a package unless that is ""."""
    entries = change.template.entries()
    for schema in schemas:
        named = [(each.schema, each.name if schema == PACKAGE else each.package) for each in entries]
        found = [at for at, (kind, name) in enumerate(named) if kind == schema and package in ("", name)]
        if found:
            return found[-1]
    return None


def _channel(change: TemplateChange, package: str, name: str) -> tuple[int, Blob]:
    found = enumerate(change.template.entries())
    return next((at, each) for at, each in found if (each.schema, each.package, each.name) == (CHANNEL, package, name))


def _add_to_semver(change: TemplateChange, bundle: NewBundle, image: str, given: str, wanted: Wanted) -> None:
    if wanted.has_edges or wanted.default_channel is not None:
        raise Refused(
            "a semver template works out the edges and the default channel: --replaces, --skips, --skip-range and "
            "--default-channel are for others"
        )
    for archetype in _archetypes(bundle, wanted):
        if not {image, given} & set(change.template.semver_images(archetype)):
            _add_image(change, archetype, image)
            change.notes.append(f"{bundle.name} in {archetype} of {bundle.package}")


def _archetypes(bundle: NewBundle, wanted: Wanted) -> list[str]:
    """The lists for the bundle: those that are named, else those of the channels in its annotations. Raises Refused."""
    if unknown := [each for each in wanted.channels if each not in ARCHETYPES]:
        raise Refused(f"a semver template has no channel {unknown[0]}: --channel is one of {', '.join(ARCHETYPES)}")
    found = list(wanted.channels) or [
        each for each in ARCHETYPES if each in {name.partition("-v")[0] for name in bundle.channels}
    ]
    if not found:
        shown = ", ".join(bundle.channels) or "none"
        raise Refused(
            f"the channels of the bundle ({shown}) are none of {', '.join(ARCHETYPES)}: name one with --channel"
        )
    return list(dict.fromkeys(found))


def _add_image(change: TemplateChange, archetype: str, image: str) -> None:
    value = change.text.pieces[0].blob.value
    key, section = member(value, archetype)
    if section is None:
        is_upper = any(each[:1].isupper() for each in value)
        names = [each[:1].upper() + each[1:] if is_upper else each for each in (archetype, BUNDLES, IMAGE)]
        change.append(names[0], {names[1]: [{names[2]: image}]})
        return
    bundles, listed = member(section, BUNDLES)
    if not listed:
        change.replace({**value, key: {**section, bundles: [{IMAGE: image}]}})
        return
    change.insert((key, bundles), {member(listed[-1], IMAGE)[0]: image})
