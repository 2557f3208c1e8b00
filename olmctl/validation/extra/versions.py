"""The version of a bundle, what it replaces and skips, its install modes and its strategy. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from olmctl.validation.extra.report import Checked, Path, entries, found_at, shown
from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.go_values import format_value
from olmctl.validation.loaded_bundle import Document
from olmkit.api.names import is_dns1123_subdomain
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Version, parse_version
from rukpak.format.objects import mapping
from rukpak.render.install_modes import MODES

SKIP_RANGE: Final = "olm.skipRange"
PACKAGE, PROPERTIES = "olm.package", "olm.properties"
_VERSION = re.compile(r"(?:^|[.-])v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+.][0-9A-Za-z.+-]*)?)$")
_MAX_NAME: Final = 500


def version_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about versions."""
    csv = checked.csv
    text = format_value(csv.spec.get("version") or "")
    version = _read(text)
    if text and version is None:
        hint = "Write three numbers, such as 1.2.3, without a v and without zeros before a number."
        yield found_at(ERROR, "version", f"{shown(text)} is no semantic version", csv, ("spec", "version"), hint)
    if not text and PACKAGE not in format_value(csv.annotations.get(PROPERTIES) or ""):
        problem = "spec.version is missing: no catalog takes the bundle"
        hint = "Write three numbers, such as 1.2.3."
        yield found_at(WARNING, "version-missing", problem, csv, ("spec", "version"), hint)
    named = version_in(csv.name)
    if version is not None and named and _plain(named) != _plain(text):
        problem = f"is {text}, and the name {csv.name} has {named}"
        yield found_at(
            ERROR, "version-name", problem, csv, ("spec", "version"), "Let the name end in v and this version."
        )
    yield from _replacement_findings(csv, version)
    yield from _skip_findings(csv)


def _replacement_findings(csv: Document, version: Version | None) -> Iterator[Finding]:
    replaces = format_value(csv.spec.get("replaces") or "")
    path, hint = ("spec", "replaces"), "Name the bundle that is upgraded to this one, or remove it."
    if not replaces:
        return
    if replaces == csv.name:
        yield found_at(ERROR, "replaces-itself", "the bundle replaces itself", csv, path, hint)
        return
    older = _read(version_in(replaces))
    is_same_operator = _prefix(replaces) == _prefix(csv.name)
    if version is not None and older is not None and is_same_operator and older.precedence > version.precedence:
        text = f"the bundle of version {version} replaces {replaces}, which is newer"
        yield found_at(ERROR, "replaces-newer", text, csv, path, hint)


def _skip_findings(csv: Document) -> Iterator[Finding]:
    skips = csv.spec.get("skips")
    for index, skip in enumerate(skips if isinstance(skips, list) else ()):
        name = format_value(skip or "")
        path: Path = ("spec", "skips", index)
        if not is_dns1123_subdomain(name):
            text = f"{shown(name)} is no name of a bundle"
            yield found_at(
                ERROR, "skips", text, csv, path, "Write the name of a bundle, such as memcached-operator.v0.0.1."
            )
        elif name == csv.name:
            yield found_at(ERROR, "skips", "the bundle skips itself", csv, path, "Remove it.")
    text = format_value(csv.annotations.get(SKIP_RANGE) or "")
    if not text:
        return
    try:
        BlangRange.parse(text)
    except BadRange as error:
        place = ("metadata", "annotations", SKIP_RANGE)
        problem = f"{shown(text)} is no range of versions: {error}"
        yield found_at(ERROR, "skip-range", problem, csv, place, 'Write a range, such as ">=1.0.0 <1.2.3".')


def install_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about install modes and the strategy."""
    csv, seen = checked.csv, set[str]()
    for index, mode in entries(csv.spec.get("installModes")):
        name = format_value(mode.get("type") or "")
        path = ("spec", "installModes", index)
        if name not in MODES:
            text = f"{shown(name)} is no install mode"
            yield found_at(ERROR, "install-mode", text, csv, path, f"Use {', '.join(MODES)}.")
        elif name in seen:
            yield found_at(ERROR, "install-mode-twice", f"{name} stands there twice", csv, path, "Keep one of them.")
        seen.add(name)
    strategy = mapping(csv.spec.get("install")).get("strategy")
    if strategy is not None and strategy != "deployment":
        text = f"{shown(format_value(strategy))} is no install strategy"
        yield found_at(ERROR, "install-strategy", text, csv, ("spec", "install", "strategy"), "Write deployment.")


def version_in(name: str) -> str:
    """The version at the end of the name of a bundle; "" if it has none."""
    text = name[-_MAX_NAME:]
    _, mark, after = text.partition(".v")
    if mark and after[:1].isdigit():
        return after
    found = _VERSION.search(text)
    return found[1] if found else ""


def _prefix(name: str) -> str:
    version = version_in(name)
    return name.removesuffix(version).rstrip(".-v") if version else name


def _plain(version: str) -> str:
    """A version as a name can have it: without what follows +, lower case."""
    return version.partition("+")[0].lower()


def _read(text: str) -> Version | None:
    try:
        return parse_version(text) if text else None
    except BadVersion:
        return None
