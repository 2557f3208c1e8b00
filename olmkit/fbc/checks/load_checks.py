"""The checks at which opm stops while it loads a catalog (formats 1.7, A1 to A28).

opm stops at the first problem. These checks find all problems, in opm's order; a problem that follows from an earlier one may or
may not be reported. Only the first problem of a catalog is opm's answer. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmkit.api.patterns import DNS_LABEL
from olmkit.fbc.catalog import (
    BUNDLE,
    BUNDLE_OBJECT,
    CHANNEL,
    PACKAGE,
    Bundle,
    Channel,
    Deprecation,
    Deprecations,
)
from olmkit.fbc.checks import pull_specs
from olmkit.fbc.checks.package_blobs import CheckedBundle, LoadStep, PackageBlobs, Problem
from olmkit.fbc.checks.version_errors import release_error, version_error
from olmkit.fbc.errors import BadBlob
from olmkit.gocompat.text import sprintf

_MAX_LABEL_BYTES = 63
_MANIFESTS = frozenset({BUNDLE_OBJECT})
_LABEL_HELP = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an"
    f" alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{DNS_LABEL}')"
)


def problems(parts: PackageBlobs) -> Iterator[Problem]:
    """All problems of one package, in opm's order."""
    if parts.errors:
        for number, message in parts.errors:
            yield Problem((LoadStep.READING, number, 0), "%s", (message,))
        return
    yield from _packages(parts)
    yield from _channels(parts)
    yield from _bundles(parts)
    yield from _missing_bundles(parts)
    yield from _deprecations(parts)


def check_bundle(bundle: Bundle) -> CheckedBundle:
    """The checks of one bundle by itself (A11 to A17). opm first reads its objects."""
    try:
        bundle.check_properties(excluding=_MANIFESTS)
        version, release = bundle.checked_version()
        problem = _image_problem(bundle) or _version_problem(bundle.name, version, release)
    except BadBlob as error:
        problem, version, release = error.opm_message, "", ""
    has_content = bundle.image != "" or any(each.type == BUNDLE_OBJECT for each in bundle.properties)
    return CheckedBundle(bundle.name, bundle.package, problem, version, release, has_content)


def _image_problem(bundle: Bundle) -> str:
    if bundle.image and (error := pull_specs.pull_spec_error(bundle.image)):
        place = sprintf("package %q bundle %q image", bundle.package, bundle.name)
        return place + sprintf(": invalid image pull spec %q: %s", bundle.image, error)
    for index, image in enumerate(bundle.related_images):
        if image and (error := pull_specs.pull_spec_error(image)):
            place = sprintf("package %q bundle %q relatedImages[%d].image", bundle.package, bundle.name, index)
            return place + sprintf(": invalid image pull spec %q: %s", image, error)
    return ""


def _version_problem(name: str, version: str, release: str) -> str:
    if error := version_error(version):
        return sprintf("error parsing bundle %q version %q: %s", name, version, error)
    if error := release_error(release):
        return sprintf("error parsing bundle %q release version %q: %s", name, release, error)
    return ""


def _is_known(parts: PackageBlobs) -> bool:
    return parts.name != "" and len(parts.packages) > 0


def _packages(parts: PackageBlobs) -> Iterator[Problem]:
    for place, (number, package) in enumerate(parts.packages):
        at = (LoadStep.PACKAGES, number, 0)
        if not package.name:
            yield Problem(at, "config contains package with no name")
        elif place > 0:
            yield Problem(at, "duplicate package %q", (package.name,))
        elif errors := _label_errors(package.name):
            yield Problem(at, "invalid package name %q: %s", (package.name, errors))


def _label_errors(name: str) -> list[str]:
    is_too_long = len(name.encode()) > _MAX_LABEL_BYTES
    errors = [f"must be no more than {_MAX_LABEL_BYTES} characters"] if is_too_long else []
    if not re.fullmatch(DNS_LABEL, name):
        are_labels = all(re.fullmatch(DNS_LABEL, part) for part in name.split("."))
        errors.append("must not contain dots" if are_labels else _LABEL_HELP)
    return errors


def _channels(parts: PackageBlobs) -> Iterator[Problem]:
    seen = set()
    for number, channel in parts.channels:
        at = (LoadStep.CHANNELS, number, 0)
        if not _is_known(parts):
            yield Problem(at, "unknown package %q for channel %q", (channel.package, channel.name))
        elif not channel.name:
            yield Problem(at, "package %q contains channel with no name", (channel.package,))
        elif channel.name in seen:
            yield Problem(at, "package %q has duplicate channel %q", (channel.package, channel.name))
        else:
            yield from _duplicate_entries(number, channel)
        seen.add(channel.name)


def _duplicate_entries(number: int, channel: Channel) -> Iterator[Problem]:
    names = set()
    for place, entry in enumerate(channel.entries):
        if entry.name in names:
            sentence = "invalid package %q, channel %q: duplicate entry %q"
            yield Problem((LoadStep.CHANNELS, number, place), sentence, (channel.package, channel.name, entry.name))
        names.add(entry.name)


def _bundles(parts: PackageBlobs) -> Iterator[Problem]:
    in_channels = {entry.name for _, channel in parts.channels for entry in channel.entries}
    seen = set()
    for number, bundle in parts.bundles:
        at, named = (LoadStep.BUNDLES, number, 0), (bundle.package, bundle.name)
        if not bundle.package:
            yield Problem(at, "package name must be set for bundle %q", (bundle.name,))
        elif not _is_known(parts):
            yield Problem(at, "unknown package %q for bundle %q", named)
        elif bundle.name in seen:
            yield Problem(at, "package %q has duplicate bundle %q", named)
        elif bundle.problem:
            yield Problem(at, "%s", (bundle.problem,))
        elif bundle.name not in in_channels:
            yield Problem(at, "package %q, bundle %q not found in any channel entries", named)
        seen.add(bundle.name)


def _missing_bundles(parts: PackageBlobs) -> Iterator[Problem]:
    """Checks the last channel only, as opm does; the model checks find the missing bundles of other channels."""
    if not _is_known(parts) or not parts.channels:
        return
    entries = {entry.name for entry in parts.channels[-1][1].entries}
    missing = sorted(entries - {bundle.name for _, bundle in parts.bundles})
    if missing:
        at = (LoadStep.MISSING_BUNDLES, parts.packages[0][0], 0)
        yield Problem(at, "no olm.bundle blobs found in package %q for olm.channel entries %s", (parts.name, missing))


def _deprecations(parts: PackageBlobs) -> Iterator[Problem]:
    for place, (number, deprecations) in enumerate(parts.deprecations):
        at = (LoadStep.DEPRECATIONS, number, 0)
        if not deprecations.package:
            yield Problem(at, "package name must be set for deprecation item %d", (number,))
        elif not _is_known(parts):
            yield Problem(at, "cannot apply deprecations to an unknown package %q", (deprecations.package,))
        elif place > 0:
            yield Problem(at, "expected a maximum of one deprecation per package: %q", (deprecations.package,))
        else:
            yield from _deprecation_entries(parts, number, deprecations)


def _deprecation_entries(parts: PackageBlobs, number: int, deprecations: Deprecations) -> Iterator[Problem]:
    known = {
        BUNDLE: {bundle.name for _, bundle in parts.bundles},
        CHANNEL: {channel.name for _, channel in parts.channels} | {parts.packages[0][1].default_channel} - {""},
    }
    seen = set()
    for place, entry in enumerate(deprecations.entries):
        at, reference = (LoadStep.DEPRECATIONS, number, place), (entry.schema, entry.name)
        if not entry.schema:
            yield Problem(at, "schema must be set for deprecation entry [%d] for package %q", (place, parts.name))
        elif reference in seen:
            yield Problem(at, f"duplicate deprecation entry {_REFERENCE} for package %q", (*reference, parts.name))
        else:
            yield from _deprecation_entry(at, parts.name, entry, known)
        seen.add(reference)


_REFERENCE = "declcfg.PackageScopedReference{Schema:%q, Name:%q}"


def _deprecation_entry(
    at: tuple[LoadStep, int, int], package: str, entry: Deprecation, known: dict[str, set[str]]
) -> Iterator[Problem]:
    kind = entry.schema.removeprefix("olm.")
    if entry.schema in known:
        if entry.name not in known[entry.schema]:
            yield Problem(at, f"cannot deprecate {kind} %q for package %q: {kind} not found", (entry.name, package))
    elif entry.schema == PACKAGE:
        if entry.name:
            sentence = "package name must be empty for deprecated package %q (specified %q)"
            yield Problem(at, sentence, (package, entry.name))
    else:
        sentence = f"cannot deprecate object {_REFERENCE} referenced by entry %d for package %q: object schema unknown"
        yield Problem(at, sentence, (entry.schema, entry.name, at[2], package))
