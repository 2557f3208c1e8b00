"""The upgrade graph as text: what is drawn, and names of every kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from olmctl.authoring.graph_drawing import DrawingInput, Edge, Node, Range, draw, mermaid, plain_text
from olmkit.fbc.catalog import Channel, Deprecation, Deprecations, Entry, Package

PARTS = DrawingInput(
    Package("p", "stable", "", None),
    (
        Channel(
            "stable", "p", (Entry("v3", "v2", ("v1",), "<3.0.0"), Entry("v2", "v1", (), ""), Entry("v1", "", (), ""))
        ),
        Channel(
            "beta", "p", (Entry("v4", "v3", (), ">=1.0.0 <4.0.0"), Entry("gone", "", (), ""), Entry("v0", "", (), "x"))
        ),
    ),
    {"v0": "0.1.0", "v1": "1.0.0", "v2": "2.0.0", "v3": "3.0.0", "v4": "no version"},
    (
        Deprecations(
            "p",
            (
                Deprecation("olm.bundle", "v1", "m"),
                Deprecation("olm.channel", "beta", "m"),
                Deprecation("olm.package", "", "m"),
            ),
        ),
    ),
)


def test_what_is_drawn() -> None:
    drawn = draw("p", PARTS)
    assert drawn.is_deprecated
    assert [(each.name, each.is_default, each.is_deprecated) for each in drawn.channels] == [
        ("beta", False, True),
        ("stable", True, False),
    ]
    beta, stable = drawn.channels
    assert stable.nodes == (Node("v3", True, False, ""), Node("v2", False, False, ""), Node("v1", False, True, ""))
    assert stable.edges == (Edge("v2", "v3", "replaces"), Edge("v1", "v3", "skips"), Edge("v1", "v2", "replaces"))
    assert [(node.name, node.missing) for node in beta.nodes] == [
        ("v4", ""),
        ("gone", "no such bundle"),
        ("v0", ""),
        ("v3", "not in this channel"),
    ]


def test_a_skip_range_leads_from_every_entry_in_it_that_no_other_edge_leads_from() -> None:
    entries = (
        Entry("v3", "v2", (), "<=3.0.0"),
        Entry("v2", "", (), "no range"),
        Entry("v1", "", (), ""),
        Entry("v0", "", (), ""),
    )
    versions = {"v3": "3.0.0", "v2": "2.0.0", "v1": "1.0.0"}
    (channel,) = draw("p", DrawingInput(None, [Channel("c", "p", entries)], versions)).channels
    assert channel.edges == (Edge("v2", "v3", "replaces"), Edge("v1", "v3", "skipRange <=3.0.0"))


def test_a_skip_range_of_many_bundles_is_one_edge_from_their_range() -> None:
    entries = (Entry("v9", "", (), "<9.0.0"), *(Entry(f"v{number}", "", (), "<0.0.9") for number in range(6)))
    versions = {"v9": "9.0.0"} | {f"v{number}": f"0.0.{number}" for number in range(6)}
    (channel,) = draw("p", DrawingInput(None, [Channel("c", "p", entries)], versions)).channels
    many = Range("<9.0.0", 6)
    assert channel.ranges == (many,)
    assert channel.edges[0] == Edge(many, "v9", "skipRange <9.0.0")
    assert len(channel.edges) == 1 + 6 * 5
    drawn = draw("p", DrawingInput(None, [Channel("c", "p", entries[:1] + entries[2:])], versions))
    assert drawn.channels[0].ranges == ()
    text = mermaid(draw("p", DrawingInput(None, [Channel("c", "p", entries)], versions)))
    assert '      r0x0(["6 bundles in #60;9.0.0"])\n' in text
    assert '  r0x0 -.->|"skipRange #60;9.0.0"| b0x0\n' in text


def test_mermaid() -> None:
    assert mermaid(draw("p", PARTS)).splitlines()[4:] == [
        '  subgraph p["p (deprecated)"]',
        '    subgraph c0["beta (deprecated)"]',
        '      b0x0["v4 (head)"]',
        '      b0x1["gone (head) (no such bundle)"]',
        '      b0x2["v0 (head)"]',
        '      b0x3["v3 (not in this channel)"]',
        "    end",
        '    subgraph c1["stable (default)"]',
        '      b1x0["v3 (head)"]',
        '      b1x1["v2"]',
        '      b1x2["v1 (deprecated)"]',
        "    end",
        "  end",
        '  b0x3 -->|"replaces"| b0x0',
        "  class b0x0,b0x1,b0x2 head",
        "  class b0x1,b0x3 missing",
        '  b1x1 -->|"replaces"| b1x0',
        '  b1x2 -.->|"skips"| b1x0',
        '  b1x2 -->|"replaces"| b1x1',
        "  class b1x0 head",
        "  class b1x2 deprecated",
    ]


def test_the_order_of_equal_blobs_does_not_change_the_drawing() -> None:
    turned = DrawingInput(
        PARTS.package, PARTS.channels[::-1], dict(reversed(list(PARTS.versions.items()))), PARTS.deprecations
    )
    assert mermaid(draw("p", turned)) == mermaid(draw("p", PARTS))


NAMES = st.text(max_size=12) | st.sampled_from(
    ['"', "]", "end", "%%{init}%%", "#quot;", "a\\", "<b>", "`x`", "a\nb", "x|y", ";"]
)
_ID = "b0x[0-9]+"
_LINES = [
    re.compile(r"flowchart LR"),
    re.compile(r"  classDef [a-z]+ [a-z0-9#:,. -]+"),
    re.compile(r'  +subgraph [pc]0?\["(?P<frame>[^"\]]+)"\]'),
    re.compile(rf'      {_ID}\["(?P<node>[^"\[\]|`<>]+)"\]'),
    re.compile(r"  +end"),
    re.compile(rf'  {_ID} (?:-->|-\.->)\|"[^"\[\]|`<>]+"\| {_ID}'),
    re.compile(rf"  class {_ID}(?:,{_ID})* [a-z]+"),
]


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), NAMES)
def test_every_line_is_of_the_language_whatever_the_names(names: list[str], channel: str) -> None:
    entries = tuple(Entry(name, names[0], tuple(names[1:]), "<1.0.0 || " + channel) for name in names)
    drawn = draw(channel, DrawingInput(None, [Channel(channel, "p", entries)], dict.fromkeys(names, "0.1.0")))
    shown = [node.name or "(no name)" for node in drawn.channels[0].nodes]
    for title, name in zip([_entities(each) for each in found(mermaid(drawn))], shown, strict=True):
        assert title.startswith(name)


def found(text: str) -> Iterator[str]:
    """The labels of nodes; every line must be one of Mermaid's."""
    for line in text.removesuffix("\n").split("\n"):
        match = next((match for language in _LINES if (match := language.fullmatch(line))), None)
        assert match is not None, line
        if label := match.groupdict().get("node"):
            yield label


def _entities(text: str) -> str:
    return re.sub("#([0-9]+);", lambda match: chr(int(match[1])), text)


def test_a_package_without_channels() -> None:
    drawn = draw("p", DrawingInput())
    assert mermaid(drawn).endswith('  subgraph p["p"]\n  end\n')


MARKED = replace(PARTS, running=frozenset({"v1"}), in_reach=frozenset({"v2", "v3"}))


def test_the_text_names_what_runs_and_what_is_in_reach() -> None:
    assert plain_text(draw("p", MARKED)).partition("  stable")[2].splitlines() == [
        " (default)",
        "    v3 (head, in reach)",
        "      from v2 (replaces)",
        "      from v1 (skips)",
        "    v2 (in reach)",
        "      from v1 (replaces)",
        "    v1 (running, deprecated)",
    ]


def test_what_is_not_in_a_channel_is_not_in_reach_there() -> None:
    beta, _ = draw("p", MARKED).channels
    assert [(node.name, node.is_in_reach) for node in beta.nodes if node.missing] == [("gone", False), ("v3", False)]


def test_marks_for_mermaid() -> None:
    assert "  class b1x2 running\n  class b1x0,b1x1 reach\n" in mermaid(draw("p", MARKED))
    assert 'b1x2["v1 (running, deprecated)"]' in mermaid(draw("p", MARKED))
    assert "classDef running" not in mermaid(draw("p", PARTS))
