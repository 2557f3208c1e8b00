"""Pod templates that are left alone: nobody but rukpak decides which."""

from __future__ import annotations

import copy

import pytest

from olmkit.api import bundledeployments
from olmkit.api.bundledeployment_status import KEEP_TEMPLATE_ANNOTATION
from olmkit.api.meta import unchanged_precondition
from olmkit.api.ownership import MANAGER_PREFIX, manager_name
from olmkit.errors import Conflict
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.kept_templates import digest
from tests.cluster.rukpak.harness import DEPLOYMENTS, READY, Harness, Object, deployment, gone, namespace, plain

OTHER = "registry.example.com/other:v1"


def image(found: Object | None) -> str:
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"]) if found is not None else ""


async def forge(at: Harness, rendered: Object) -> None:
    """Let it seem that rukpak has left the template of an installed Deployment out, and change its pods."""
    annotations = {KEEP_TEMPLATE_ANNOTATION: digest(rendered)}
    await at.client.patch(DEPLOYMENTS, "engine", {"metadata": {"annotations": annotations}}, at.name)
    while True:
        live = await at.client.get(DEPLOYMENTS, "engine", at.name)
        entries = copy.deepcopy(live["metadata"]["managedFields"])
        for each in entries:
            if each["manager"] == manager_name(at.name):
                del each["fieldsV1"]["f:spec"]["f:template"]
                owned = each["fieldsV1"]["f:metadata"].setdefault("f:annotations", {})
                owned[f"f:{KEEP_TEMPLATE_ANNOTATION}"] = {}
        metadata = {**unchanged_precondition(live), "managedFields": entries}
        try:
            await at.client.patch(DEPLOYMENTS, "engine", {"metadata": metadata}, at.name)
        except Conflict:
            continue
        break
    template = {"spec": {"containers": [{"name": "main", "image": OTHER}]}}
    await at.client.patch(DEPLOYMENTS, "engine", {"spec": {"template": template}}, at.name)


async def test_nobody_can_have_a_template_left_alone_after_the_installation(at: Harness, running: Client) -> None:
    engine = deployment("engine", at.name)
    body = at.body(at.push(plain(namespace(at.name), engine)))
    body["spec"]["adoptionPolicy"] = "IfUnowned"
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(READY)
    await forge(at, engine)
    repaired = await at.when(DEPLOYMENTS, "engine", at.name, lambda found: image(found) == image(engine))
    assert repaired is not None
    assert KEEP_TEMPLATE_ANNOTATION not in repaired["metadata"].get("annotations", {})
    raw = await at.until(READY)
    assert "keptTemplates" not in raw["status"]


@pytest.mark.parametrize("is_forgotten", [True, False], ids=["released by Orphan", "with the fields of an earlier one"])
async def test_a_template_that_an_earlier_one_has_applied_is_kept_too(
    at: Harness, running: Client, is_forgotten: bool
) -> None:
    engine = deployment("engine", at.name, image=OTHER)
    body = at.body(at.push(plain(namespace(at.name), engine)))
    body["spec"] |= {"adoptionPolicy": "IfUnowned", "deletionPolicy": "Orphan"}
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(READY)
    before = await at.client.get(DEPLOYMENTS, "engine", at.name)
    await at.remove()
    await at.until(gone)
    released = await at.client.get(DEPLOYMENTS, "engine", at.name)
    managers = {each["manager"] for each in released["metadata"]["managedFields"]}
    assert not any(each.startswith(MANAGER_PREFIX) for each in managers)
    assert released["spec"] == before["spec"]
    metadata: Object = {"annotations": {KEEP_TEMPLATE_ANNOTATION: "until"}}
    if not is_forgotten:
        own = [each for each in before["metadata"]["managedFields"] if each["manager"] == manager_name(at.name)]
        metadata["managedFields"] = [*released["metadata"]["managedFields"], *own]
    await at.client.patch(DEPLOYMENTS, "engine", {"metadata": metadata}, at.name)
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name))), adoptionPolicy="IfUnowned")
    await at.until(READY)
    kept = await at.client.get(DEPLOYMENTS, "engine", at.name)
    assert kept["spec"] == before["spec"]
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name, image=f"{OTHER}-2"))))
    changed = await at.when(DEPLOYMENTS, "engine", at.name, lambda found: image(found) == f"{OTHER}-2")
    assert changed is not None
    assert len(changed["spec"]["template"]["spec"]["containers"]) == 1
