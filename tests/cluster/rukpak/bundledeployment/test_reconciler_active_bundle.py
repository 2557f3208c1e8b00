"""The active Bundle deleted by hand: it is made again with the content that was installed, also while an upgrade is stuck."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from devcluster.images import Registry
from olmkit.api import bundledeployments, bundles, operators
from olmkit.api.bundle_annotations import ANNOTATION_PREFIX, PROPERTIES_ANNOTATION
from olmkit.runtime.client import Client
from operator_controller.resolve.package.package_content import MAX_RECORDED_PROPERTIES_BYTES
from rukpak.setup import build
from tests.cluster import killable_process
from tests.cluster.killable_process import first
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    config_map,
    data,
    namespace,
    plain,
    rukpak,
    says,
    settings,
)
from tests.conditions import triple


def replaced(uid: str, raw: Object | None) -> bool:
    """A Bundle that was made again, and is unpacked."""
    is_other = raw is not None and raw["metadata"]["uid"] != uid
    return is_other and triple(raw or {}, "Unpacked")[0] == "True"


async def stuck(at: Harness) -> tuple[str, str]:
    """Version 1 is installed, version 2 cannot be unpacked; the name and the uid of the active Bundle."""
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="1"))))
    active = (await at.until(READY))["status"]["activeBundle"]
    await at.install(f"{at.cluster.registry}/bundles/{at.name}:nothing")
    await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    return active, (await at.client.get(bundles.KIND, active))["metadata"]["uid"]


async def test_the_active_bundle_is_made_again_while_an_upgrade_is_stuck(at: Harness, running: Client) -> None:
    active, uid = await stuck(at)
    await at.client.delete(bundles.KIND, active)
    again = await at.when(bundles.KIND, active, "", partial(replaced, uid))
    assert again is not None
    assert again["metadata"]["ownerReferences"][0]["name"] == at.name
    assert (await at.until(says("Ready", "False", "Upgrading")))["status"]["activeBundle"] == active
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    assert data(await at.when(CONFIG_MAPS, "log", at.name, lambda found: found is not None)) == {"v": "1"}

    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="3")), "v3"))
    last = (await at.until(READY))["status"]
    assert last["activeBundle"] == last["installed"]["bundle"] != active


async def test_the_record_of_what_runs_comes_in_the_write_that_names_it(at: Harness, running: Client) -> None:
    """No version of the object names an active Bundle without its record."""
    seen: list[Object] = []
    at.deployments.subscribe(lambda change: seen.append(change.new) if change.new else None)
    ref = at.push(plain(namespace(at.name), config_map("log", at.name)))
    body = at.body(ref)
    prefix = ANNOTATION_PREFIX
    notes = {f"{prefix}{key}": key for key in ("package", "bundle-name", "bundle-version", "catalog", "channel")}
    body["spec"]["template"]["metadata"] = {"annotations": {**notes, f"{prefix}properties": "[]"}}
    await at.client.apply(bundledeployments.KIND, body, "test")
    raw = await at.until(READY)
    assert raw["status"]["installed"] == {
        "bundle": raw["status"]["activeBundle"],
        "name": "bundle-name",
        "version": "bundle-version",
        "package": "package",
        "catalog": "catalog",
        "channel": "channel",
        "properties": "[]",
        "image": ref,
        "spec": body["spec"]["template"]["spec"],
    }
    named = [entry["status"] for entry in seen if entry["metadata"]["name"] == at.name]
    assert all(("activeBundle" in status) == ("installed" in status) for status in named)


async def test_an_annotation_that_describes_another_bundle_is_removed_whoever_wrote_it(
    at: Harness, running: Client
) -> None:
    """An apply would not remove it, and would be repeated for ever."""
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
    active = (await at.until(READY))["status"]["activeBundle"]
    forged = f"{ANNOTATION_PREFIX}bundle-version"
    await at.client.patch(bundles.KIND, active, {"metadata": {"annotations": {forged: "9.9.9", "mine": "kept"}}})

    def is_removed(raw: Object | None) -> bool:
        return raw is not None and forged not in raw["metadata"]["annotations"]

    found = await at.when(bundles.KIND, active, "", is_removed)
    assert found is not None
    assert found["metadata"]["annotations"]["mine"] == "kept"


async def test_a_bundle_whose_spec_was_changed_is_created_again_and_nothing_else_is_installed(
    at: Harness, running: Client
) -> None:
    ref = at.push(plain(namespace(at.name), config_map("log", at.name)))
    other = at.push(plain(namespace(at.name), config_map("other", at.name)), "v2")
    await at.install(ref)
    active = (await at.until(READY))["status"]["activeBundle"]
    made = await at.client.get(bundles.KIND, active)
    log = await at.find(CONFIG_MAPS, "log", at.name)
    assert log is not None

    await at.client.patch(bundles.KIND, active, {"spec": {"source": {"image": {"ref": other}}}})
    again = await at.when(bundles.KIND, active, "", partial(replaced, made["metadata"]["uid"]))
    assert again is not None
    assert again["spec"] == made["spec"]
    found = await at.until(READY)
    assert found["status"]["installed"]["image"] == ref
    kept = await at.find(CONFIG_MAPS, "log", at.name)
    assert kept is not None
    assert kept["metadata"]["uid"] == log["metadata"]["uid"]
    assert await at.find(CONFIG_MAPS, "other", at.name) is None


async def test_recorded_properties_are_copied_unchanged_up_to_their_limit(at: Harness, running: Client) -> None:
    """To the Bundle, to the record of what runs, and from there to a Bundle that is made again."""
    start, end = '[{"type":"olm.constraint","value":"\\u00e9 \\" é ', '"}]'
    properties = start + "x" * (MAX_RECORDED_PROPERTIES_BYTES - len((start + end).encode())) + end
    assert len(properties.encode()) == MAX_RECORDED_PROPERTIES_BYTES
    body = at.body(at.push(plain(namespace(at.name), config_map("log", at.name))))
    body["spec"]["template"]["metadata"] = {"annotations": {PROPERTIES_ANNOTATION: properties}}
    await at.client.apply(bundledeployments.KIND, body, "test")
    status = (await at.until(READY))["status"]
    active = status["activeBundle"]
    assert status["installed"]["properties"] == properties
    made = await at.client.get(bundles.KIND, active)
    assert made["metadata"]["annotations"][PROPERTIES_ANNOTATION] == properties

    body = at.body(f"{at.cluster.registry}/bundles/{at.name}:nothing")
    body["spec"]["template"]["metadata"] = {"annotations": {PROPERTIES_ANNOTATION: properties.replace("x", "y")}}
    await at.client.apply(bundledeployments.KIND, body, "test")
    raw = await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    assert raw["status"]["installed"]["properties"] == properties
    await at.client.delete(bundles.KIND, active)
    again = await at.when(bundles.KIND, active, "", partial(replaced, made["metadata"]["uid"]))
    assert again is not None
    assert again["metadata"]["annotations"][PROPERTIES_ANNOTATION] == properties


async def test_a_bundle_that_is_made_again_keeps_the_digest_when_its_tag_has_moved(
    at: Harness, running: Client
) -> None:
    repository, tagged = f"bundles/{at.name}", f"{at.cluster.registry}/bundles/{at.name}:latest"
    Registry(at.cluster.registry).push(
        repository, "latest", plain(namespace(at.name), config_map("log", at.name, v="1")), {}
    )
    await at.install(tagged)
    active = (await at.until(READY))["status"]["activeBundle"]
    old = await at.client.get(bundles.KIND, active)
    Registry(at.cluster.registry).push(
        repository, "latest", plain(namespace(at.name), config_map("log", at.name, v="2")), {}
    )
    await at.client.delete(bundles.KIND, active)
    again = await at.when(bundles.KIND, active, "", partial(replaced, old["metadata"]["uid"]))
    assert again is not None
    assert again["status"]["resolvedSource"] == old["status"]["resolvedSource"]
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}


async def test_a_bundle_of_before_there_were_records_is_made_again_by_what_its_operator_says(
    at: Harness, tmp_path: Path
) -> None:
    async with rukpak(at.cluster, tmp_path):
        active, _ = await stuck(at)
    ref = (at.deployments.get(at.name) or {})["status"]["installed"]["image"]
    api = operators.KIND.api_version
    body = {"apiVersion": api, "kind": "Operator", "metadata": {"name": at.name}, "spec": {"packageName": "log"}}
    operator = await at.create(operators.KIND, body)
    status = {"installedBundleResource": ref, "installed": {"name": "log.v1", "version": "1.0.0", "apis": []}}
    await at.client.apply_status(operators.KIND, {**operator, "status": status}, "test")
    owner = {"apiVersion": api, "kind": "Operator", "name": at.name, "uid": operator["metadata"]["uid"]}
    patch = {"metadata": {"ownerReferences": [{**owner, "controller": True}]}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)
    path = bundledeployments.KIND.path(name=at.name) + "/status"
    unrecorded = {"status": {"installed": None}}
    await at.client.request("PATCH", path, body=unrecorded, content_type="application/merge-patch+json")
    await at.until(lambda raw: "installed" not in (raw or {})["status"])
    await at.client.delete(bundles.KIND, active)
    async with rukpak(at.cluster, tmp_path):
        again = await at.when(bundles.KIND, active, "", lambda found: found is not None)
        raw = await at.until(lambda raw: "installed" in (raw or {})["status"])
    assert again is not None
    assert again["metadata"]["annotations"][f"{ANNOTATION_PREFIX}bundle-version"] == "1.0.0"
    assert again["spec"]["source"]["image"]["ref"] == ref
    assert raw["status"]["installed"]["name"] == "log.v1"


@pytest.mark.crash
@pytest.mark.timeout(300)
async def test_a_kill_while_the_active_bundle_is_made_again_loses_nothing(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path):
        active, uid = await stuck(at)
    kills = 0
    for number in range(1, 9):
        await at.client.delete(bundles.KIND, active)
        async with killable_process.run_killable("rukpak", settings(at.cluster, tmp_path), build) as fate:
            fate.writes_left = number
            await first(fate.killed.wait(), at.when(bundles.KIND, active, "", partial(replaced, uid)))
            struck = fate.was_killed
        async with killable_process.run_killable("rukpak", settings(at.cluster, tmp_path), build):
            again = await at.when(bundles.KIND, active, "", partial(replaced, uid))
        assert again is not None
        uid = again["metadata"]["uid"]
        kills += struck
        if not struck:
            break
    assert kills
    assert not struck
