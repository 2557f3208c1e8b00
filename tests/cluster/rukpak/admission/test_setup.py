"""rukpak and the API server that asks its webhooks: what kubectl prints, and what works while rukpak does not run."""

from __future__ import annotations

import asyncio
import json

import pytest

from devcluster.services import free_address
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api import bundles
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import Forbidden, Unavailable
from rukpak.admission.bundles import IMMUTABLE, WEBHOOK
from rukpak.admission.probe import CONFIGURATION
from tests.cluster.rukpak.admission.conftest import Object, Place, spec_of
from tests.cluster.rukpak.harness import (
    READY,
    config_map,
    namespace,
    plain,
    says,
)

DENIAL = f'Error from server ({IMMUTABLE}): admission webhook "vbundles.core.rukpak.io" denied the request: {IMMUTABLE}'


def image_patch(ref: str) -> Object:
    return {"spec": {"source": {"image": {"ref": ref}}}}


async def test_a_change_of_the_spec_is_refused_in_the_words_of_the_guide(place: Place) -> None:
    async with place.rukpak():
        await place.configure()
        await place.answers()
        name = await place.create_bundle()
        patch = json.dumps(image_patch("registry.example.com/ship:v2"))
        printed = await place.kubectl("patch", "bundle", name, "--type=merge", "-p", patch)
        assert printed.endswith(f": {DENIAL}")
        assert "Forbidden" not in printed


async def test_what_means_the_same_and_what_is_not_the_spec_may_be_written(place: Place) -> None:
    async with place.rukpak():
        await place.configure()
        await place.answers()
        name = await place.create_bundle()
        before = await place.at.client.get(bundles.KIND, name)
        image = {"ref": "registry.example.com/ship:v1"}
        spec = {"source": {"image": image, "type": "image"}, "provisionerClassName": PLAIN}
        body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": name}, "spec": spec}
        for verb in (["apply"], ["apply", "--server-side", "--force-conflicts"], ["replace"]):
            printed = await place.kubectl(*verb, "--filename=-", body=body)
            assert name in printed
            assert "rror" not in printed
        unset = {"spec": {"source": {"image": {"pullSecret": None}}}, "metadata": {"labels": {"a": "b"}}}
        await place.at.client.patch(bundles.KIND, name, unset)
        after = await place.at.client.get(bundles.KIND, name)
        assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], before["metadata"]["generation"])


async def test_a_bundle_of_a_repository_is_guarded_in_the_words_of_upstream(place: Place) -> None:
    """No rule of the schema answers before the webhook."""
    git = {"repository": "https://git.example.com/operator-framework/combo", "ref": {"tag": "v0.0.2"}}
    problems = {
        'bundle.spec.source.git must be set for source type "git"': {"type": "git"},
        'bundle.spec.source.git.directory begins with "../": directory must define path within the repository': {
            "type": "git",
            "git": {**git, "directory": "../combo"},
        },
    }
    name = f"{place.at.name}-combo"
    body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": name}}
    async with place.rukpak():
        await place.configure()
        await place.answers()
        for problem, source in problems.items():
            spec = {"provisionerClassName": PLAIN, "source": source}
            printed = await place.kubectl("create", "--filename=-", body={**body, "spec": spec})
            assert f'admission webhook "vbundles.core.rukpak.io" denied the request: {problem}' in printed
        spec = {"provisionerClassName": PLAIN, "source": {"type": "git", "git": git}}
        await place.at.create(bundles.KIND, {**body, "spec": spec})
        patch = json.dumps({"spec": {"source": {"git": {"ref": {"tag": "v0.0.3"}}}}})
        printed = await place.kubectl("patch", "bundle", name, "--type=merge", "-p", patch)
        assert printed.endswith(f": {DENIAL}")


async def test_a_bundle_with_the_longest_annotations_is_created_and_changed(place: Place) -> None:
    """The API server allows 256 KiB, and a review of a change has them twice."""
    async with place.rukpak():
        await place.configure()
        await place.answers()
        name = f"{place.at.name}-large"
        body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle"}
        metadata = {"name": name, "annotations": {"example.com/a": "x" * 250_000}}
        await place.at.create(
            bundles.KIND, {**body, "metadata": metadata, "spec": spec_of("registry.example.com/a:v1")}
        )
        printed = await place.kubectl(
            "patch", "bundle", name, "--type=merge", "-p", json.dumps(image_patch("registry.example.com/a:v2"))
        )
        assert printed.endswith(f": {DENIAL}")


async def test_without_rukpak_a_bundle_is_deleted_and_annotated_and_its_status_written(place: Place) -> None:
    async with place.rukpak():
        await place.configure()
        await place.answers()
        name = await place.create_bundle()
    client = place.at.client
    with pytest.raises(Unavailable, match=r"failed calling webhook .*vbundles\.core\.rukpak\.io"):
        await client.patch(bundles.KIND, name, image_patch("registry.example.com/ship:v2"))
    await client.patch(bundles.KIND, name, {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/a"]}})
    found = await client.get(bundles.KIND, name)
    await client.apply_status(bundles.KIND, {**found, "status": {"phase": "Failing"}}, "test")
    await client.delete(bundles.KIND, name)
    await client.patch(bundles.KIND, name, {"metadata": {"finalizers": []}})
    assert await place.at.find(bundles.KIND, name) is None


async def test_no_bundle_is_made_before_the_webhook_answers_and_then_at_once(place: Place) -> None:
    at = place.at
    async with place.rukpak():
        await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
        text = (
            f"{WEBHOOK}, which guards Bundles: the API server does not ask it: apply the {WEBHOOK_CONFIGURATIONS.kind}"
        )
        await at.until(says("Reconciling", "True", "WaitingForWebhook", text))
        found, _ = await at.client.list(bundles.KIND, label_selector=f"core.rukpak.io/owner-name={at.name}")
        assert found == []
        await place.configure()
        await at.until(READY)


async def test_a_webhook_that_cannot_be_reached_is_named(place: Place) -> None:
    at = place.at
    async with place.rukpak(address=free_address()):  # the configuration names another address
        await place.configure()
        await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
        await at.until(says("Reconciling", "True", "WaitingForWebhook", "connection refused"))


async def test_a_spec_that_was_changed_without_the_webhook_is_never_reported_as_installed(place: Place) -> None:
    """Somebody deleted the configuration: rukpak notices the change itself."""
    at = place.at
    ref = at.push(plain(namespace(at.name), config_map("log", at.name)))
    other = at.push(plain(namespace(at.name), config_map("other", at.name)), "v2")
    seen: list[tuple[str, str]] = []

    def record(raw: Object | None) -> None:
        status = (raw or {}).get("status") or {}
        if (raw or {}).get("metadata", {}).get("name") == at.name and status.get("installed"):
            ready = next((each["status"] for each in status["conditions"] if each["type"] == "Ready"), "")
            seen.append((ready, status["installed"]["image"]))

    at.deployments.subscribe(lambda change: record(change.new))
    async with place.rukpak():
        await place.configure()
        await at.install(ref)
        active = (await at.until(READY))["status"]["activeBundle"]
        uid = (await at.client.get(bundles.KIND, active))["metadata"]["uid"]
        await at.client.delete(WEBHOOK_CONFIGURATIONS, CONFIGURATION)
        async with asyncio.timeout(60):
            while True:  # the API server forgets a configuration a moment later
                try:
                    await at.client.patch(bundles.KIND, active, image_patch(other))
                    break
                except Forbidden:
                    await asyncio.sleep(0.1)
        await place.configure()
        await at.when(
            bundles.KIND, active, "", lambda raw: raw is not None and raw["metadata"]["uid"] != uid and "status" in raw
        )
        again = await at.until(READY)
        assert again["status"]["installed"]["image"] == ref
    assert {image for ready, image in seen if ready == "True"} == {ref}
