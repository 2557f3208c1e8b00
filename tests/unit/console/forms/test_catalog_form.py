"""The form of a Catalog: the Catalog that it leads to, what it refuses, and that it changes nothing by itself."""

from __future__ import annotations

from typing import Any

import pytest

from console.forms.catalog_form import field_of, listed, order, read, texts_of

DIGEST = f"quay.io/a/b@sha256:{'0' * 64}"
SOURCES = [
    pytest.param(
        {"image": "quay.io/a/b:v1", "pollInterval": "5m", "pullSecret": "s"},
        {"type": "image", "image": {"ref": "quay.io/a/b:v1", "pollInterval": "5m", "pullSecret": "s"}},
        id="an image",
    ),
    pytest.param(
        {"type": "git", "repository": "https://h/r", "refType": "tag", "ref": "v1", "directory": "d", "secret": "s"},
        {
            "type": "git",
            "git": {
                "repository": "https://h/r",
                "ref": {"tag": "v1"},
                "directory": "d",
                "auth": {"secret": {"name": "s"}},
            },
        },
        id="git",
    ),
    pytest.param(
        {"type": "http", "url": "https://h/a.tgz", "checksum": "sha256:1"},
        {"type": "http", "http": {"url": "https://h/a.tgz", "checksum": "sha256:1"}},
        id="an archive",
    ),
    pytest.param(
        {"type": "configMaps", "configMaps": "a, b"},
        {"type": "configMaps", "configMaps": [{"configMap": {"name": "a"}}, {"configMap": {"name": "b"}}]},
        id="ConfigMaps",
    ),
    pytest.param(
        {"type": "git", "repository": "https://h/r", "ref": "main", "image": "left:over"},
        {"type": "git", "git": {"repository": "https://h/r", "ref": {"branch": "main"}}},
        id="texts of another type of source",
    ),
]


@pytest.mark.parametrize(("texts", "source"), SOURCES)
def test_the_source_of_a_form(texts: dict[str, str], source: dict[str, Any]) -> None:
    found = read({"name": "c", **texts}, {})
    assert (found.problems, found.catalog["spec"]) == ({}, {"source": source})
    again = read(texts_of(found.catalog), found.catalog)
    assert (again.catalog, again.problems) == (found.catalog, {})


def test_the_other_fields_of_a_form() -> None:
    texts = {
        "name": "c",
        "image": "a/b:1",
        "priority": "-5",
        "displayName": "D",
        "publisher": "P",
        "packages": "x,y x",
        "availability": "Unavailable",
    }
    spec = read(texts, {}).catalog["spec"]
    del spec["source"]
    assert spec == {
        "priority": -5,
        "displayName": "D",
        "publisher": "P",
        "packages": ["x", "y"],
        "availability": "Unavailable",
    }


def test_an_edit_keeps_what_the_form_does_not_show() -> None:
    image = {"ref": "a/b:1", "pollInterval": "5m", "verify": {"cosign": {}}}
    spec = {"source": {"type": "image", "image": image}, "priority": 3, "bundles": {"verify": {}}}
    before = {"apiVersion": "x", "kind": "Catalog", "metadata": {"name": "c", "labels": {"a": "b"}}, "spec": spec}
    found = read({**texts_of(before), "image": "a/b:2", "pollInterval": ""}, before).catalog
    assert found["metadata"] == before["metadata"]
    assert found["spec"] == {**spec, "source": {"type": "image", "image": {"ref": "a/b:2", "verify": {"cosign": {}}}}}
    maps = [{"configMap": {"name": "a"}, "path": "p"}]
    before = {"metadata": {"name": "c"}, "spec": {"source": {"type": "configMaps", "configMaps": maps}}}
    found = read({**texts_of(before), "configMaps": "a, b"}, before).catalog
    assert found["spec"]["source"]["configMaps"] == [*maps, {"configMap": {"name": "b"}}]


PROBLEMS = [
    pytest.param({"name": ""}, "name", "is required", id="no name"),
    pytest.param({"name": "A"}, "name", "lower-case", id="a name with capitals"),
    pytest.param({"name": "a" * 300}, "name", "lower-case", id="a long name"),
    pytest.param({"image": ""}, "image", "is required", id="no image"),
    pytest.param(
        {"image": DIGEST, "pollInterval": "10m"},
        "pollInterval",
        "a digest never changes",
        id="an interval beside a digest",
    ),
    pytest.param({"type": "ftp"}, "type", "must be one of", id="no type of source"),
    pytest.param({"type": "git", "ref": "x"}, "repository", "is required", id="no repository"),
    pytest.param({"type": "git", "repository": "r"}, "ref", "name the branch", id="no branch"),
    pytest.param(
        {"type": "git", "repository": "r", "refType": "x"}, "refType", "must be one of", id="no type of reference"
    ),
    pytest.param({"priority": "high"}, "priority", "whole number", id="no priority"),
    pytest.param({"priority": "9" * 1000}, "priority", "whole number", id="a long priority"),
    pytest.param({"availability": "?"}, "availability", "must be one of", id="no availability"),
]


@pytest.mark.parametrize(("texts", "field", "problem"), PROBLEMS)
def test_what_is_wrong_stands_at_its_field(texts: dict[str, str], field: str, problem: str) -> None:
    assert problem in read({"name": "c", "image": "a/b:1", **texts}, {}).problems[field]


FIELDS = [
    ("spec.source.image.ref", "image", "image"),
    ("spec.source.image", "image", "pollInterval"),
    ("metadata.name", "image", "name"),
    ("spec.source.git.ref", "git", "ref"),
    ("spec.source.git.auth.secret.name", "git", "secret"),
    ("spec.source.git.repository", "git", "repository"),
    ("spec.source.http", "http", "url"),
    ("spec.packages[0]", "image", "packages"),
    ("spec.source.configMaps[0].configMap.name", "configMaps", "configMaps"),
    ("spec.bundles", "image", ""),
]


@pytest.mark.parametrize(("error", "kind", "field"), FIELDS)
def test_errors_of_the_api_server_stand_at_their_field(error: str, kind: str, field: str) -> None:
    assert field_of(error, kind) == field


def test_the_order_by_priority() -> None:
    assert order({"a": 0, "b": 5}, "c", 3) == (("b", 5), ("c", 3), ("a", 0))
    assert order({"a": 0, "b": 5}, "a", 9) == (("a", 9), ("b", 5))
    assert order({"a": 0}, "", 9) == (("a", 0),)


def test_names_in_a_text() -> None:
    assert (listed(" a, b,,a "), listed(" , ")) == (["a", "b"], [])
