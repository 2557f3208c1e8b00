"""The errors of a package's channels and bundles: the rules B of formats 1.7, and the tree that opm prints."""

from __future__ import annotations

import pytest

from olmkit.fbc import catalog
from olmkit.fbc.checks.package_check import PackageBlobs, check_bundle, check_package
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

DEPRECATION = "invalid deprecation: message must be set"
NO_PROPERTY, NO_IMAGE = 'must be exactly one property with type "olm.package"', "bundle image must be set"


def sentences(*blobs: Value) -> list[str]:
    """The problems of package p, one line each."""

    def of(schema: str) -> list[tuple[int, Value]]:
        return [(number, blob) for number, blob in enumerate(blobs) if blob["schema"] == schema]

    result = check_package(
        PackageBlobs(
            "p",
            [(number, catalog.package(blob)) for number, blob in of("olm.package")],
            [(number, catalog.channel(blob)) for number, blob in of("olm.channel")],
            [(number, check_bundle(catalog.bundle(blob))) for number, blob in of("olm.bundle")],
            [(number, catalog.deprecations(blob)) for number, blob in of("olm.deprecations")],
        )
    )
    found = list(result.sentences())
    assert result.count == len(found)
    assert all(sentence.startswith('invalid package "p": ') for sentence in found)
    return [sentence.removeprefix('invalid package "p": ') for sentence in found]


@pytest.mark.parametrize(
    ("blobs", "expected"),
    [
        pytest.param([package(), channel("b"), bundle("b")], [], id="nothing is wrong"),
        pytest.param(
            [package(defaultChannel=""), channel("b"), bundle("b")],
            ["default channel must be set"],
            id="no default channel",
        ),
        pytest.param(
            [package(defaultChannel="")],
            ["default channel must be set", "package must contain at least one channel"],
            id="no channels at all",
        ),
        pytest.param(
            [package(defaultChannel="x"), channel("b"), bundle("b")],
            ['invalid channel "x": channel must contain at least one bundle'],
            id="a default channel that does not exist is added as an empty one",
        ),
        pytest.param(
            [package()],
            ['invalid channel "c": channel must contain at least one bundle'],
            id="the added channel is the one channel that there must be",
        ),
        pytest.param(
            [package(), channel("b"), bundle("b"), deprecations(deprecated("olm.package", message=""))],
            [DEPRECATION],
            id="a package deprecated without a message",
        ),
    ],
)
def test_packages(blobs: list[Value], expected: list[str]) -> None:
    assert sentences(*blobs) == expected


@pytest.mark.parametrize(
    ("blobs", "expected"),
    [
        pytest.param(
            [package(), channel(entry("b", skips=("a",)), "a"), bundle("a", "1.0.0+x"), bundle("b", "1.0.0+x")],
            ["duplicate versions found in bundles: [{1.0.0+x: [a, b]}]"],
            id="the same version twice in a channel",
        ),
        pytest.param(
            [package(), channel("b"), channel("a", name="d"), bundle("b", "2.0.0"), bundle("a", "2.0.0")],
            ["duplicate versions found in bundles: [{2.0.0: [a, b]}]"],
            id="in two channels",
        ),
        pytest.param(
            [
                package(),
                channel(entry("a", skips=("b", "c", "d")), "b", "c", "d"),
                *(bundle("a", "10.0.0"), bundle("b", "9.0.0"), bundle("c", "9.0.0"), bundle("d", "10.0.0")),
            ],
            ["duplicate versions found in bundles: [{10.0.0: [a, d]} {9.0.0: [b, c]}]"],
            id="two versions, in the order of their text",
        ),
        pytest.param(
            [package(), channel(entry("a", skips=("b",)), "b"), bundle("a", "1.0.0+x"), bundle("b", "1.0.0+y")],
            [],
            id="versions that differ in their build metadata",
        ),
        pytest.param(
            [package(), channel("b"), channel("b", name="d"), bundle("b")], [], id="the same bundle in two channels"
        ),
        pytest.param(
            [
                package(),
                channel(entry("p-v1.0.0-1", skips=("p-v1.0.0-2",)), "p-v1.0.0-2"),
                *(bundle("p-v1.0.0-1", "1.0.0", release="1"), bundle("p-v1.0.0-2", "1.0.0", release="2")),
            ],
            [],
            id="versions that differ in their release",
        ),
        pytest.param(
            [
                package(),
                channel(entry("a", skips=("b",)), "b"),
                bundle("a", "1.0.0-2"),
                bundle("b", "1.0.0", release="2"),
            ],
            [
                'invalid channel "c": invalid bundle "b": name "b" does not match normalized name "p-v1.0.0-2"',
                "duplicate versions found in bundles: [{1.0.0-2: [a, b]}]",
            ],
            id="a release looks like a prerelease",
        ),
        pytest.param(
            [package(), channel(entry("x", skips=("y",)), "y"), channel("b", name="d"), bundle("b")],
            [
                *(
                    f'invalid channel "c": invalid bundle "{name}": {text}'
                    for name in "xy"
                    for text in (NO_PROPERTY, NO_IMAGE)
                ),
                "duplicate versions found in bundles: [{0.0.0: [x, y]}]",
            ],
            id="entries without bundles are all of version 0.0.0",
        ),
    ],
)
def test_versions(blobs: list[Value], expected: list[str]) -> None:
    assert sentences(*blobs) == expected


@pytest.mark.parametrize(
    ("blobs", "expected"),
    [
        pytest.param(
            [channel("a", "b"), bundle("a", "1.0.0"), bundle("b", "2.0.0")],
            ["multiple channel heads found in graph: a, b"],
            id="a graph that is wrong",
        ),
        pytest.param(
            [channel("a"), bundle("a"), deprecations(deprecated("olm.channel", "c", ""))],
            [DEPRECATION],
            id="a channel deprecated without a message",
        ),
        pytest.param(
            [
                channel(entry("a", skips=("b",), skip_range="<v1"), "b"),
                *(bundle("a", "1.0.0", image=""), bundle("b", "2.0.0", image="")),
                deprecations(deprecated("olm.bundle", "b", "")),
            ],
            [
                'invalid bundle "a": invalid skipRange "<v1": Could not parse Range "<v1": Could not parse comparator "<v" in'
                ' "<v1"',
                f'invalid bundle "a": {NO_IMAGE}',
                f'invalid bundle "b": {NO_IMAGE}',
                f'invalid bundle "b": {DEPRECATION}',
            ],
            id="bundles",
        ),
    ],
)
def test_channels(blobs: list[Value], expected: list[str]) -> None:
    assert sentences(package(), *blobs) == [f'invalid channel "c": {sentence}' for sentence in expected]


OBJECT = {"type": "olm.bundle.object", "value": {"data": "e30="}}


@pytest.mark.parametrize(
    ("one", "of_channel", "expected"),
    [
        pytest.param(bundle(""), entry(""), ["name must be set"], id="a bundle without a name"),
        pytest.param(
            bundle("b", "1.0.0", release="2.a"),
            entry("b"),
            ['name "b" does not match normalized name "p-v1.0.0-2.a"'],
            id="a name without the release",
        ),
        pytest.param(bundle("p-v1.0.0-2", "1.0.0", release="2"), entry("p-v1.0.0-2"), [], id="one that does"),
        pytest.param(
            bundle("p-v1.0.0+x-2", "1.0.0+x", release="2"),
            entry("p-v1.0.0+x-2"),
            ["cannot use build metadata in version with a release version"],
            id="build metadata and a release",
        ),
        pytest.param(bundle("b"), entry("b", skips=("x", "")), ["skip[1] is empty"], id="an empty skip"),
        pytest.param(
            bundle("b"),
            entry("b", skip_range="<1"),
            [
                'invalid skipRange "<1": Could not parse Range "<1": Could not parse version "1" in "<1": No Major.Minor.Patch'
                " elements found"
            ],
            id="an invalid skipRange",
        ),
        pytest.param(bundle("b"), entry("b", skip_range=">=1.0.0 <2.0.0 || 3.x.x"), [], id="a skipRange"),
        pytest.param(bundle("b", image=""), entry("b"), [NO_IMAGE], id="neither an image nor objects"),
        pytest.param(
            bundle("b", image="", properties=[*bundle("b")["properties"], OBJECT]),
            entry("b"),
            [],
            id="objects and no image",
        ),
        pytest.param(bundle("b"), entry("b", replaces="gone"), [], id="replaces may name a bundle that does not exist"),
    ],
)
def test_bundles(one: Value, of_channel: Value, expected: list[str]) -> None:
    name = of_channel["name"]
    found = [sentence for sentence in sentences(package(), channel(of_channel), one) if "cycle" not in sentence]
    assert found == [f'invalid channel "c": invalid bundle "{name}": {sentence}' for sentence in expected]


def test_icons_are_not_read() -> None:
    icon = {"base64data": "", "mediatype": "text/plain"}
    assert sentences(package(icon=icon), channel("b"), bundle("b")) == []


def test_the_tree_is_drawn_as_opm_draws_it() -> None:
    first = [package(), channel("a", "b"), bundle("a", image=""), bundle("b", "3.0.0", image="")]
    second = [package("q", defaultChannel=""), channel("b", package="q"), bundle("b", package="q")]
    assert opm_error(*first, *second).splitlines() == [
        "invalid index:",
        '├── invalid package "p":',
        '│   └── invalid channel "c":',
        "│       ├── multiple channel heads found in graph: a, b",
        '│       ├── invalid bundle "a":',
        "│       │   └── bundle image must be set",
        '│       └── invalid bundle "b":',
        "│           └── bundle image must be set",
        '└── invalid package "q":',
        "    └── default channel must be set",
    ]
