"""What a new version replaces and skips."""

from __future__ import annotations

import pytest

from olmctl.project.upgrade_edge import Edge, PackageGraph, apply_edge, upgrade_edge
from olmkit.fbc.catalog import Entry
from olmkit.gocompat.versions import parse_version


def graph(*, deprecated: tuple[str, ...] = (), **channels: str) -> PackageGraph:
    """Channels as `1.0.0 1.1.0>1.0.0 2.0.0>1.1.0~1.0.1`: version, what it replaces, what it skips."""
    found: dict[str, tuple[Entry, ...]] = {}
    versions = {}
    for channel, text in channels.items():
        entries = []
        for part in text.split():
            edges, *skips = part.split("~")
            version, _, replaces = edges.partition(">")
            versions[f"p.v{version}"] = parse_version(version)
            entries.append(
                Entry(f"p.v{version}", replaces and f"p.v{replaces}", tuple(f"p.v{each}" for each in skips), "")
            )
        found[channel] = tuple(entries)
    return PackageGraph("stable", found, versions, {f"p.v{each}" for each in deprecated})


def edge(package: PackageGraph, version: str, *channels: str, default: str = "") -> Edge:
    return upgrade_edge(package, f"p.v{version}", parse_version(version), channels or ("stable",), default)


CHAIN = "1.0.0 1.1.0>1.0.0 1.2.0>1.1.0"


@pytest.mark.parametrize(
    ("package", "version", "replaces", "skips"),
    [
        pytest.param(graph(stable=CHAIN), "1.3.0", "1.2.0", "", id="the head is replaced"),
        pytest.param(
            graph(stable=CHAIN), "1.1.5", "1.1.0", "", id="the head is newer: the highest older version is replaced"
        ),
        pytest.param(graph(stable=CHAIN), "0.9.0", "", "", id="nothing is older"),
        pytest.param(graph(), "1.0.0", "", "", id="the package is not there"),
        pytest.param(
            graph(stable=CHAIN, deprecated=("1.2.0",)), "1.3.0", "1.1.0", "1.2.0", id="a deprecated head is skipped"
        ),
        pytest.param(
            graph(stable=CHAIN, deprecated=("1.2.0", "1.1.0")),
            *("1.3.0", "1.0.0", "1.2.0 1.1.0"),
            id="several deprecated versions are skipped",
        ),
        pytest.param(
            graph(stable="1.0.0", deprecated=("1.0.0",)),
            "1.1.0",
            "1.0.0",
            "",
            id="the only version is replaced nevertheless",
        ),
        pytest.param(graph(stable="1.0.0 1.1.0 1.2.0>1.0.0"), "1.3.0", "1.2.0", "1.1.0", id="another head is skipped"),
        pytest.param(graph(stable=f"{CHAIN} 1.3.0>1.2.0~1.1.5"), "1.3.0", "1.2.0", "1.1.5", id="a published version"),
        pytest.param(
            graph(stable="1.0.0-rc.1 1.0.0-rc.2>1.0.0-rc.1"), "1.0.0", "1.0.0-rc.2", "", id="a prerelease is older"
        ),
        pytest.param(
            graph(stable="1.0.0>1.1.0 1.1.0>1.0.0", deprecated=("1.0.0", "1.1.0")),
            *("1.2.0", "1.0.0", "1.1.0"),
            id="versions that replace each other end",
        ),
    ],
)
def test_edges(package: PackageGraph, version: str, replaces: str, skips: str) -> None:
    found = edge(package, version)
    assert (found.replaces, found.skips) == (
        replaces and f"p.v{replaces}",
        tuple(f"p.v{each}" for each in skips.split()),
    )


@pytest.mark.parametrize(
    ("channels", "default", "replaces"),
    [
        pytest.param(("fast", "stable"), "", "p.v2.0.0", id="the first channel of the bundle"),
        pytest.param(("fast", "stable"), "stable", "p.v1.2.0", id="the default channel of the bundle"),
        pytest.param(("new",), "", "p.v1.2.0", id="a new channel: the default channel of the package"),
        pytest.param(("new", "fast"), "", "p.v2.0.0", id="the first one that is there"),
    ],
)
def test_the_channel_of_the_edges(channels: tuple[str, ...], default: str, replaces: str) -> None:
    assert edge(graph(stable=CHAIN, fast="2.0.0"), "3.0.0", *channels, default=default).replaces == replaces


def test_the_edges_of_the_catalog_come_before_those_of_the_base_and_its_skips_stay() -> None:
    spec = {"replaces": "p.v1.0.0", "skips": ["p.v1.0.1", "p.v1.2.0"]}
    assert apply_edge(spec, Edge("p.v1.2.0", ("p.v1.1.0",))) == [
        "replaces is p.v1.2.0, as the catalog has it, and not p.v1.0.0 of the base"
    ]
    assert spec == {"replaces": "p.v1.2.0", "skips": ["p.v1.0.1", "p.v1.1.0"]}


def test_without_an_edge_the_base_stays_as_it_is() -> None:
    spec = {"replaces": "p.v1.0.0"}
    assert (apply_edge(spec, Edge(notes=("note",))), spec) == (["note"], {"replaces": "p.v1.0.0"})
