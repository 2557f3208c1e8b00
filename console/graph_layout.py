"""The places of an upgrade graph: a row for each version, the newest first, and a lane for each channel.

The rows are a list that is read without the drawing; graph_svg.py draws the lanes beside it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from olmctl.authoring.graph_drawing import ChannelDrawing, Drawing, Edge, Node, Range
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Version, parse_version

ROW_HEIGHT = 44
MAX_ROWS = 60
"""More rows are folded: those below what runs."""
ROWS_BELOW = 5
"""Rows below what runs that are shown in a folded graph."""
_MARGIN = 18
_WIDEST_LANES, _LANE = 3, 24
_LEAST = 4


@dataclass(frozen=True)
class Row:
    """One version. `heads` are the channels whose head it is; `missing` says why no channel offers it."""

    bundle: str
    version: str
    channels: tuple[str, ...]
    heads: tuple[str, ...]
    is_running: bool
    is_in_reach: bool
    is_deprecated: bool
    missing: str
    is_newer: bool
    """True if it is newer than what runs."""
    is_older: bool = False
    """True if it is older than what runs."""
    sources: tuple[str, ...] = ()
    """The versions and ranges that can be upgraded to it, each with why."""

    @property
    def is_far(self) -> bool:
        """True if it neither runs nor is in reach of what runs."""
        return not self.is_running and not self.is_in_reach


@dataclass(frozen=True)
class Line:
    """An edge: the upgrade from the row `old` to the row `new` in a lane; a row outside of the list is beyond its end.

    `why` is replaces, skips, or the text of a skipRange; `is_span` if it stands for all rows between. `is_path` if it leads from
    what runs.
    """

    lane: int
    old: int
    new: int
    why: str
    is_main: bool
    is_span: bool
    is_path: bool


@dataclass(frozen=True)
class Dot:
    """A version in a lane: its state is run, reach, off (a channel that is not followed) or "" (followed, neither)."""

    lane: int
    row: int
    state: str


@dataclass(frozen=True)
class Layout:
    """The rows that are shown, what is drawn beside them, and the number of rows that are folded below them."""

    rows: tuple[Row, ...]
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...]
    lanes: tuple[str, ...]
    folded: int

    @property
    def lane_width(self) -> int:
        """The distance of two lanes: many channels stand closer."""
        count = len(self.lanes)
        return _LANE if count <= _WIDEST_LANES else max(_LEAST, _LANE * _WIDEST_LANES // count)

    @property
    def width(self) -> int:
        """The width of the drawing."""
        return 2 * _MARGIN + max(len(self.lanes) - 1, 0) * self.lane_width + self.lane_width // 2

    def x(self, lane: int) -> int:
        """The place of a lane: the first one, which is followed, is the last on the right."""
        return _MARGIN + (len(self.lanes) - 1 - lane) * self.lane_width


def layout(
    drawn: Drawing, versions: Mapping[str, str], followed: str = "", *, whole: bool = False, limit: int = MAX_ROWS
) -> Layout:
    """The places of a drawing. `versions` are by bundle name; `followed` is the channel that the Operator follows. Of more rows
    than `limit` those down to what runs are shown, unless the `whole` graph is asked for."""
    order = _ordered(drawn, versions)
    shown = order if whole or len(order) <= limit else order[: _end(order, _running(drawn), limit)]
    places = {name: number for number, name in enumerate(shown)}
    names = [channel.name for channel in drawn.channels]
    mine = followed if followed in names else next((each.name for each in drawn.channels if each.is_default), "")
    lanes = sorted(drawn.channels, key=lambda channel: (channel.name != mine, channel.name))
    rows = tuple(_rows(shown, drawn, versions))
    lines: list[Line] = []
    dots: list[Dot] = []
    for lane, channel in enumerate(lanes):
        nodes = {node.name: node for node in channel.nodes}
        is_mine = channel.name == mine
        below = {name: number for number, name in enumerate(order)}
        lines.extend(_lines(channel, lane, below, len(shown), nodes, versions, is_mine=is_mine))
        dots.extend(
            Dot(lane, places[name], _state(node, is_mine=is_mine)) for name, node in nodes.items() if name in places
        )
    return Layout(
        rows,
        tuple(sorted(lines, key=lambda each: each.is_path)),
        tuple(dots),
        tuple(each.name for each in lanes),
        len(order) - len(shown),
    )


def _running(drawn: Drawing) -> set[str]:
    return {node.name for channel in drawn.channels for node in channel.nodes if node.is_running}


def _ordered(drawn: Drawing, versions: Mapping[str, str]) -> list[str]:
    """The names of all bundles, the newest first, those without a version last."""
    names = dict.fromkeys(node.name for channel in drawn.channels for node in channel.nodes)
    known = {name: version for name in names if (version := _version(versions.get(name, "")))}
    return [*sorted(known, key=lambda name: known[name], reverse=True), *sorted(set(names) - set(known))]


def _version(text: str) -> Version | None:
    try:
        return parse_version(text)
    except BadVersion:
        return None


def _end(order: list[str], running: set[str], limit: int) -> int:
    """The number of rows that a folded graph shows: down to what runs and a few more."""
    last = max((number for number, name in enumerate(order) if name in running), default=-1)
    return min(last + 1 + ROWS_BELOW, len(order)) if last >= 0 else limit


def _rows(shown: Iterable[str], drawn: Drawing, versions: Mapping[str, str]) -> Iterable[Row]:
    running, sources = _running(drawn), _sources(drawn, versions)
    is_newer = bool(running)
    for name in shown:
        found = [(channel.name, node) for channel in drawn.channels for node in channel.nodes if node.name == name]
        is_newer = is_newer and name not in running
        offered = tuple(channel for channel, node in found if not node.missing)
        yield Row(
            name,
            versions.get(name) or name,
            offered,
            tuple(channel for channel, node in found if node.is_head),
            any(node.is_running for _, node in found),
            any(node.is_in_reach for _, node in found),
            any(node.is_deprecated for _, node in found),
            "" if offered else next(node.missing for _, node in found),
            is_newer,
            bool(running) and not is_newer and name not in running,
            tuple(sources.get(name, ())),
        )


def _sources(drawn: Drawing, versions: Mapping[str, str]) -> dict[str, dict[str, None]]:
    """The upgrades that lead to each bundle, in words."""
    found: dict[str, dict[str, None]] = {}
    for channel in drawn.channels:
        for edge in channel.edges:
            old = edge.old.text if isinstance(edge.old, Range) else versions.get(edge.old) or edge.old
            found.setdefault(edge.new, {})[
                f"{old} ({'skips a range' if isinstance(edge.old, Range) else edge.why})"
            ] = None
    return found


def _state(node: Node, *, is_mine: bool) -> str:
    if not is_mine:
        return "off"
    return "run" if node.is_running else "reach" if node.is_in_reach else ""


def _lines(  # noqa: PLR0913 one lane
    channel: ChannelDrawing,
    lane: int,
    places: Mapping[str, int],
    count: int,
    nodes: Mapping[str, Node],
    versions: Mapping[str, str],
    *,
    is_mine: bool,
) -> Iterable[Line]:
    for edge in channel.edges:
        olds = _olds(edge, versions, nodes)
        old, new = max((places[name] for name in olds), default=count), places.get(edge.new, count)
        if not olds or min(old, new) >= count:
            continue  # below the rows that are shown
        is_path = is_mine and nodes[edge.new].is_in_reach and any(_is_on_path(nodes.get(name)) for name in olds)
        is_span = isinstance(edge.old, Range)
        yield Line(lane, min(old, count), min(new, count), edge.why, edge.is_main, is_span, is_path)


def _is_on_path(node: Node | None) -> bool:
    return node is not None and (node.is_running or node.is_in_reach)


def _olds(edge: Edge, versions: Mapping[str, str], nodes: Mapping[str, Node]) -> list[str]:
    """The bundles that an edge begins at: one, or those in a range."""
    if isinstance(edge.old, str):
        return [edge.old] if edge.old in nodes else []
    try:
        wanted = BlangRange.parse(edge.old.text)
    except BadRange:
        return []
    known = ((name, _version(versions.get(name, ""))) for name in nodes)
    return [name for name, version in known if version and name != edge.new and wanted.matches(version)]
