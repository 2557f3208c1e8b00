"""The upgrade edges, by hand and against a closure computed the slow way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.versions import BlangRange, Version, parse_bundle_version, parse_version
from operator_controller.resolve.package import Channel, Entry
from operator_controller.resolve.upgrades import Graph, Place

ENTRIES = (
    Entry("v1"),
    Entry("v2", replaces="v1"),
    Entry("v3", replaces="v2", skips=("v1", "v0")),
    Entry("v4", skip_range=">=1.0.0 <2.0.0"),
    Entry("v5", replaces="v5", skip_range="not a range"),
)
VERSIONS: dict[str, Version | None] = {f"v{number}": parse_version(f"{number}.0.0") for number in range(1, 6)}


def graph(*entries: Entry) -> Graph:
    return Graph([Channel("a", tuple(entries))], VERSIONS)


@pytest.mark.parametrize(
    ("place", "reached"),
    [
        pytest.param(Place("v1", parse_version("1.0.0")), {"v2", "v3", "v4"}, id="replaces, skips and skipRange"),
        pytest.param(Place("v0", None), {"v3"}, id="a name that is no entry itself, of unknown version"),
        pytest.param(Place("other", parse_version("1.5.0")), {"v4"}, id="a version in a skipRange, whatever its name"),
        pytest.param(Place("other", parse_bundle_version("1.5.0+3")), {"v4"}, id="without its release"),
        pytest.param(Place("v5", parse_version("5.0.0")), set(), id="an entry that replaces itself leads nowhere"),
        pytest.param(Place("v3", parse_version("3.0.0")), set(), id="a head"),
    ],
)
def test_what_may_follow(place: Place, reached: set[str]) -> None:
    assert graph(*ENTRIES).next_from(place) == reached


def test_edges_of_all_channels_that_are_handed_in_count() -> None:
    both = Graph([Channel("a", (Entry("v2", replaces="v1"),)), Channel("b", (Entry("v3", replaces="v1"),))], VERSIONS)
    assert both.next_from(Place("v1", None)) == {"v2", "v3"}


def test_a_path_is_short_and_ends_with_the_goal() -> None:
    chain = graph(Entry("v2", replaces="v1"), Entry("v3", replaces="v2", skips=("v1",)), Entry("v4", replaces="v3"))
    start = Place("v1", VERSIONS["v1"])
    assert chain.path(start, "v4", VERSIONS.keys()) == ("v3", "v4")
    assert chain.path(start, "v4", {"v4"}) == ()
    assert chain.path(start, "v9", VERSIONS.keys()) == ()
    assert chain.path(start, "v2", VERSIONS.keys()) == ("v2",)


def test_a_way_may_lead_over_a_bundle_of_unknown_version() -> None:
    odd = Graph(
        [Channel("a", (Entry("x", replaces="v1"), Entry("v3", replaces="x")))], {"x": None, "v3": VERSIONS["v3"]}
    )
    assert odd.path(Place("v1", None), "v3", {"x", "v3"}) == ("x", "v3")


names = st.sampled_from([f"v{number}" for number in range(1, 6)])
ranges = st.sampled_from(["", "", ">=1.0.0 <3.0.0", "<4.0.0", ">=3.0.0", "junk"])
entries = st.builds(Entry, names, st.one_of(st.just(""), names), st.lists(names, max_size=2).map(tuple), ranges)
channels = st.lists(entries, max_size=8)


@given(channels, names, st.sets(names))
def test_what_is_reachable_is_the_closure_of_what_may_follow(
    found: Sequence[Entry], start: str, among: set[str]
) -> None:
    one = graph(*found)
    expected: set[str] = set()
    frontier = {start}
    while frontier:
        steps = {name for place in frontier for name in _followers(found, place)} & among
        frontier = steps - expected - {start}
        expected |= frontier
    assert one.reachable(Place(start, VERSIONS[start]), among) == expected


@given(channels, names, names)
def test_each_step_of_a_path_is_an_edge(found: Sequence[Entry], start: str, goal: str) -> None:
    path = graph(*found).path(Place(start, VERSIONS[start]), goal, VERSIONS.keys())
    here = start
    for name in path:
        assert name in _followers(found, here)
        here = name
    assert not path or path[-1] == goal
    assert len(set(path)) == len(path)


def _followers(found: Sequence[Entry], name: str) -> set[str]:
    """The rule word by word."""
    version = VERSIONS[name]
    assert version is not None
    return {
        entry.name
        for entry in found
        if entry.name != name
        and (
            entry.replaces == name
            or name in entry.skips
            or (entry.skip_range not in ("", "junk") and BlangRange.parse(entry.skip_range).matches(version))
        )
    }
