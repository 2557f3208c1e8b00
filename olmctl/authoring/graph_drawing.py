"""The upgrade graph of a package as a drawing, and the drawing as text, for people or for Mermaid.

Edges lead from an installed bundle to the bundles to which it can be upgraded. Names come from the catalog, so they are escaped
and nodes have generated ids. The same catalog gives the same text. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from olmkit.fbc import channel_graph
from olmkit.fbc.catalog import BUNDLE, CHANNEL, PACKAGE, Channel, Deprecations, Entry, Package
from olmkit.gocompat.versions import BadRange, BadVersion, BlangRange, Version, parse_version

_MAX_RANGE_EDGES = 5
"""More bundles than this that only one skipRange selects are drawn as one node: a hundred would have ten thousand edges."""
_MERMAID_SAFE = frozenset(" ._-/+=:,()")


@dataclass(frozen=True)
class Node:
    """A bundle that a channel names. `missing` is the reason why the channel does not offer it; "" when it does."""

    name: str
    is_head: bool
    is_deprecated: bool
    missing: str
    is_running: bool = False
    is_in_reach: bool = False
    """True if upgrades lead from what runs to this bundle, in any number of steps."""
    is_excluded: bool = False
    """True if an Operator never chooses it."""


@dataclass(frozen=True)
class Range:
    """Several bundles of a channel as one node: the `count` bundles in the range of a skipRange."""

    text: str
    count: int


@dataclass(frozen=True)
class Edge:
    """An upgrade that the entry of `new` permits from `old`: `why` is replaces, skips, or skipRange with the range."""

    old: str | Range
    new: str
    why: str

    @property
    def is_main(self) -> bool:
        """True if it is an upgrade to the next bundle, which skips none."""
        return self.why == "replaces"


@dataclass(frozen=True)
class ChannelDrawing:
    """One channel as nodes and edges."""

    name: str
    is_default: bool
    is_deprecated: bool
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The ranges from which edges lead, each once."""
        return tuple(dict.fromkeys(edge.old for edge in self.edges if isinstance(edge.old, Range)))


@dataclass(frozen=True)
class Drawing:
    """A package and its channels, ordered by name."""

    package: str
    is_deprecated: bool
    channels: tuple[ChannelDrawing, ...]


@dataclass(frozen=True)
class DrawingInput:
    """The blobs of one package; `versions` are those of its bundles by name, "" for an unknown one.

    `running` are the names of the bundles that run on a cluster, `in_reach` those to which upgrades lead from there, `excluded`
    those that are never chosen.
    """

    package: Package | None = None
    channels: Sequence[Channel] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    deprecations: Sequence[Deprecations] = ()
    running: frozenset[str] = frozenset()
    in_reach: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()


def draw(name: str, parts: DrawingInput) -> Drawing:
    """The drawing of the blobs, valid or not: `olm catalog validate` reports errors."""
    deprecated = {(entry.schema, entry.name) for each in parts.deprecations for entry in each.entries}
    default = parts.package.default_channel if parts.package else ""
    channels = tuple(
        ChannelDrawing(
            channel.name,
            bool(default) and channel.name == default,
            (CHANNEL, channel.name) in deprecated,
            tuple(_nodes(channel.entries, parts, {of for schema, of in deprecated if schema == BUNDLE})),
            tuple(_edges(channel.entries, parts.versions)),
        )
        for channel in sorted(parts.channels, key=lambda channel: channel.name)
    )
    return Drawing(name, (PACKAGE, "") in deprecated, channels)


def _nodes(entries: Sequence[Entry], parts: DrawingInput, deprecated: set[str]) -> Iterator[Node]:
    heads = set(channel_graph.heads({entry.name: entry for entry in entries}))
    own = {entry.name for entry in entries}
    named = [entry.name for entry in entries] + [
        old for entry in entries for old in (entry.replaces, *entry.skips) if old
    ]
    for name in dict.fromkeys(named):
        missing = "not in this channel" if name not in own else "no such bundle" if name not in parts.versions else ""
        is_running, is_in_reach = name in parts.running, name in parts.in_reach and not missing
        is_excluded = name in parts.excluded
        yield Node(name, name in heads, name in deprecated, missing, is_running, is_in_reach, is_excluded)


def _edges(entries: Sequence[Entry], versions: Mapping[str, str]) -> Iterator[Edge]:
    known = {entry.name: version for entry in entries if (version := _version(versions.get(entry.name, "")))}
    for entry in entries:
        if entry.replaces:
            yield Edge(entry.replaces, entry.name, "replaces")
        for skip in dict.fromkeys(entry.skips):
            if skip and skip != entry.replaces:
                yield Edge(skip, entry.name, "skips")
        if entry.skip_range:
            named = {entry.replaces, entry.name, *entry.skips}
            olds: list[str] = [old for old in _bundles_in_range(entry.skip_range, known) if old not in named]
            drawn = olds if len(olds) <= _MAX_RANGE_EDGES else [Range(entry.skip_range, len(olds))]
            yield from (Edge(old, entry.name, f"skipRange {entry.skip_range}") for old in drawn)


def _bundles_in_range(text: str, versions: Mapping[str, Version]) -> Iterator[str]:
    try:
        parsed = BlangRange.parse(text)
    except BadRange:
        return
    yield from (name for name, version in versions.items() if parsed.matches(version))


def _version(text: str) -> Version | None:
    try:
        return parse_version(text)
    except BadVersion:
        return None


def plain_text(drawn: Drawing) -> str:
    """Lines for people: each channel, its bundles, and below each bundle what it can be upgraded from. Names are not escaped."""
    return "\n".join(_plain_text(drawn)) + "\n"


def _plain_text(drawn: Drawing) -> Iterator[str]:
    yield _title(drawn.package, deprecated=drawn.is_deprecated)
    for channel in drawn.channels:
        yield f"  {_title(channel.name, default=channel.is_default, deprecated=channel.is_deprecated)}"
        by_new: dict[str, list[Edge]] = {}
        for edge in channel.edges:
            by_new.setdefault(edge.new, []).append(edge)
        for node in channel.nodes:
            yield f"    {_node_title(node)}"
            for edge in by_new.get(node.name, ()):
                old = _range_title(edge.old) if isinstance(edge.old, Range) else edge.old
                yield f"      from {old} ({edge.why})"


def mermaid(drawn: Drawing) -> str:
    """A Mermaid flowchart from left to right, with a subgraph for each channel."""
    return "\n".join(_mermaid(drawn)) + "\n"


def _mermaid(drawn: Drawing) -> Iterator[str]:
    yield "flowchart LR"
    yield "  classDef head stroke-width:3px,font-weight:bold"
    yield "  classDef deprecated stroke:#b35900,stroke-dasharray:2 2"
    yield "  classDef missing stroke-dasharray:6 4,opacity:0.6"
    if any(node.is_running for channel in drawn.channels for node in channel.nodes):
        yield "  classDef running fill:#2e7d32,color:#ffffff"
        yield "  classDef reach fill:#c8e6c9,color:#000000"
    if any(node.is_excluded for channel in drawn.channels for node in channel.nodes):
        yield "  classDef excluded stroke:#b00020,stroke-width:3px"
    yield f'  subgraph p["{_in_mermaid(_title(drawn.package, deprecated=drawn.is_deprecated))}"]'
    for number, channel in enumerate(drawn.channels):
        ids = _ids(number, channel)
        title = _title(channel.name, default=channel.is_default, deprecated=channel.is_deprecated)
        yield f'    subgraph c{number}["{_in_mermaid(title)}"]'
        for node in channel.nodes:
            yield f'      {ids[node.name]}["{_in_mermaid(_node_title(node))}"]'
        for each in channel.ranges:
            yield f'      {ids[each]}(["{_in_mermaid(_range_title(each))}"])'
        yield "    end"
    yield "  end"
    for number, channel in enumerate(drawn.channels):
        ids = _ids(number, channel)
        for edge in channel.edges:
            arrow = "-->" if edge.is_main else "-.->"
            yield f'  {ids[edge.old]} {arrow}|"{_in_mermaid(edge.why)}"| {ids[edge.new]}'
        classes = {
            "head": [ids[node.name] for node in channel.nodes if node.is_head],
            "deprecated": [ids[node.name] for node in channel.nodes if node.is_deprecated],
            "missing": [ids[node.name] for node in channel.nodes if node.missing],
            "running": [ids[node.name] for node in channel.nodes if node.is_running],
            "reach": [ids[node.name] for node in channel.nodes if node.is_in_reach],
            "excluded": [ids[node.name] for node in channel.nodes if node.is_excluded],
        }
        yield from (f"  class {','.join(members)} {name}" for name, members in classes.items() if members)


def _ids(number: int, channel: ChannelDrawing) -> dict[str | Range, str]:
    """The generated ids of a channel's nodes and ranges."""
    ids: dict[str | Range, str] = {node.name: f"b{number}x{index}" for index, node in enumerate(channel.nodes)}
    ids.update((each, f"r{number}x{index}") for index, each in enumerate(channel.ranges))
    return ids


def _range_title(each: Range) -> str:
    return f"{each.count} bundles in {each.text}"


def _node_title(node: Node) -> str:
    marks = {"head": node.is_head, "running": node.is_running, "in reach": node.is_in_reach}
    shown = _title(node.name, **marks, excluded=node.is_excluded, deprecated=node.is_deprecated)
    return f"{shown} ({node.missing})" if node.missing else shown


def _title(name: str, **marks: bool) -> str:
    """The name, followed by the marks that are true, in brackets."""
    shown = name or "(no name)"  # Mermaid ignores an empty label
    true_marks = ", ".join(mark for mark, is_set in marks.items() if is_set)
    return f"{shown} ({true_marks})" if true_marks else shown


def _in_mermaid(text: str) -> str:
    """The text for use within double quotes: characters other than letters, digits and safe ones become numeric entities."""
    return "".join(each if each.isalnum() or each in _MERMAID_SAFE else f"#{ord(each)};" for each in text)
