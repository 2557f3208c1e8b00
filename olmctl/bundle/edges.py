"""Checks a new bundle against the one that is installed, as a catalog would: its replaces, skips and skipRange. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Version, parse_bundle_version


@dataclass(frozen=True)
class Edges:
    """The upgrades to a bundle, as its ClusterServiceVersion names them."""

    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    version: str = ""


def edge_problem(new: Edges, name: str, version: str, *, has_failed: bool = False) -> str:
    """Explain why the new bundle is no upgrade of the installed one, which has this name and version; "" if it is one.

    A bundle of the same name is the same version, built again, and needs no edge. `has_failed`: the installed one did not become
    healthy, so it is probably in no catalog.
    """
    if name == new.name:
        return ""
    reached, problem = _in_range(new.skip_range, version)
    if reached or name == new.replaces or name in new.skips:
        return ""
    older, newer = _version(version), _version(new.version)
    if older is not None and newer is not None and newer < older:
        return f"{new.name} is no upgrade of {name}: version {newer} is lower than {older}, which is installed"
    way = f"set spec.replaces to {name}, or let `olm bundle generate --catalog DIR` find it"
    if has_failed:
        way = f"{name} has failed: set spec.replaces to it only if a catalog has it"
    return f"{new.name} is no upgrade of {name}: {_named(new, problem, version)} ({way})"


def _in_range(text: str, version: str) -> tuple[bool, str]:
    """Report whether the version is in a skipRange, and why one cannot be read."""
    if not text:
        return False, ""
    try:
        wanted = BlangRange.parse(text)
    except BadRange as error:
        return False, f"cannot be read ({error})"
    found = _version(version)
    if found is None:
        return False, f"{text} is compared with no version"
    return wanted.matches(found), f"{text} does not include {version}"


def _version(text: str) -> Version | None:
    try:
        return parse_bundle_version(text)
    except BadVersion:
        return None


def _named(new: Edges, range_problem: str, version: str) -> str:
    """The edges that it has instead."""
    texts = [f"it replaces {new.replaces}" if new.replaces else "it replaces nothing"]
    if new.skips:
        texts.append(f"skips {', '.join(new.skips)}")
    if new.skip_range:
        texts.append(f"its skipRange {range_problem}")
    return ", ".join(texts)
