"""Which parts of a page are sent after a change."""

from __future__ import annotations

import pytest

from console.live.parts import ROOT, Part, Parts, state_of


def page(rows: dict[str, str], head: str = "Operators") -> Parts:
    """A page with a heading and a table of rows."""
    parts = Parts()
    inner = "".join(parts.put(Part.of(f"row-{name}", "tr", {}, f"<td>{text}</td>")) for name, text in rows.items())
    table = parts.put(Part.of("rows", "tbody", {"data_order_stays": True}, inner))
    parts.put(Part.of(ROOT, "div", {}, f"<h1>{head}</h1><table>{table}</table>"))
    return parts


def sent(before: Parts, after: Parts) -> list[tuple[str, str]]:
    return after.changed(before.digests(), after.digests())


THOUSAND = {f"o{number}": "ready" for number in range(1000)}


def test_one_changed_row_of_a_thousand_is_sent_alone() -> None:
    [(identity, html)] = sent(page(THOUSAND), page({**THOUSAND, "o7": "failed"}))
    assert (identity, html) == ("row-o7", '<tr id="row-o7"><td>failed</td></tr>')
    assert len(html) < 1000


def test_a_page_that_is_the_same_sends_nothing() -> None:
    assert sent(page(THOUSAND), page(THOUSAND)) == []
    assert state_of(page(THOUSAND).digests()) == state_of(page(THOUSAND).digests())


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        pytest.param({"a": "1", "b": "2", "c": "3"}, ["rows"], id="a row more"),
        pytest.param({"a": "1"}, ["rows"], id="a row less"),
        pytest.param({"b": "2", "a": "1"}, ["rows"], id="another order"),
        pytest.param({"a": "x", "b": "y"}, ["row-a", "row-b"], id="two rows"),
    ],
)
def test_what_is_sent(after: dict[str, str], changed: list[str]) -> None:
    before = page({"a": "1", "b": "2"})
    assert [identity for identity, _ in sent(before, page(after))] == changed
    assert state_of(before.digests()) != state_of(page(after).digests())


def test_a_part_is_sent_with_the_parts_in_it() -> None:
    [(_, html)] = sent(page({"a": "1"}), page({"a": "2", "b": "3"}, head="Operators"))
    assert html == (
        '<tbody id="rows" data-order-stays="True"><tr id="row-a"><td>2</td></tr><tr id="row-b"><td>3</td></tr></tbody>'
    )


def test_what_is_outside_of_all_parts_sends_everything() -> None:
    assert [identity for identity, _ in sent(page(THOUSAND), page(THOUSAND, head="2 failed"))] == [ROOT]


def test_a_tab_that_has_nothing_gets_everything() -> None:
    after = page({"a": "1"})
    assert [identity for identity, _ in after.changed({}, after.digests())] == [ROOT]


def test_an_id_has_harmless_characters_and_is_there_once() -> None:
    parts = Parts()
    parts.put(Part.of('a" onload="x', "div", {"title": '"><script>', "hidden": None, "open": False}, "text"))
    identity = "a_22__20_onload_3d__22_x"
    assert parts.whole_part(identity) == f'<div id="{identity}" title="&#34;&gt;&lt;script&gt;">text</div>'
    with pytest.raises(ValueError, match="twice"):
        parts.put(Part.of('a" onload="x', "div", {}, ""))
    with pytest.raises(ValueError, match="tag"):
        Part.of("b", "div onload=x", {}, "")


def test_names_that_differ_are_different_ids() -> None:
    parts, names = Parts(), ("a b", "a-b", "a_b", "a_20_b", "a/b", "a\u00e4b", "a--b", "a__b")
    parts.put(Part.of(ROOT, "div", {}, "".join(parts.put(Part.of(name, "p", {}, name)) for name in names)))
    assert len(parts.digests()) == len(names) + 1


def test_a_text_that_looks_like_the_place_of_a_part_is_no_place() -> None:
    parts = Parts()
    parts.put(Part.of("a", "div", {}, "\x01:a\x02 \x01a\x02"))
    assert parts.whole_part("a") == '<div id="a">\x01:a\x02 \x01a\x02</div>'
