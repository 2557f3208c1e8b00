"""The checks at which opm stops: the rules A1 to A28 of formats 1.7, each with opm's message."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.fbc import catalog
from olmkit.fbc.checks.load_checks import check_bundle
from tests.unit.olmkit.fbc.blob_builders import (
    Value,
    bundle,
    channel,
    deprecated,
    deprecations,
    entry,
    opm_error,
    package,
)

VALID = (package(), channel("b"), bundle("b"))
HEX = "a" * 64
NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an"
    " alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def test_a_valid_catalog_is_accepted() -> None:
    assert opm_error(*VALID, package("q"), channel("b", package="q"), bundle("b", package="q")) == ""


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        pytest.param([package("")], "config contains package with no name", id="A1: a package without a name"),
        pytest.param([*VALID, package()], 'duplicate package "p"', id="A2: a package that is there twice"),
        pytest.param(
            [package("a.b")],
            'invalid package name "a.b": [must not contain dots]',
            id="A3: a package's name with a dot",
        ),
        pytest.param([package("A")], f'invalid package name "A": [{NO_LABEL}]', id="A3: a capital letter"),
        pytest.param(
            [package("a" * 64)],
            f'invalid package name "{"a" * 64}": [must be no more than 63 characters]',
            id="A3: a package's name of 64 characters",
        ),
        pytest.param(
            [package("-" * 64)],
            f'invalid package name "{"-" * 64}": [must be no more than 63 characters {NO_LABEL}]',
            id="A3: two things wrong with a package's name",
        ),
    ],
)
def test_packages(blobs: list[Value], words: str) -> None:
    assert opm_error(*blobs) == words


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        pytest.param(
            [package(), channel("b", package="q")],
            'unknown package "q" for channel "c"',
            id="A4: a channel of a package that is not there",
        ),
        pytest.param([channel("b", package="")], 'unknown package "" for channel "c"', id="A4: of no package"),
        pytest.param(
            [*VALID, channel(name="")], 'package "p" contains channel with no name', id="A5: a channel without a name"
        ),
        pytest.param(
            [*VALID, channel("b")], 'package "p" has duplicate channel "c"', id="A6: a channel that is there twice"
        ),
        pytest.param(
            [package(), channel("b", "a", "b")],
            'invalid package "p", channel "c": duplicate entry "b"',
            id="A7: an entry that is there twice",
        ),
    ],
)
def test_channels(blobs: list[Value], words: str) -> None:
    assert opm_error(*blobs) == words


def with_properties(*properties: Value) -> list[Value]:
    """A catalog whose only bundle has these properties after its olm.package."""
    whole = bundle("b")
    return [package(), channel("b"), {**whole, "properties": [*whole["properties"], *properties]}]


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        pytest.param(
            [*VALID, bundle("b", package="")],
            'package name must be set for bundle "b"',
            id="A8: a bundle without a package",
        ),
        pytest.param(
            [*VALID, bundle("b", package="q")],
            'unknown package "q" for bundle "b"',
            id="A9: a bundle of a package that is not there",
        ),
        pytest.param(
            [*VALID, bundle("b")], 'package "p" has duplicate bundle "b"', id="A10: a bundle that is there twice"
        ),
        pytest.param(
            with_properties({"type": "olm.gvk", "value": {"kind": 5}}),
            'parse properties for bundle "b": parse property[1] of type "olm.gvk": json: cannot unmarshal number into Go struct'
            " field GVK.kind of type string",
            id="A11: a kind that is a number",
        ),
        pytest.param(
            with_properties({"type": "olm.package.required", "value": "p"}),
            'parse properties for bundle "b": parse property[1] of type "olm.package.required": json: cannot unmarshal string'
            " into Go value of type property.PackageRequired",
            id="A11: a required package that is a string",
        ),
        pytest.param(
            with_properties({"type": "olm.channel", "value": {"channelName": []}}),
            'parse properties for bundle "b": parse property[1] of type "olm.channel": json: cannot unmarshal array into Go'
            " struct field Channel.channelName of type string",
            id="A11: the internal olm.channel",
        ),
        pytest.param(
            with_properties({"type": "anything"}),
            'parse properties for bundle "b": parse property[1] of type "anything": unexpected end of JSON input',
            id="A11: any property without a value",
        ),
        pytest.param(
            [package(), channel("b"), bundle("b", properties=[])],
            'package "p" bundle "b" must have exactly 1 "olm.package" property, found 0',
            id="A12: no olm.package",
        ),
        pytest.param(
            with_properties({"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}),
            'package "p" bundle "b" must have exactly 1 "olm.package" property, found 2',
            id="A12: two olm.package",
        ),
        pytest.param(
            [
                package(),
                channel("b"),
                bundle("b", properties=[{"type": "olm.package", "value": {"packageName": "q", "version": "1.0.0"}}]),
            ],
            'package "p" does not match "olm.package" property "q"',
            id="A13: the name of another package",
        ),
        pytest.param(
            [package(), channel("b"), bundle("b", properties=[{"type": "olm.package", "value": None}])],
            'package "p" does not match "olm.package" property ""',
            id="A13: null reads as an empty olm.package",
        ),
    ],
)
def test_bundles_and_their_properties(blobs: list[Value], words: str) -> None:
    assert opm_error(*blobs) == words


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param(
            {"image": "quay.io/a@sha256:12"},
            'package "p" bundle "b" image: invalid image pull spec "quay.io/a@sha256:12": invalid reference format',
            id="A14: a digest that is too short",
        ),
        pytest.param(
            {"relatedImages": [{"name": "x", "image": ""}, {"name": "y", "image": "Quay/A"}]},
            'package "p" bundle "b" relatedImages[1].image: invalid image pull spec "Quay/A": invalid reference format:'
            " repository name must be lowercase",
            id="A15: a related image; an empty one is let pass",
        ),
        pytest.param(
            {"image": "", "relatedImages": None},
            None,
            id="A14: an empty image is not checked (the model checks require one)",
        ),
    ],
)
def test_images(changed: dict[str, Any], words: str | None) -> None:
    error = opm_error(package(), channel("b"), bundle("b", **changed))
    assert error == words if words else "image:" not in error


@pytest.mark.parametrize(
    ("version", "release", "words"),
    [
        pytest.param(
            *("v1.0.0", None),
            'error parsing bundle "b" version "v1.0.0": Invalid character(s) found in major number "v1"',
            id="A16: a version with a v",
        ),
        pytest.param(
            *("1.0", None),
            'error parsing bundle "b" version "1.0": No Major.Minor.Patch elements found',
            id="A16: a version of two numbers",
        ),
        pytest.param(
            *("1.0.0", "x" * 21),
            f'error parsing bundle "b" release version "{"x" * 21}": invalid release "{"x" * 21}": exceeds maximum length of 20'
            " characters",
            id="A17: a release of 21 characters",
        ),
        pytest.param(
            *("1.0.0", "1.01"),
            'error parsing bundle "b" release version "1.01": invalid release "1.01": segment 1: Numeric PreRelease version'
            ' must not contain leading zeroes "01"',
            id="A17: a release with a leading zero",
        ),
    ],
)
def test_versions_and_releases(version: str, release: str | None, words: str) -> None:
    assert opm_error(package(), channel("b"), bundle("b", version, release=release)) == words


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        pytest.param(
            [*VALID, bundle("b2")],
            'package "p", bundle "b2" not found in any channel entries',
            id="A18: a bundle that no channel names",
        ),
        pytest.param(
            [*VALID[:1], channel("b", "d", "a"), bundle("b")],
            'no olm.bundle blobs found in package "p" for olm.channel entries [a d]',
            id="A19: entries that no bundle is there for",
        ),
    ],
)
def test_bundles_and_entries_belong_together(blobs: list[Value], words: str) -> None:
    assert opm_error(*blobs) == words


def test_missing_bundles_of_other_channels_are_found_by_the_model_checks() -> None:
    """A19 has a bug that stands: it sees the last channel of a package only."""
    error = opm_error(package(), channel("b", entry("lost", skips=("b",))), channel("b", name="d"), bundle("b"))
    assert error.splitlines() == [
        "invalid index:",
        '└── invalid package "p":',
        '    └── invalid channel "c":',
        '        └── invalid bundle "lost":',
        '            ├── must be exactly one property with type "olm.package"',
        "            └── bundle image must be set",
    ]


REFERENCE = "declcfg.PackageScopedReference"


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        pytest.param(
            [deprecations(), deprecations(package="")],
            "package name must be set for deprecation item 1",
            id="A20: deprecations without a package, the second of the catalog",
        ),
        pytest.param(
            [deprecations(package="q")],
            'cannot apply deprecations to an unknown package "q"',
            id="A21: deprecations of a package that is not there",
        ),
        pytest.param(
            [deprecations(), deprecations()],
            'expected a maximum of one deprecation per package: "p"',
            id="A22: two blobs of deprecations",
        ),
        pytest.param(
            [deprecations(deprecated("olm.package"), deprecated(""))],
            'schema must be set for deprecation entry [1] for package "p"',
            id="A23: an entry without a schema",
        ),
        pytest.param(
            [deprecations(deprecated("olm.bundle", "b"), deprecated("olm.bundle", "b"))],
            f'duplicate deprecation entry {REFERENCE}{{Schema:"olm.bundle", Name:"b"}} for package "p"',
            id="A24: a reference that is there twice",
        ),
        pytest.param(
            [deprecations(deprecated("olm.bundle", "x"))],
            'cannot deprecate bundle "x" for package "p": bundle not found',
            id="A25: a bundle that is not there",
        ),
        pytest.param(
            [deprecations(deprecated("olm.channel", "x"))],
            'cannot deprecate channel "x" for package "p": channel not found',
            id="A26: a channel that is not there",
        ),
        pytest.param(
            [deprecations(deprecated("olm.package", "p"))],
            'package name must be empty for deprecated package "p" (specified "p")',
            id="A27: a package by its name",
        ),
        pytest.param(
            [deprecations(deprecated("olm.gvk", "k"))],
            f'cannot deprecate object {REFERENCE}{{Schema:"olm.gvk", Name:"k"}} referenced by entry 0 for package "p": object'
            " schema unknown",
            id="A28: another schema",
        ),
    ],
)
def test_deprecations(blobs: list[Value], words: str) -> None:
    assert opm_error(*VALID, *blobs) == words


def test_deprecations_of_what_is_there_are_accepted() -> None:
    entries = (deprecated("olm.package"), deprecated("olm.channel", "c"), deprecated("olm.bundle", "b"))
    assert opm_error(*VALID, deprecations(*entries)) == ""


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        pytest.param(
            [bundle("b", package="q"), channel("b", package="q"), package("A")],
            "invalid package name",
            id="packages before channels before bundles, whatever the order of blobs",
        ),
        pytest.param(
            [package("p"), package("q"), channel(name="", package="q"), channel("b", "b")],
            'package "q" contains channel with no name',
            id="channels in their order, whatever their package",
        ),
        pytest.param(
            [package(), channel("x"), deprecations(deprecated(""))],
            "no olm.bundle blobs found",
            id="entries without bundles before deprecations",
        ),
        pytest.param(
            [*VALID, package("q"), channel(package="q"), deprecations(package="x")],
            "cannot apply deprecations",
            id="the load checks of one package before the model checks of another",
        ),
        pytest.param(
            [package(), channel("b"), {**bundle("b", "x", image="A"), "properties": [{"type": "x"}]}],
            "parse properties",
            id="a bundle's properties before all else in it",
        ),
        pytest.param(
            [package(), channel("b"), bundle("b", "x", image="A")], "package", id="its images before its version"
        ),
        pytest.param(
            [package(), channel("b"), bundle("x", "1"), bundle("x")], "error parsing", id="a version before A18"
        ),
    ],
)
def test_the_order_is_opms(blobs: list[Value], words: str) -> None:
    assert opm_error(*blobs).startswith(words)


def test_a_checked_bundle_is_small_and_has_the_error_of_its_blob() -> None:
    whole = bundle("b", "1.0.0+x", release="2")
    objects = [*whole["properties"], {"type": "olm.bundle.object", "value": {"data": "e30="}}]
    assert check_bundle(catalog.bundle(whole)) == check_bundle(
        catalog.bundle({**whole, "properties": objects, "image": ""})
    )
    part = check_bundle(catalog.bundle({**whole, "image": ""}))
    assert (part.version, part.release, part.has_content, part.problem) == ("1.0.0+x", "2", False, "")
    assert check_bundle(catalog.bundle(bundle("b", "1"))).problem.startswith("error parsing bundle")
