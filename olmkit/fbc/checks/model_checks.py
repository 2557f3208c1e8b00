"""The checks of the loaded model: the errors of channels and bundles as the tree that opm prints (formats 1.7, B).

Omits opm's checks for models that files cannot describe: a package without a name, and a default channel that does not exist
(loading adds an empty one). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from olmkit.fbc import channel_graph
from olmkit.fbc.catalog import BUNDLE, CHANNEL, PACKAGE, Entry
from olmkit.fbc.checks.package_blobs import CheckedBundle, PackageBlobs
from olmkit.fbc.checks.report_tree import Branch
from olmkit.fbc.checks.version_errors import range_error
from olmkit.gocompat.text import sprintf

_NO_MESSAGE = "invalid deprecation: message must be set"
_MISSING = CheckedBundle("", "", "", "0.0.0", "", has_content=False)
"""The bundle that opm adds to the model for an entry without a bundle."""


@dataclass(frozen=True, slots=True)
class _Package:
    """A package: the entries of its channels by name, its bundles, and the references that are deprecated without a message."""

    name: str
    default_channel: str
    channels: Mapping[str, Mapping[str, Entry]]
    bundles: Mapping[str, CheckedBundle]
    unexplained: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, parts: PackageBlobs) -> _Package:
        default_channel = parts.packages[0][1].default_channel
        channels = {channel.name: {entry.name: entry for entry in channel.entries} for _, channel in parts.channels}
        if default_channel:
            channels.setdefault(default_channel, {})
        entries = [entry for _, deprecations in parts.deprecations for entry in deprecations.entries]
        return cls(
            parts.name,
            default_channel,
            channels,
            {bundle.name: bundle for _, bundle in parts.bundles},
            frozenset((entry.schema, entry.name) for entry in entries if not entry.message),
        )


def tree(parts: PackageBlobs) -> Branch | None:
    """The errors of a package as a tree; None when it is valid."""
    package = _Package.of(parts)
    branch = Branch(sprintf("invalid package %q", package.name), list(_package(package)))
    return branch if branch.below else None


def _package(package: _Package) -> Iterator[Branch | str]:
    if not package.default_channel:
        yield "default channel must be set"
    if not package.channels:
        yield "package must contain at least one channel"
    for name, entries in package.channels.items():
        branch = Branch(sprintf("invalid channel %q", name), list(_channel(package, name, entries)))
        if branch.below:
            yield branch
    if duplicates := _duplicate_versions(package):
        yield duplicates
    if (PACKAGE, "") in package.unexplained:
        yield _NO_MESSAGE


def _duplicate_versions(package: _Package) -> str:
    versions: dict[str, set[str]] = {}
    for name in {name for entries in package.channels.values() for name in entries}:
        versions.setdefault(_full_version(package.bundles.get(name, _MISSING)), set()).add(name)
    duplicates = [
        f"{{{version}: [{', '.join(sorted(names))}]}}" for version, names in sorted(versions.items()) if len(names) > 1
    ]
    return f"duplicate versions found in bundles: [{' '.join(duplicates)}]" if duplicates else ""


def _full_version(bundle: CheckedBundle) -> str:
    return f"{bundle.version}-{bundle.release}" if bundle.release else bundle.version


def _channel(package: _Package, name: str, entries: Mapping[str, Entry]) -> Iterator[Branch | str]:
    if not entries:
        yield "channel must contain at least one bundle"
    elif error := channel_graph.graph_error(entries):
        yield error
    for entry in entries.values():
        below = list(_bundle(package, entry))
        if below:
            yield Branch(sprintf("invalid bundle %q", entry.name), below)
    if (CHANNEL, name) in package.unexplained:
        yield _NO_MESSAGE


def _bundle(package: _Package, entry: Entry) -> Iterator[Branch | str]:
    bundle = package.bundles.get(entry.name, _MISSING)
    if not entry.name:
        yield "name must be set"
    if bundle.release and entry.name != (normalized := f"{package.name}-v{_full_version(bundle)}"):
        yield sprintf("name %q does not match normalized name %q", entry.name, normalized)
    for index, skip in enumerate(entry.skips):
        if not skip:
            yield sprintf("skip[%d] is empty", index)
    if entry.skip_range and (error := range_error(entry.skip_range)):
        yield sprintf("invalid skipRange %q: %s", entry.skip_range, error)
    if bundle is _MISSING:
        yield 'must be exactly one property with type "olm.package"'
    if not bundle.has_content:
        yield "bundle image must be set"
    if (BUNDLE, entry.name) in package.unexplained:
        yield _NO_MESSAGE
    if bundle.release and "+" in bundle.version:
        yield "cannot use build metadata in version with a release version"
