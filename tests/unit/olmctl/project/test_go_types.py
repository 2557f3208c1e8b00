"""Struct types of Go files, whatever else is in them."""

from __future__ import annotations

import contextlib
import time

import pytest

from olmctl.project.go_types import BadGo, Comments, GoField, GoType, Marker, read_types

NONE = Comments()


def fields(text: str) -> list[tuple[str, tuple[str, ...], bool, str]]:
    """Name, types, whether it is a list, and the name in JSON, of the fields of the first type."""
    return [(each.name, tuple(each.types), each.is_list, each.json_name) for each in read_types(text)[0].fields]


def test_a_type_with_its_comments() -> None:
    text = """\
// Copyright

package v1

import "fmt"

// +kubebuilder:object:root=true
// +a:marker

// Lamp is a lamp.
//
// It shines.
// +another
type Lamp struct {
	metav1.TypeMeta   `json:",inline"`
	// Size of it. // twice
	Size int32 `json:"size,omitempty"` // +no:marker
	// ---
	// for developers
	Hidden string
}
"""
    size = GoField("Size", ("int32",), False, "size", ("omitempty",), Comments("Size of it. // twice"))
    assert read_types(text) == [
        GoType(
            "Lamp",
            (
                GoField("", (), False, "", ("inline",), NONE),
                size,
                GoField("Hidden", ("string",), False, "", (), NONE),
            ),
            Comments(
                "Lamp is a lamp.\n\nIt shines.",
                (Marker("kubebuilder:object:root=true", 7), Marker("a:marker", 8), Marker("another", 13)),
            ),
        )
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("A, B string", [("A", ("string",), False, ""), ("B", ("string",), False, "")], id="two names"),
        pytest.param("A []Part", [("A", ("Part",), True, "")], id="a list"),
        pytest.param("A [3]Part", [("A", ("Part",), True, "")], id="an array"),
        pytest.param("A *Part", [("A", ("Part",), False, "")], id="a pointer"),
        pytest.param("A map[string]Part", [("A", ("string", "Part"), False, "")], id="a map"),
        pytest.param("A corev1.Pod", [("A", (), False, "")], id="a type of another package"),
        pytest.param("A []*corev1.Pod", [("A", (), True, "")], id="a list of them"),
        pytest.param("Part", [("", ("Part",), False, "")], id="embedded"),
        pytest.param("*Part", [("", ("Part",), False, "")], id="embedded by a pointer"),
        pytest.param("v1.Part", [("", (), False, "")], id="embedded, of another package"),
        pytest.param("Part[T]", [("", ("Part", "T"), False, "")], id="embedded, with a parameter"),
        pytest.param("A struct{ B Part }", [("A", (), False, "")], id="a struct without a name"),
        pytest.param('A struct{\n\tB Part\n} `json:"a"`', [("A", (), False, "a")], id="one over lines"),
        pytest.param("A func(Part) error; B int", [("A", (), False, ""), ("B", ("int",), False, "")], id="a semicolon"),
        pytest.param('A int "json:\\"a,omitempty\\""', [("A", ("int",), False, "a")], id="a tag in quotes"),
        pytest.param('A int `yaml:"x" json:"a"`', [("A", ("int",), False, "a")], id="several tags"),
        pytest.param("A int `json:a b`", [("A", ("int",), False, "")], id="a tag that is none"),
        pytest.param("größe Part", [("größe", ("Part",), False, "")], id="letters of other languages"),
    ],
)
def test_fields(line: str, expected: list[tuple[str, tuple[str, ...], bool, str]]) -> None:
    assert fields(f"type T struct {{\n{line}\n}}\n") == expected


def test_what_is_no_struct_is_skipped() -> None:
    text = """\
type (
	// A is one.
	A struct{}
	Name string
	Alias = A
	Generic[T any] struct { X T }
	F func(struct{ X int }) struct{}
	Q interface {
		Do()
	}
	B struct { X int }
)
var raw = `type Fake struct {`
func f() {
	type Inner struct { X int }
	c := '{'; s := "type X struct {"
	/* type Y struct { */
}
type C struct { X int }
"""
    found = read_types(text)
    assert [each.name for each in found] == ["A", "B", "C"]
    assert found[0].comments.doc == "A is one."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("\n/* a", 2, id="a comment without an end"),
        pytest.param("\n\nvar a = `x", 3, id="a text in backquotes without an end"),
        pytest.param('var a = "x\n"', 1, id="a text without an end on its line"),
        pytest.param("type T struct {\n A int\n", 1, id="a struct without an end"),
        pytest.param("type", 1, id="a type without a name"),
        pytest.param("type T struct x", 1, id="a struct without fields"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BadGo) as caught:
        read_types(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 50_000,
        "`" * 50_001,
        "type T struct {\n" + "A [" * 25_000,
        "type T struct {\n" + "A, " * 25_000,
        "type T struct {\n" + "{" * 50_000,
        "// +a\n\n" * 25_000,
        "type (" * 50_000,
        '"' + "\\" * 100_000,
        "type T struct { A int `" + 'a:"' * 25_000 + "` }",
    ],
    ids=range(9),
)
def test_a_hostile_text_takes_no_time(text: str) -> None:
    begin = time.process_time()
    with contextlib.suppress(BadGo):
        read_types(text)
    assert time.process_time() - begin < 2
