"""The upgrade edges: single examples, and comparison with a search that tests every entry for every bundle."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat.versions import BadRange, BlangRange, Version, parse_bundle_version, parse_version
from operator_controller.resolve.package.package_content import Channel, Entry
from operator_controller.resolve.package.upgrade_graph import UpgradeGraph, UpgradeStart, direct_upgrades
from tests.examples import example_count

ENTRIES = (
    Entry("v1"),
    Entry("v2", replaces="v1"),
    Entry("v3", replaces="v2", skips=("v1", "v0")),
    Entry("v4", skip_range=">=1.0.0 <2.0.0"),
    Entry("v5", replaces="v5", skip_range="not a range"),
)
VERSIONS: dict[str, Version | None] = {f"v{number}": parse_version(f"{number}.0.0") for number in range(1, 6)}


def graph(*entries: Entry) -> UpgradeGraph:
    return UpgradeGraph([Channel("a", tuple(entries))], VERSIONS)


@pytest.mark.parametrize(
    ("start", "reached"),
    [
        pytest.param(
            UpgradeStart("v1", parse_version("1.0.0")), {"v2", "v3", "v4"}, id="replaces, skips and skipRange"
        ),
        pytest.param(UpgradeStart("v0", None), {"v3"}, id="a name without an entry and version"),
        pytest.param(
            UpgradeStart("other", parse_version("1.5.0")), {"v4"}, id="a version in a skipRange, whatever its name"
        ),
        pytest.param(UpgradeStart("other", parse_bundle_version("1.5.0+3")), {"v4"}, id="without its release"),
        pytest.param(
            UpgradeStart("v5", parse_version("5.0.0")), set(), id="an entry that replaces itself leads nowhere"
        ),
        pytest.param(UpgradeStart("v3", parse_version("3.0.0")), set(), id="a head"),
    ],
)
def test_direct_upgrades(start: UpgradeStart, reached: set[str]) -> None:
    assert graph(*ENTRIES).paths_from(start, VERSIONS.keys()).direct == reached
    assert direct_upgrades([Channel("a", ENTRIES)], start) == {"a": reached}


def test_the_edges_of_all_given_channels_count() -> None:
    both = UpgradeGraph(
        [Channel("a", (Entry("v2", replaces="v1"),)), Channel("b", (Entry("v3", replaces="v1"),))], VERSIONS
    )
    assert both.paths_from(UpgradeStart("v1", None), VERSIONS.keys()).direct == {"v2", "v3"}


def test_the_shortest_path_ends_with_the_goal() -> None:
    chain = graph(Entry("v2", replaces="v1"), Entry("v3", replaces="v2", skips=("v1",)), Entry("v4", replaces="v3"))
    start = UpgradeStart("v1", VERSIONS["v1"])
    paths = chain.paths_from(start, VERSIONS.keys())
    assert paths.path_to("v4") == ("v3", "v4")
    assert paths.path_to("v9") == ()
    assert paths.path_to("v2") == ("v2",)
    assert chain.paths_from(start, {"v4"}).path_to("v4") == ()


def test_a_path_may_contain_a_bundle_of_unknown_version() -> None:
    unversioned = UpgradeGraph(
        [Channel("a", (Entry("x", replaces="v1"), Entry("v3", replaces="x")))], {"x": None, "v3": VERSIONS["v3"]}
    )
    assert unversioned.paths_from(UpgradeStart("v1", None), {"x", "v3"}).path_to("v3") == ("x", "v3")


# Several names of one version, releases and prereleases, names without a version, and entries without a bundle.
TEXTS = {
    "v1": "1.0.0",
    "v1again": "1.0.0",
    "v1.2": "1.0.0+2",
    "v1.10": "1.0.0+10",
    "v2rc": "2.0.0-rc.1",
    "v2": "2.0.0",
    "v3": "3.0.0",
    "v4": "4.0.0",
}
KNOWN: dict[str, Version | None] = {name: parse_bundle_version(text) for name, text in TEXTS.items()} | {"odd": None}
names = st.sampled_from([*KNOWN, "absent"])
bounds = st.builds(
    "{}{}".format,
    st.sampled_from(["", "=", "!=", ">", ">=", "<", "<="]),
    st.sampled_from(["0.5.0", "1.0.0", "2.0.0-rc.1", "2.0.0", "3.0.0", "9.0.0", "1.x"]),
)
groups = st.lists(bounds, min_size=1, max_size=3).map(" ".join)
ranges = st.one_of(st.just(""), st.just("junk"), st.lists(groups, min_size=1, max_size=2).map(" || ".join))
entries = st.builds(Entry, names, st.one_of(st.just(""), names), st.lists(names, max_size=3).map(tuple), ranges)
channels = st.lists(
    st.builds(Channel, st.sampled_from("ab"), st.lists(entries, max_size=6).map(tuple)),
    max_size=2,
    unique_by=lambda channel: channel.name,
)
starts = st.sampled_from(
    [
        *(UpgradeStart(name, version) for name, version in KNOWN.items()),
        UpgradeStart("withdrawn", parse_version("1.5.0")),
        UpgradeStart("", None),
    ]
)


def upgrades(entry: Entry, start: UpgradeStart) -> bool:
    """The definition of an upgrade edge."""
    if entry.name == start.name:
        return False
    if start.name and (entry.replaces == start.name or start.name in entry.skips):
        return True
    try:
        return start.version is not None and BlangRange.parse(entry.skip_range).matches(start.version)
    except BadRange:
        return False


def search_slowly(
    found: Sequence[Channel], start: UpgradeStart, among: Collection[str], versions: Mapping[str, Version | None]
) -> dict[str, str | None]:
    """The shortest paths, of several those with the highest first steps: every entry is tested for every bundle."""
    previous: dict[str, str | None] = {}
    frontier: list[tuple[str | None, UpgradeStart]] = [(None, start)]
    while frontier:
        reached: list[tuple[str | None, UpgradeStart]] = []
        for before, here in frontier:
            following = {entry.name for channel in found for entry in channel.entries if upgrades(entry, here)}
            known = [(version, name) for name in following if (version := versions.get(name)) is not None]
            unknown = sorted(name for name in following if versions.get(name) is None)
            for name in [*(name for _, name in sorted(known, reverse=True)), *unknown]:
                if name in among and name not in previous and name != start.name:
                    previous[name] = before
                    reached.append((name, UpgradeStart(name, versions.get(name))))
        frontier = reached
    return previous


@settings(deadline=None)
@given(channels, starts, st.sets(names))
def test_the_paths_are_those_of_the_slow_search(found: Sequence[Channel], start: UpgradeStart, among: set[str]) -> None:
    paths = UpgradeGraph(found, KNOWN).paths_from(start, among)
    assert list(paths.previous.items()) == list(search_slowly(found, start, among, KNOWN).items())


@settings(deadline=None)
@given(channels, starts)
def test_the_direct_upgrades_of_a_channel_are_those_of_its_entries(
    found: Sequence[Channel], start: UpgradeStart
) -> None:
    expected = {channel.name: {entry.name for entry in channel.entries if upgrades(entry, start)} for channel in found}
    assert direct_upgrades(found, start) == expected


@settings(deadline=None)
@given(channels, starts, names)
def test_a_path_ends_with_its_goal_and_contains_no_bundle_twice(
    found: Sequence[Channel], start: UpgradeStart, goal: str
) -> None:
    path = UpgradeGraph(found, KNOWN).paths_from(start, KNOWN.keys()).path_to(goal)
    here = start
    for name in path:
        assert any(entry.name == name and upgrades(entry, here) for channel in found for entry in channel.entries)
        here = UpgradeStart(name, KNOWN.get(name))
    assert not path or path[-1] == goal
    assert len(set(path)) == len(path)


@settings(max_examples=example_count(300))
@given(
    st.lists(
        st.builds(
            Entry,
            st.sampled_from(sorted(VERSIONS)),
            st.sampled_from(["", *VERSIONS]),
            st.lists(st.sampled_from(sorted(VERSIONS)), max_size=2).map(tuple),
            st.sampled_from(["", "<3.0.0", ">=2.0.0 <5.0.0", "junk"]),
        ),
        max_size=8,
    ),
    st.permutations(sorted(VERSIONS)),
)
def test_the_target_is_the_first_bundle_that_a_forward_search_reaches(
    entries: list[Entry], best_first: list[str]
) -> None:
    edges = graph(*entries)
    targets = edges.targets(best_first)
    for name in VERSIONS:
        paths = edges.paths_from(UpgradeStart(name, VERSIONS[name]), VERSIONS.keys())
        reached = {name: 0} | {goal: len(paths.path_to(goal)) for goal in paths.previous}
        best = min(reached, key=best_first.index)
        assert (targets[name].name, targets[name].steps) == (best, reached[best])
        assert {other for other in VERSIONS if name in paths_of(edges, other)} == edges.leading_to(name, best_first)


def paths_of(edges: UpgradeGraph, start: str) -> set[str]:
    """The bundles that can be reached from a bundle."""
    return set(edges.paths_from(UpgradeStart(start, VERSIONS[start]), VERSIONS.keys()).previous)
