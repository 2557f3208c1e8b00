"""The OpenAPI document against the table it is made from, and against the rules of OpenAPI 3.1."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from catalogd.http.openapi import document
from catalogd.http.routes import ROUTES, Route

DOCUMENT = document()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_a_route_is_described(route: Route) -> None:
    item = DOCUMENT["paths"][route.path]
    assert set(item) == {"get", "head"}
    described = [each for each in item["get"]["parameters"] if each["in"] == "query"]
    assert [each["name"] for each in described] == list(route.query)
    assert [each["required"] for each in described] == [each.is_required for each in route.parameters]
    assert ("digest" in route.query) is route.of_catalog
    assert ("Content-Encoding" in item["get"]["responses"]["200"]["headers"]) is (route.is_encoded or route.is_made)
    in_path = [each["name"] for each in item["get"]["parameters"] if each["in"] == "path"]
    assert in_path == re.findall(r"{(\w+)}", route.path)


def test_nothing_else_is_described() -> None:
    assert list(DOCUMENT["paths"]) == [route.path for route in ROUTES]


def test_each_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()]
    assert len(set(names)) == len(names) == 2 * len(ROUTES)


def test_a_response_to_head_has_no_body() -> None:
    for item in DOCUMENT["paths"].values():
        assert not any("content" in answer for answer in item["head"]["responses"].values())


def test_every_reference_resolves() -> None:
    for reference in _references(DOCUMENT):
        found: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert found


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)


def test_it_is_json() -> None:
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
