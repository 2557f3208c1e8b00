"""Values that a chart gives anew each time: those of existing objects are kept, also in other objects with the same value."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from rukpak.bundledeployment.apply.kept_values import NOTHING_KEPT, KeptValues
from rukpak.bundledeployment.rendered_bundle import InstallPhase, RenderedBundle, RenderedObject
from rukpak.charts.rendering import Path
from rukpak.format.objects import ObjectKey

SECRET = ObjectKey("", "Secret", "port", "ship")
OTHER = ObjectKey("", "ConfigMap", "port", "other")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def item(key: ObjectKey, *paths: Path) -> RenderedObject:
    return RenderedObject(key, "v1", "digest", changing=paths)


def kept(
    items: list[RenderedObject], bodies: dict[ObjectKey, dict[str, Any]], live: dict[ObjectKey, dict[str, Any]]
) -> KeptValues:
    content = RenderedBundle("ship-a", "sha256:a", "port", (InstallPhase("configuration", tuple(items)),))
    return KeptValues.of(content, {key: orjson.dumps(body) for key, body in bodies.items()}, live)


PASSWORD: Path = ("data", "password")
NEW, OLD = "generated-now", "generated-before"


def test_an_existing_object_keeps_its_values_and_gets_all_others() -> None:
    body = {"data": {"password": encoded(NEW), "color": "blue"}}
    live = {"data": {"password": encoded(OLD), "color": "red"}}
    secret = item(SECRET, PASSWORD)
    values = kept([secret], {SECRET: body}, {SECRET: live})
    assert values.applied_to(secret, body) == {"data": {"password": encoded(OLD), "color": "blue"}}


@pytest.mark.parametrize(
    ("secret", "generated", "expected"),
    [
        pytest.param({"data": {"password": encoded(NEW)}}, encoded(NEW), encoded(OLD), id="the same value"),
        pytest.param({"data": {"password": encoded(NEW)}}, NEW, OLD, id="as text"),
        pytest.param({"stringData": {"password": NEW}}, encoded(NEW), encoded(OLD), id="as base64"),
        pytest.param({"data": {"password": encoded(NEW)}}, "another-value", "another-value", id="another value"),
    ],
)
def test_a_new_object_gets_the_value_of_the_existing_one(secret: dict[str, Any], generated: str, expected: str) -> None:
    (field,) = secret
    items = [item(SECRET, (field, "password")), item(OTHER, ("data", "url"))]
    other = {"data": {"url": generated}}
    live = {SECRET: {"data": {"password": encoded(OLD)}}}
    values = kept(items, {SECRET: secret, OTHER: other}, live)
    assert values.applied_to(items[1], other) == {"data": {"url": expected}}
    assert values.applied_to(items[0], secret) == {field: {"password": OLD if field == "stringData" else encoded(OLD)}}


def test_short_values_are_kept_in_their_place_alone() -> None:
    items = [item(SECRET, PASSWORD), item(OTHER, ("data", "url"))]
    bodies = {SECRET: {"data": {"password": "eA=="}}, OTHER: {"data": {"url": "eA=="}}}
    values = kept(items, bodies, {SECRET: {"data": {"password": "eQ=="}}})
    assert values.applied_to(items[0], bodies[SECRET]) == {"data": {"password": "eQ=="}}
    assert values.applied_to(items[1], bodies[OTHER]) == bodies[OTHER]


@pytest.mark.parametrize(
    "live", [pytest.param({}, id="nothing there"), pytest.param({"data": {"password": 1}}, id="another type")]
)
def test_a_value_that_an_existing_object_lacks_is_the_generated_one(live: dict[str, Any]) -> None:
    body = {"data": {"password": encoded(NEW)}}
    secret = item(SECRET, PASSWORD)
    assert kept([secret], {SECRET: body}, {SECRET: live}).applied_to(secret, body) == body
    assert NOTHING_KEPT.applied_to(secret, body) == body


def test_values_are_not_shown() -> None:
    values = kept(
        [item(SECRET, PASSWORD)], {SECRET: {"data": {"password": NEW}}}, {SECRET: {"data": {"password": OLD}}}
    )
    assert OLD not in repr(values)
