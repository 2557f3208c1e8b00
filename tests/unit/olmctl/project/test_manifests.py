"""Manifests with their places, and what is refused."""

from __future__ import annotations

import pytest

from olmctl.project.manifests import BadInput, read_manifests

FIRST = b"apiVersion: v1\nkind: A\nmetadata: {name: a}\n"


def places(data: bytes) -> list[str]:
    return [f"{each.kind} {each.line_of(())}" for each in read_manifests(data, "f")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(FIRST, ["A 1"], id="one object"),
        pytest.param(
            b"# text\n---\n# text\n" + FIRST + b"---\n---\n" + FIRST, ["A 4", "A 9"], id="comments and empty documents"
        ),
        pytest.param(b"a: {b: c}\n", [], id="a mapping that is no object"),
        pytest.param(b"", [], id="nothing"),
        pytest.param(
            b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: B\n- {apiVersion: v1, kind: C}\n",
            ["B 4", "C 6"],
            id="the items of a List",
        ),
        pytest.param(
            b'{"apiVersion": "v1",\n"kind": "J"}\n{"apiVersion": "v1", "kind": "K"}', ["J 1", "K 1"], id="JSON"
        ),
        pytest.param(
            b"apiVersion: a/v1\nkind: AllowList\nitems: [1]\n", ["AllowList 1"], id="another kind that ends in List"
        ),
    ],
)
def test_objects(data: bytes, expected: list[str]) -> None:
    assert places(data) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(FIRST + b"---\na: [1\n", "f:6: is no YAML", id="a document that does not parse"),
        pytest.param(
            FIRST + b"--- text\n", "f:4: is no YAML: text follows --- on its line", id="text after a separator"
        ),
        pytest.param(b"\n\njust words\n", "f:3: is no object of Kubernetes: it is text, not a mapping", id="text"),
        pytest.param(b"- a\n", "f:1: is no object of Kubernetes: it is a list, not a mapping", id="a list"),
        pytest.param(b"kind: A\n", "f:1: is no object of Kubernetes: it has no apiVersion", id="no apiVersion"),
        pytest.param(
            b"metadata: {}\nkind: 5\napiVersion: v1\n", "f:1: is no object of Kubernetes: it has no kind", id="no kind"
        ),
        pytest.param(
            b"apiVersion: v1\nkind: List\nitems:\n- a: b\n",
            "f:4: an item of the List is no object of Kubernetes",
            id="an item of a List",
        ),
        pytest.param(
            b"a: &a [1,2,3,4,5,6,7,8,9]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
            + b"".join(b"%c: &%c [%s]\n" % (x, x, b",".join([b"*%c" % (x - 1)] * 9)) for x in b"cdefghij"),
            "f:",
            id="aliases that expand to gigabytes",
        ),
        pytest.param(b"[" * 100_000, "f:1: is no YAML", id="deep nesting"),
    ],
)
def test_what_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadInput) as raised:
        read_manifests(data, "f")
    assert str(raised.value).startswith(message)


def test_a_field_of_another_type_is_refused_at_its_line() -> None:
    data = FIRST.replace(b"A", b"Role") + b"rules:\n- apiGroups: [a]\n  verbs:\n  - get\n  - 5\n"
    (manifest,) = read_manifests(b"---\n" + data, "f")
    with pytest.raises(BadInput) as raised:
        manifest.typed("v1.Role")
    assert str(raised.value) == "f:9: Role a: rules[0].verbs[1]: must be text in quotes, not a number (5)"


def test_an_unknown_field_is_named_with_its_line_also_below_a_key_with_dots() -> None:
    data = (
        FIRST.replace(b"A", b"Service").replace(b"{name: a}", b"\n  name: a\n  labels: {a.b/c: d}")
        + b"spec:\n  x.y: 1\n"
    )
    (manifest,) = read_manifests(data, "f")
    assert list(manifest.dropped_fields("v1.Service")) == [
        "f:7: Service a: spec.x.y is no field of a Service, and is left out"
    ]
