"""Custom resources are listed, bounded, and evaluated as the API server handles them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api.meta import Object
from olmkit.crd_safety.compare import compare
from olmkit.crd_safety.dropped_fields import dropped
from olmkit.crd_safety.evidence import Check, Evidence, Form
from olmkit.crd_safety.forms import wanted_forms
from olmkit.crd_safety.object_evaluation import evaluate
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.crds.collector import Collector, Subject
from tests.cluster.rukpak.harness import Harness, definition, kind_of, namespace, thing

STRING, ANY = {"type": "string"}, {"x-kubernetes-preserve-unknown-fields": True}
OBJECT: dict[str, Any] = {"type": "object"}
RESOURCE = {**OBJECT, "x-kubernetes-embedded-resource": True, "properties": {"spec": OBJECT}}

KEPT: Mapping[str, tuple[Mapping[str, Any], Any]] = {
    "named": ({**OBJECT, "properties": {"a": STRING}}, {"a": "x"}),
    "unnamed": (OBJECT, {"a": "x"}),
    "unnamedNull": (OBJECT, {"a": None}),
    "unnamedEmpty": (OBJECT, {}),
    "map": ({**OBJECT, "additionalProperties": STRING}, {"a": "x"}),
    "mapOfObjects": ({**OBJECT, "additionalProperties": OBJECT}, {"a": {"b": "x"}}),
    "mapOfAny": ({**OBJECT, "additionalProperties": True}, {"a": "x"}),
    "mapOfAnyNested": ({**OBJECT, "additionalProperties": True}, {"a": {"b": "x"}}),
    "preserved": ({**OBJECT, **ANY}, {"a": {"b": "x"}}),
    "preservedNamed": ({**OBJECT, **ANY, "properties": {"a": OBJECT}}, {"a": {"b": "x"}}),
    "preservedInPreserved": ({**OBJECT, **ANY, "properties": {"a": {**OBJECT, **ANY}}}, {"a": {"b": "x"}}),
    "items": ({"type": "array", "items": OBJECT}, [{"a": "x"}]),
    "itemsPreserved": ({"type": "array", "items": {**OBJECT, **ANY}}, [{"a": "x"}]),
    "embedded": (RESOURCE, {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": {}}),
    "embeddedField": (RESOURCE, {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "size": 1}),
    "embeddedPreserved": ({**RESOURCE, **ANY}, {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "size": 1}),
    "metadata": (OBJECT, {"metadata": {"name": "a"}}),
    "either": ({"x-kubernetes-int-or-string": True}, "5%"),
}


def with_schema(group: str, spec: Mapping[str, Any], *versions: str, **facts: Any) -> Object:
    crd = definition(group, "Boat", *versions)
    for version in crd["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": dict(spec)}}}
    crd["spec"] |= facts
    return crd


async def established(at: Harness, crd: Object) -> Object:
    await at.create(NAMESPACES, namespace(at.name))
    await at.create(CRDS, crd)
    await at.read(kind_of(at.group))
    return await at.client.get(CRDS, crd["metadata"]["name"])


async def test_a_schema_drops_what_the_api_server_drops(at: Harness) -> None:
    fields = {name: dict(schema) for name, (schema, _) in KEPT.items()}
    crd = with_schema(at.group, {**OBJECT, "properties": fields})
    await established(at, crd)
    body = {**thing(kind_of(at.group), "ark", at.name), "spec": {name: value for name, (_, value) in KEPT.items()}}
    paths = list(dropped(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], body))
    live = await at.create(kind_of(at.group), body)
    changed = {name for name, (_, value) in KEPT.items() if live["spec"].get(name) != value}
    assert {path.split(".")[1].removesuffix("[*]") for path in paths} == changed


async def evaluated(checks: list[Check], objects: list[Object]) -> list[Evidence]:
    return [evaluate(check, objects) for check in checks]


async def shown(client: Client, old: Object, new: Object, max_objects: int = 100) -> dict[Form, Evidence]:
    name, problems = new["metadata"]["name"], compare(old, new)
    forms = wanted_forms({name: problems}, None)
    found = await Collector(client, evaluated, max_objects).collect({name: Subject(old, new, problems)}, forms, None)
    return found.evidence


async def test_custom_resources_are_counted_up_to_a_limit_and_none_is_missed_below_it(at: Harness) -> None:
    old = await established(at, with_schema(at.group, {**OBJECT, **ANY}))
    name, new = old["metadata"]["name"], with_schema(at.group, {**OBJECT, **ANY, "maxProperties": 1})
    form = Form(name, "v1", "v1")
    assert await shown(at.client, old, new) == {form: Evidence()}
    for number in range(60):  # more than a page
        spec = {"a": 1, "b": 2} if number == 59 else {"a": 1}
        await at.create(kind_of(at.group), {**thing(kind_of(at.group), f"boat-{number:02}", at.name), "spec": spec})
    (evidence,) = (await shown(at.client, old, new)).values()
    assert (evidence.count, evidence.invalid_count, evidence.unknown) == (60, 1, "")
    assert str(evidence.invalid[0]) == f"{at.name}/boat-59: spec: maxProperties"
    (evidence,) = (await shown(at.client, old, new, max_objects=50)).values()
    assert evidence.unknown == "only the first 50 custom resources were checked"


async def test_custom_resources_that_a_conversion_webhook_keeps_from_being_listed_count_as_not_known(
    at: Harness,
) -> None:
    gone = {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]}
    old = await established(at, with_schema(at.group, {**OBJECT, **ANY}, "v1", "v2"))
    await at.create(kind_of(at.group), thing(kind_of(at.group), "ark", at.name))  # it is stored as v2
    conversion = {"strategy": "Webhook", "webhook": gone}
    old = await at.client.patch(CRDS, old["metadata"]["name"], {"spec": {"conversion": conversion}})
    new = with_schema(at.group, {**OBJECT, **ANY, "maxProperties": 1}, "v1", "v2", conversion=conversion)
    name = new["metadata"]["name"]

    async def is_refused() -> dict[Form, Evidence]:
        found = await shown(at.client, old, new)
        while not found[Form(name, "v1", "v1")].unknown:  # until the API server uses the changed definition
            found = await shown(at.client, old, new)
        return found

    found = await is_refused()
    assert found[Form(name, "v1", "v1")].unknown.startswith(
        "its custom resources cannot be listed, see to its conversion webhook first: conversion webhook"
    )
    assert found[Form(name, "v2", "v2")].count == 1
