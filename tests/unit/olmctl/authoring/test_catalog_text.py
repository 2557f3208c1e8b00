"""Changes of a catalog's file: one document or one entry is new, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmctl.authoring.catalog_text import CatalogText, NotEditable
from olmkit.fbc.catalog import CHANNEL

YAML = """\
# The package.
schema: olm.package
name: p
defaultChannel: stable   # kept
---
schema: "olm.channel"
name: stable
package: p
entries:
  # the first one
  - {name: p.v1.0.0}
  - name: p.v1.1.0   # the second one
    replaces: p.v1.0.0
    skips:
    - p.v1.0.1

# about the bundles
---
schema: olm.bundle
name: p.v1.0.0
package: p
image: quay.io/a/p@sha256:0
properties: []
"""
ENTRY = {"name": "p.v1.2.0", "replaces": "p.v1.1.0", "skipRange": ">=1.0.0 <1.2.0"}
ENTRY_LINES = "  - name: p.v1.2.0\n    replaces: p.v1.1.0\n    skipRange: '>=1.0.0 <1.2.0'\n"


def read(text: str) -> CatalogText:
    return CatalogText.read(text.encode())


def values(text: str) -> list[Any]:
    return [piece.blob.value for piece in read(text).pieces]


def with_entry(text: str) -> str:
    found = read(text)
    (channel,) = (piece for piece in found.pieces if piece.blob.schema == CHANNEL)
    return found.with_entry(channel, ENTRY).text


def test_an_entry_is_inserted_after_the_last_one_and_comments_stay() -> None:
    new = with_entry(YAML)
    assert new == YAML.replace("    - p.v1.0.1\n", f"    - p.v1.0.1\n{ENTRY_LINES}")


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param("entries: [{name: a}]\n", id="a list in flow style"),
        pytest.param("entries: []\n", id="an empty list"),
        pytest.param("package: p\n", id="no list"),
        pytest.param("entries:\n- name: a\n  replaces: |-\n    b\n", id="a block of text at the end"),
        pytest.param(
            "entries:\n- name: a\n  skips: [\n   b,\n   c]", id="a list over lines at the end, without a newline"
        ),
        pytest.param("entries:\n-\n  name: a\n", id="a dash on a line of its own"),
        pytest.param("entries:\n- name: 'a\n    b'\n", id="text over two lines"),
    ],
)
def test_an_entry_is_added_to_a_channel_in_any_form(entries: str) -> None:
    text = f"schema: olm.channel\nname: c\n{entries}"
    (before,), (after,) = values(text), values(with_entry(text))
    assert after == {**before, "entries": [*(before.get("entries") or ()), ENTRY]}


@pytest.mark.parametrize(
    ("indent", "separators"),
    [
        pytest.param(4, None, id="as opm writes it"),
        pytest.param(2, None, id="another indent"),
        pytest.param(None, (",", ":"), id="one line for each document"),
    ],
)
def test_json_is_written_as_its_neighbour_is(indent: int | None, separators: tuple[str, str] | None) -> None:
    package = {"schema": "olm.package", "name": "p"}
    channel = {"schema": "olm.channel", "name": "c", "package": "p", "entries": [{"name": "a"}]}
    bundle = {"schema": "olm.bundle", "name": "a", "package": "p", "image": "i"}

    def written(*documents: dict[str, Any]) -> str:
        return "".join(f"{json.dumps(each, indent=indent, separators=separators)}\n" for each in documents)

    text = written(package, channel, bundle)
    new_channel = {**channel, "entries": [{"name": "a"}, ENTRY]}
    assert with_entry(text) == written(package, new_channel, bundle)
    found = read(text)
    assert found.with_document(found.pieces[1], channel | {"name": "d"}).text == written(
        package, channel, channel | {"name": "d"}, bundle
    )
    assert found.with_document(None, bundle).text == written(package, channel, bundle, bundle)
    assert read("").with_document(None, package).text.startswith("---\n")


def test_a_document_is_added_behind_another_one() -> None:
    found = read(YAML)
    bundle = {"schema": "olm.bundle", "name": "b"}
    assert found.with_document(found.pieces[2], bundle).text == f"{YAML}---\nname: b\nschema: olm.bundle\n"
    assert found.with_document(found.pieces[0], bundle).text == YAML.replace(
        "# kept\n", "# kept\n---\nname: b\nschema: olm.bundle\n"
    )
    assert found.with_replaced(found.pieces[2], bundle).text.endswith(
        "# about the bundles\n---\nname: b\nschema: olm.bundle\n"
    )


def test_a_separator_with_a_comment_and_empty_documents() -> None:
    text = "---  # one\nschema: a\n---\n--- # two\nschema: b\n---\n"
    found = read(text)
    assert [piece.blob.schema for piece in found.pieces] == ["a", "b"]
    new = found.with_document(found.pieces[0], {"schema": "c"})
    assert [piece.blob.schema for piece in new.pieces] == list("acb")


def test_yaml_that_begins_with_a_brace_is_yaml() -> None:
    text = "{schema: olm.channel, name: c}\n---\nschema: b\n"
    assert [each.get("entries") for each in values(with_entry(text))] == [[ENTRY], None]


def test_what_cannot_be_edited_is_refused() -> None:
    with pytest.raises(NotEditable, match="mixes JSON and YAML"):
        read('{"schema": "a"} {schema: b}\n')


def test_a_text_that_would_be_read_as_something_else_is_refused() -> None:
    found = read('{"schema": "olm.channel", "name": "c", "x": -0.0}\n')
    with pytest.raises(NotEditable, match="would be read as other documents"):
        found.with_entry(found.pieces[0], ENTRY)


def test_numbers_and_line_separators_stay_as_they_are() -> None:
    text = '{"schema": "olm.channel", "name": "c", "a": 1.0, "b": 1e400, "d": 123456789012345678901234567890, "e": "\\u2028"}'
    for found in read(f"{text}\n"), read(f"# YAML\n{text}\n"):
        before = found.pieces[0].blob.line
        added = json.dumps([ENTRY], separators=(",", ":")).encode()
        (after,) = found.with_entry(found.pieces[0], ENTRY).pieces
        assert after.blob.line == before.replace(b',"name"', b',"entries":' + added + b',"name"')
