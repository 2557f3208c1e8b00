"""The upgrade graph as rows and lanes."""

from collections.abc import Mapping, Sequence

from console.graph_layout import MAX_ROWS, ROWS_BELOW, Layout, layout
from console.graph_svg import svg
from olmctl.authoring.graph_drawing import DrawingInput, draw
from olmkit.fbc.catalog import Channel, Entry, Package


def _layout(
    channels: Mapping[str, Sequence[Entry]],
    running: str = "",
    reach: Sequence[str] = (),
    *,
    followed: str = "stable",
    whole: bool = False,
) -> Layout:
    names = {each.name for entries in channels.values() for each in entries}
    versions = {name: name.partition(".v")[2] for name in names}
    parts = DrawingInput(
        Package("p", "stable", "", None),
        [Channel(name, "p", tuple(entries)) for name, entries in channels.items()],
        versions,
        (),
        frozenset({running} - {""}),
        frozenset(reach),
    )
    return layout(draw("p", parts), versions, followed, whole=whole)


def _chain(count: int) -> list[Entry]:
    return [Entry(f"p.v1.{at}.0", f"p.v1.{at - 1}.0" if at else "", (), "") for at in range(count)]


def test_rows_are_the_versions_newest_first_each_once() -> None:
    drawn = _layout({"stable": _chain(12), "candidate": _chain(13)}, "p.v1.9.0", ["p.v1.10.0", "p.v1.11.0"])

    assert [row.version for row in drawn.rows] == [f"1.{at}.0" for at in range(12, -1, -1)]
    assert drawn.lanes == ("stable", "candidate")
    first = drawn.rows[0]
    assert (first.channels, first.heads, first.is_newer, first.is_far) == (("candidate",), ("candidate",), True, True)
    assert [row.version for row in drawn.rows if row.is_running] == ["1.9.0"]
    assert [row.version for row in drawn.rows if row.is_in_reach] == ["1.11.0", "1.10.0"]
    assert not any(row.is_newer for row in drawn.rows if row.version in ("1.9.0", "1.8.0"))


def test_each_edge_is_drawn_once_in_its_lane() -> None:
    entries = [*_chain(4), Entry("p.v1.4.0", "p.v1.3.0", ("p.v1.1.0", "p.v1.2.0"), "")]
    drawn = _layout({"stable": entries, "other": _chain(3)})

    found = sorted((each.lane, each.old, each.new, each.why) for each in drawn.lines)
    assert found == [
        (0, 1, 0, "replaces"),
        (0, 2, 0, "skips"),
        (0, 2, 1, "replaces"),
        (0, 3, 0, "skips"),
        (0, 3, 2, "replaces"),
        (0, 4, 3, "replaces"),
        (1, 3, 2, "replaces"),
        (1, 4, 3, "replaces"),
    ]


def test_the_way_from_what_runs_is_marked_in_the_followed_lane_only() -> None:
    channels = {"stable": _chain(4), "other": _chain(4)}
    drawn = _layout(channels, "p.v1.1.0", ["p.v1.2.0", "p.v1.3.0"], followed="other")

    assert drawn.lanes[0] == "other"
    assert [(each.lane, each.old, each.new) for each in drawn.lines if each.is_path] == [(0, 2, 1), (0, 1, 0)]
    assert {each.state for each in drawn.dots if each.lane == 1} == {"off"}
    assert [each.state for each in sorted(drawn.dots, key=lambda dot: dot.row) if each.lane == 0] == [
        "reach",
        "reach",
        "run",
        "",
    ]


def test_a_long_range_is_one_bracket_over_its_rows() -> None:
    entries = [Entry(f"p.v1.{at}.0", "", (), "") for at in range(9)]
    drawn = _layout({"stable": [*entries, Entry("p.v1.9.0", "", (), ">=1.2.0 <1.9.0")]}, "p.v1.5.0", ["p.v1.9.0"])

    assert [(each.old, each.new, each.is_span, each.is_path) for each in drawn.lines] == [(7, 0, True, True)]
    assert 'class="g-edge span path"' in svg(drawn)


def test_a_long_graph_is_folded_below_what_runs() -> None:
    drawn = _layout({"stable": _chain(100)}, "p.v1.90.0")

    assert [row.version for row in drawn.rows][-1] == f"1.{90 - ROWS_BELOW}.0"
    assert drawn.folded == 100 - len(drawn.rows)
    assert max(max(each.old, each.new) for each in drawn.lines) == len(drawn.rows)  # one leads beyond the end
    assert len(_layout({"stable": _chain(100)}).rows) == MAX_ROWS
    assert len(_layout({"stable": _chain(100)}, whole=True).rows) == 100


def test_what_no_channel_offers_says_why() -> None:
    drawn = _layout({"stable": [Entry("p.v1.1.0", "p.v1.0.0", (), "")]})

    assert [(row.bundle, row.missing) for row in drawn.rows] == [("p.v1.1.0", ""), ("p.v1.0.0", "not in this channel")]


def test_many_channels_stand_closer_and_within_the_drawing() -> None:
    drawn = _layout({f"c{at}": _chain(3) for at in range(40)})

    assert drawn.width < 240
    assert all(0 < drawn.x(lane) < drawn.width for lane in range(40))


def test_the_drawing_holds_nothing_of_a_catalog() -> None:
    hostile = '"><script>alert(1)</script>.v1.0.0'
    drawn = _layout({"<img src=x onerror=1>": [Entry(hostile, "", (), "")]})

    assert svg(drawn) == (
        '<svg aria-hidden="true" width="48" height="44" viewBox="0 0 48 44">'
        '<circle class="g-node off" cx="18" cy="22" r="4"/></svg>'
    )


def test_a_package_without_versions_is_an_empty_drawing() -> None:
    drawn = _layout({})

    assert (drawn.rows, drawn.lines, drawn.dots, drawn.folded) == ((), (), (), 0)
    assert svg(drawn).startswith('<svg aria-hidden="true"')


def test_a_row_says_which_upgrades_lead_to_it() -> None:
    ranged = [*_chain(3), *(Entry(f"p.v0.{at}.0", "", (), "") for at in range(9))]
    entries = [*ranged, Entry("p.v1.3.0", "p.v1.2.0", ("p.v1.1.0",), ">=0.1.0 <1.0.0")]
    drawn = _layout({"stable": entries, "other": _chain(2)}, "p.v1.1.0", ["p.v1.3.0"])

    rows = {row.version: row.sources for row in drawn.rows}
    assert rows["1.3.0"] == ("1.2.0 (replaces)", "1.1.0 (skips)", ">=0.1.0 <1.0.0 (skips a range)")
    assert (rows["1.1.0"], rows["1.0.0"]) == (("1.0.0 (replaces)",), ())
    assert 'data-lane="0" data-from="2" data-to="0"' in svg(drawn)
