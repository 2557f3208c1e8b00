"""Upgrade graphs: heads, cycles, stranded entries; compared with the plain rules, and of a size that recursion cannot handle."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.fbc import channel_graph
from olmkit.fbc.catalog import Entry


def entries(text: str) -> dict[str, Entry]:
    """`c>b!x,y` is an entry c that replaces b and skips x and y."""
    found = {}
    for word in text.split():
        edges, _, skips = word.partition("!")
        name, _, replaces = edges.partition(">")
        found[name] = Entry(name, replaces, tuple(filter(None, skips.split(","))), "")
    return found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("a", "", id="one entry"),
        pytest.param("c>b b>a a", "", id="a chain"),
        pytest.param("a b>a c>b", "", id="a chain in another order"),
        pytest.param("b>a", "", id="a tail that replaces what is not there"),
        pytest.param("c!b,a b a", "", id="skips only"),
        pytest.param("c>a!b b>a a", "", id="a skipped entry that is not on the chain"),
        pytest.param("c>b!b b", "", id="what is replaced and skipped"),
        pytest.param("c>b!x b", "", id="a skip of what is not there"),
        pytest.param("a b", "multiple channel heads found in graph: a, b", id="two heads"),
        pytest.param("z b>a a", "multiple channel heads found in graph: b, z", id="heads are sorted"),
        pytest.param("a>b b>a", "no channel head found in graph", id="a cycle of all"),
        pytest.param("a>a", "no channel head found in graph", id="an entry that replaces itself"),
        pytest.param("a!a", "no channel head found in graph", id="an entry that skips itself"),
        pytest.param(
            "d>c c>b b>a a>c",
            "detected cycle in replaces chain of upgrade graph: c -> b -> a -> c",
            id="a cycle below the head",
        ),
        pytest.param(
            "c>b b>b", "detected cycle in replaces chain of upgrade graph: b -> b", id="a cycle of one below the head"
        ),
        pytest.param(
            "c a>b b>a",
            "channel contains one or more stranded bundles: a, b",
            id="a cycle that the head does not reach",
        ),
        pytest.param(
            "d!c c>b b>a a",
            "channel contains one or more stranded bundles: a, b",
            id="what only a skipped entry replaces",
        ),
        pytest.param(
            "d>c!c c>b b", "channel contains one or more stranded bundles: b", id="the walk stops at what is skipped"
        ),
        pytest.param("d>c!b c>b b>d", "no channel head found in graph", id="a skip breaks a cycle but leaves no head"),
        pytest.param("e>c!b c>b b>c", "", id="a skip breaks a cycle below the head"),
    ],
)
def test_graphs(text: str, fault: str) -> None:
    assert channel_graph.graph_error(entries(text)) == fault


def test_an_entry_without_a_name_is_met_by_an_empty_replaces() -> None:
    """As opm does: an entry that replaces nothing leads to it."""
    unnamed = {"": Entry("", "", (), "")}
    assert channel_graph.graph_error(unnamed) == "detected cycle in replaces chain of upgrade graph:  -> "
    both = {**unnamed, "a": Entry("a", "", (), "")}
    assert channel_graph.graph_error(both) == "multiple channel heads found in graph: , a"


NAMES = [*"abcdef", ""]
edges = st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2))


@given(st.dictionaries(st.sampled_from(NAMES), edges, min_size=1))
def test_any_graph_is_checked_as_by_the_plain_rules(drawn: dict[str, tuple[str, list[str]]]) -> None:
    graph_drawn = {name: Entry(name, replaces, tuple(skips), "") for name, (replaces, skips) in drawn.items()}
    assert channel_graph.graph_error(graph_drawn) == plain_reading(graph_drawn)


def plain_reading(drawn: Mapping[str, Entry]) -> str:
    """The rules of formats 1.7, one after the other, without regard to speed."""

    def is_skipped(name: str) -> bool:
        return any(name in entry.skips for entry in drawn.values())

    def is_replaced(name: str) -> bool:
        return name != "" and any(entry.replaces == name for entry in drawn.values())

    heads = sorted(name for name in drawn if not is_skipped(name) and not is_replaced(name))
    if len(heads) != 1:
        return (
            f"multiple channel heads found in graph: {', '.join(heads)}" if heads else "no channel head found in graph"
        )
    way = [heads[0]]
    while way[-1] in drawn and not is_skipped(drawn[way[-1]].replaces):
        below = drawn[way[-1]].replaces
        if below in way:
            cycle = way[way.index(below) :]
            return f"detected cycle in replaces chain of upgrade graph: {' -> '.join([*cycle, below])}"
        way.append(below)
    stranded = sorted(name for name in drawn if name not in way and not is_skipped(name))
    return f"channel contains one or more stranded bundles: {', '.join(stranded)}" if stranded else ""


LONG = 100_000


@pytest.mark.timeout(120)  # a second or so; hours if it were quadratic
@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        pytest.param("", "", id="a chain of a hundred thousand"),
        pytest.param(
            *("b0", "detected cycle in replaces chain of upgrade graph: b0 -> b0"), id="that ends in a cycle of one"
        ),
        pytest.param(f"b{LONG}", "no channel head found in graph", id="that ends where it began"),
    ],
)
def test_long_chains(tail: str, fault: str) -> None:
    chain = {f"b{at}": Entry(f"b{at}", f"b{at - 1}" if at else tail, (), "") for at in range(LONG, -1, -1)}
    assert channel_graph.graph_error(chain) == fault


@pytest.mark.timeout(120)
def test_a_hundred_thousand_entries_that_all_skip_each_other() -> None:
    everyone = tuple(f"b{at}" for at in range(LONG))
    drawn = {name: Entry(name, "", (), "") for name in everyone} | {"head": Entry("head", "", everyone, "")}
    assert channel_graph.graph_error(drawn) == ""
