"""Upgrades that change CustomResourceDefinitions: what is refused, what is checked, and what lifts a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments
from olmkit.api.crd_upgrade_rules import OPT_OUT_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import EVENT
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    kind_of,
    namespace,
    plain,
    rukpak,
    says,
    thing,
)
from tests.conditions import triple

NUMBER = {"type": "integer"}


def boats(group: str, size: Mapping[str, Any], **metadata: Any) -> Object:
    """The CRD of boats whose spec.size has this schema."""
    crd = definition(group)
    spec = {"type": "object", "properties": {"size": dict(size), "color": {"type": "string"}}}
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    crd["metadata"] |= metadata
    return crd


def bundle(at: Harness, tag: str, size: Mapping[str, Any], **metadata: Any) -> str:
    """An image with a Namespace, the CRD and a ConfigMap that tells the version."""
    crd = boats(at.group, size, **metadata)
    return at.push(plain(namespace(at.name), crd, config_map("log", at.name, v=tag)), tag)


def boat(at: Harness, name: str, **spec: Any) -> Object:
    return {**thing(kind_of(at.group), name, at.name), "spec": spec}


async def configure(at: Harness, ref: str, **safety: Any) -> None:
    body = at.body(ref)
    body["spec"]["crdUpgradeSafety"] = safety
    await at.client.apply(bundledeployments.KIND, body, "test")


async def live_size(at: Harness) -> Any:
    crd = await at.client.get(CRDS, f"boats.{at.group}")
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]


async def test_an_upgrade_that_breaks_a_rule_changes_nothing_by_the_policy_enforce_until_the_rule_is_ignored(
    at: Harness, running: Client
) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    active = (await at.until(READY))["status"]["activeBundle"]
    ref = bundle(at, "v2", {**NUMBER, "maximum": 9})
    await configure(at, ref, policy="Enforce")
    said = f'validating upgrade for CRD "boats.{at.group}": v1: spec.size: maximum-tightened: none -> 9'
    raw = await at.until(says("Stalled", "True", "Blocked", said))
    assert raw["status"]["activeBundle"] == active
    assert triple(raw, "Installed")[:2] == ("True", "InstallationSucceeded")
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v1"}
    assert await live_size(at) == NUMBER

    await configure(at, ref, policy="Enforce", ignoredRules=["maximum-tightened"])
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v2"}
    assert await live_size(at) == {**NUMBER, "maximum": 9}


async def test_an_upgrade_that_breaks_a_rule_goes_on_by_default_if_no_custom_resource_is_concerned(
    at: Harness, running: Client
) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    await at.install(bundle(at, "v2", {**NUMBER, "maximum": 9, "x-kubernetes-validations": [{"rule": "self > 1"}]}))
    await at.until(READY)
    await at.create(kind_of(at.group), boat(at, "ark", color="red"))  # without a size
    await at.install(bundle(at, "v3", {**NUMBER, "minimum": 7, "x-kubernetes-validations": [{"rule": "self > 2"}]}))
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v3"}
    rules = "minimum-tightened, validation-rule-added"
    said = f"no custom resource is concerned by the changes of boats.{at.group} ({rules}), clients may be"
    event = await at.when_any(EVENT, "default", lambda event: event["message"] == said)
    assert (event["type"], event["reason"], event["involvedObject"]["name"]) == (
        "Warning",
        "DefinitionChanged",
        at.name,
    )

    await at.client.patch(kind_of(at.group), "ark", {"spec": {"size": 7}}, at.name)
    await at.install(bundle(at, "v4", {**NUMBER, "x-kubernetes-validations": [{"rule": "self > 3"}]}))
    said = 'validation-rule-added: "self > 3" (custom resources exist, and only the API server evaluates this)'
    await at.until(says("Stalled", "True", "Blocked", f"v1: spec.size: {said}"))


def moved(at: Harness, tag: str, fields: Sequence[str], **facts: Any) -> str:
    """An image with boats that have a size and a color in v1, and these of size, color and name in v2, the version that is
    stored."""
    crd = boats(at.group, NUMBER)
    (old,) = crd["spec"]["versions"]
    kept = {"size": NUMBER, "color": {"type": "string"}, "name": {"type": "string"}}
    spec = {"type": "object", "properties": {name: kept[name] for name in fields}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    new = {**old, "name": "v2", "schema": schema, **facts}
    crd["spec"]["versions"] = [{**old, "storage": False}, new]
    return at.push(plain(namespace(at.name), crd, config_map("log", at.name, v=tag)), tag)


async def versions(at: Harness) -> tuple[list[str], list[str]]:
    """The versions of the definition, and those that were stored."""
    crd = await at.client.get(CRDS, f"boats.{at.group}")
    return [each["name"] for each in crd["spec"]["versions"]], crd["status"]["storedVersions"]


@pytest.mark.parametrize(
    ("fields", "spec"),
    [
        pytest.param(["size", "color", "name"], {"size": 7, "color": "red"}, id="that only has one field more"),
        pytest.param(["color"], {"color": "red"}, id="without a field that no custom resource has a value in"),
    ],
)
async def test_custom_resources_keep_their_values_in_a_new_storage_version(
    fields: Sequence[str], spec: Mapping[str, Any], at: Harness, running: Client
) -> None:
    kind = kind_of(at.group)
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    await at.create(kind, boat(at, "ark", **spec))
    await at.install(moved(at, "v2", fields))
    await at.until(READY)
    assert await versions(at) == (["v1", "v2"], ["v1", "v2"])
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v2"}
    await at.client.patch(kind, "ark", {"metadata": {"labels": {"written": "true"}}}, at.name)
    assert (await at.client.get(kind, "ark", at.name))["spec"] == spec


async def test_a_storage_version_without_a_field_is_refused_while_a_custom_resource_has_a_value_in_it(
    at: Harness, running: Client
) -> None:
    kind = kind_of(at.group)
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    await at.create(kind, boat(at, "ark", size=7, color="red"))
    ref = moved(at, "v2", ["color"], served=False)
    await at.install(ref)
    said = (
        f'1 custom resource loses data by the new schema: validating upgrade for CRD "boats.{at.group}": v2: '
        f"existing-object-loses-data: {at.name}/ark: spec.size is dropped"
    )
    await at.until(says("Stalled", "True", "Blocked", said))
    await configure(at, ref, ignoredRules=["type-changed"])  # concerns nothing here
    await at.until(says("Stalled", "True", "Blocked", said))
    assert await versions(at) == (["v1"], ["v1"])
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v1"}
    await at.client.patch(kind, "ark", {"metadata": {"labels": {"written": "before"}}}, at.name)
    assert (await at.client.get(kind, "ark", at.name))["spec"] == {"size": 7, "color": "red"}

    for policy in ("IfUsed", "Enforce"):  # no other rule that is ignored permits it
        await configure(at, ref, policy=policy, ignoredRules=["field-removed", "existing-object-invalid"])
        await at.until(says("Stalled", "True", "Blocked", said))
    assert await versions(at) == (["v1"], ["v1"])

    await configure(at, ref, ignoredRules=["field-removed", "existing-object-loses-data"])
    await at.until(READY)
    await at.client.patch(kind, "ark", {"metadata": {"labels": {"written": "true"}}}, at.name)
    assert (await at.client.get(kind, "ark", at.name))["spec"] == {"color": "red"}  # it is what was refused

    def tells_the_loss(event: Object) -> bool:
        return (event["reason"], event["involvedObject"]["name"]) == ("FieldsDropped", at.name)

    event = await at.when_any(EVENT, "default", tells_the_loss)
    lost = said.replace("new schema:", "new schema, as crdUpgradeSafety.ignoredRules permits:")
    assert (event["type"], event["message"]) == ("Warning", lost)
    assert [each["count"] for each in (await at.client.list(EVENT, "default"))[0] if tells_the_loss(each)] == [1]


class Latecomer(Client):
    """rukpak's client. Once, when a CustomResourceDefinition was dry-run, somebody else creates a custom resource."""

    late: ClassVar[tuple[Kind, Object] | None] = None

    async def request(self, method: str, path: str, **options: Any) -> Any:
        answer = await super().request(method, path, **options)
        is_dry_run = (options.get("query") or {}).get("dryRun") is not None
        if Latecomer.late is not None and is_dry_run and "/customresourcedefinitions/" in path:
            (kind, body), Latecomer.late = Latecomer.late, None
            await self.create(kind, body)
        return answer


async def test_a_custom_resource_that_is_created_after_the_check_is_checked_before_its_definition_is_replaced(
    at: Harness, cluster: Cluster, tmp_path: Path
) -> None:
    def two(tag: str, size: Mapping[str, Any]) -> str:
        """A single object is not dry-run."""
        ship = definition(at.group, "Ship")
        ship["metadata"]["annotations"] = {"example.com/version": tag}
        return at.push(plain(namespace(at.name), boats(at.group, size), ship), tag)

    async with rukpak(cluster, tmp_path, Latecomer):
        await at.install(two("v1", NUMBER))
        await at.until(READY)
        await at.create(kind_of(at.group), boat(at, "raft", size=3))
        Latecomer.late = kind_of(at.group), boat(at, "ark", size=7)
        await at.install(two("v2", {**NUMBER, "maximum": 5}))
        await at.until(
            says("Stalled", "True", "Blocked", f"existing-object-invalid: {at.name}/ark: spec.size: maximum")
        )
        assert Latecomer.late is None
        assert await live_size(at) == NUMBER


async def test_the_installed_bundle_is_repaired_while_its_upgrade_is_refused(at: Harness, running: Client) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    await at.create(kind_of(at.group), boat(at, "ark", size=7))
    await at.install(bundle(at, "v2", {"type": "string"}))
    await at.until(says("Stalled", "True", "Blocked", f"existing-object-invalid: {at.name}/ark: spec.size: type"))
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    assert data(await at.when(CONFIG_MAPS, "log", at.name, lambda found: found is not None)) == {"v": "v1"}


async def test_a_refusal_is_lifted_by_a_template_that_breaks_no_rule(at: Harness, running: Client) -> None:
    await at.install(bundle(at, "v1", {**NUMBER, "description": "metres"}))
    await at.until(READY)
    await at.create(kind_of(at.group), boat(at, "ark", size=7))
    await at.install(bundle(at, "v2", {"type": "string"}))
    await at.until(says("Stalled", "True", "Blocked", "spec.size: type"))
    await at.install(bundle(at, "v3", {**NUMBER, "description": "feet"}))
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v3"}


async def test_a_refusal_is_lifted_by_a_change_of_the_definition_on_the_cluster(at: Harness, running: Client) -> None:
    await at.install(bundle(at, "v1", {**NUMBER, "minimum": 1}))
    await at.until(READY)
    wanted = {**NUMBER, "minimum": 2}
    await configure(at, bundle(at, "v2", wanted), policy="Enforce")
    await at.until(says("Stalled", "True", "Blocked", "minimum-tightened: 1 -> 2"))
    crd = boats(at.group, wanted)
    await at.client.apply(CRDS, crd, "a-person")
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "v2"}


async def test_a_definition_of_the_bundle_opts_out_with_an_annotation(at: Harness, running: Client) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    opted_out = {OPT_OUT_ANNOTATION: "false"}
    await at.install(bundle(at, "v2", {**NUMBER, "minimum": 1}, annotations=opted_out))
    await at.until(READY)
    assert await live_size(at) == {**NUMBER, "minimum": 1}


async def test_nothing_is_checked_with_the_policy_none(at: Harness, running: Client) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    await at.create(kind_of(at.group), boat(at, "ark", size=7))
    await configure(at, bundle(at, "v2", {"type": "string"}), policy="None")
    await at.until(READY)
    assert await live_size(at) == {"type": "string"}


async def test_custom_resources_that_the_new_schema_refuses_stop_an_upgrade_whose_rule_is_ignored(
    at: Harness, running: Client
) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    for number in range(60):  # more than a page
        await at.create(kind_of(at.group), boat(at, f"boat-{number:02}", size=number, color="red"))
    ref = bundle(at, "v2", {**NUMBER, "maximum": 58})
    await configure(at, ref, ignoredRules=["maximum-tightened"])
    said = (
        f'1 custom resource is not valid by the new schema: validating upgrade for CRD "boats.{at.group}": v1: '
        f"existing-object-invalid: {at.name}/boat-59: spec.size: maximum"
    )
    await at.until(says("Stalled", "True", "Blocked", said))
    assert await live_size(at) == NUMBER

    await configure(at, ref, ignoredRules=["maximum-tightened", "existing-object-invalid"])
    await at.until(READY)
    assert await live_size(at) == {**NUMBER, "maximum": 58}


async def test_a_released_definition_is_compared_by_who_takes_it_over(at: Harness, running: Client) -> None:
    await at.install(bundle(at, "v1", NUMBER))
    await at.until(READY)
    await at.create(kind_of(at.group), boat(at, "ark", size=7))
    await at.install(at.push(plain(namespace(at.name)), "v2"))
    await at.until(READY)
    other = f"{at.name}-b"
    await at.install(at.push(plain(boats(at.group, {"type": "string"})), "b1"), other)
    await at.until(says("Stalled", "True", "Blocked", f"{at.name}/ark: spec.size: type"), other)
    await at.client.apply(CRDS, boats(at.group, {"type": "string"}), "a-person")
    await at.until(READY, other)


async def test_a_definition_that_nobody_manages_is_compared_before_it_is_taken_over(
    at: Harness, running: Client
) -> None:
    await at.create(CRDS, boats(at.group, NUMBER))
    await at.create(NAMESPACES, namespace(at.name))
    await at.read(kind_of(at.group))
    await at.create(kind_of(at.group), boat(at, "ark", size=7))
    body = at.body(bundle(at, "v1", {"type": "string"}))
    body["spec"]["adoptionPolicy"] = "IfUnowned"
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(says("Stalled", "True", "Blocked", f"{at.name}/ark: spec.size: type"))
    assert await live_size(at) == NUMBER
    body["spec"]["crdUpgradeSafety"] = {"policy": "None"}
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(READY)
    assert await live_size(at) == {"type": "string"}


async def test_a_custom_resource_that_cannot_be_checked_is_reported_and_does_not_leave_the_check_running(
    at: Harness, running: Client
) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await at.install(bundle(at, "v1", free))
    await at.until(READY)
    depth, kind = 1005, kind_of(at.group)  # Python's recursion ends before, that of JSON parsers after it
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    body = orjson.dumps(boat(at, "deep", size=0)).replace(b'"size":0', b'"size":' + nested)
    await at.client.request("POST", kind.path(at.name), body=body)
    ref = bundle(at, "v2", {**free, "minProperties": 1})
    await at.install(ref)
    said = "min-properties-tightened: none -> 1 (RecursionError)"
    await at.until(says("Stalled", "True", "Blocked", said))
    await configure(at, ref, ignoredRules=["min-properties-tightened"])
    failed = f"boats.{at.group}: RecursionError; if this is safe, name existing-object-invalid in"
    said = f"custom resources cannot be checked against the new schemas: {failed}"
    await at.until(says("Reconciling", "True", "Retrying", said))

    ignored = ["min-properties-tightened", "existing-object-invalid"]  # no value is dropped
    await configure(at, ref, ignoredRules=ignored)
    await at.until(READY)

    ref = bundle(at, "v3", {"type": "object", "minProperties": 1})
    rules = [*ignored, "existing-object-loses-data", "unknown-fields-dropped"]
    for known, missing in ((ignored, rules[2:]), ([*ignored, rules[3]], rules[2:3]), ([*ignored, rules[2]], rules[3:])):
        await configure(at, ref, ignoredRules=known)
        said = f"(RecursionError); if this is safe, name these rules in crdUpgradeSafety.ignoredRules: {', '.join(missing)}"
        await at.until(says("Stalled", "True", "Blocked", said))
    assert await live_size(at) == {**free, "minProperties": 1}
    await configure(at, ref, ignoredRules=rules)
    await at.until(READY)
