"""rukpak and the API server that asks it about the ConfigMaps of Bundles: what kubectl prints, and what works without rukpak."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.api.provisioner_classes import PLAIN
from olmkit.errors import Forbidden
from tests.cluster.rukpak.admission.conftest import Object, Place
from tests.cluster.rukpak.harness import CONFIG_MAPS, config_map, namespace, plain, says
from tests.conditions import triple

REFERENCED = (
    'configmap "{}" is referenced in .spec.source.configMaps[].configMap.name by bundles [{}]; '
    "referenced configmaps must have .immutable == true"
)


def denied(webhook: str, reason: str) -> str:
    """The end of what kubectl prints."""
    return f'admission webhook "{webhook}.core.rukpak.io" denied the request: {reason}'


def files(place: Place, name: str = "files", *, immutable: bool = True) -> Object:
    manifests = plain(namespace(place.at.name), config_map("log", place.at.name))["manifests/all.yaml"]
    return {**config_map(name, place.system, **{"all.yaml": manifests.decode()}), "immutable": immutable}


def bundle(place: Place, *names: str, path: str = "manifests") -> Object:
    members = [{"configMap": {"name": name}, "path": path} for name in names]
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": place.at.name},
        "spec": {"provisionerClassName": PLAIN, "source": {"type": "configMaps", "configMaps": members}},
    }


@pytest.fixture
async def asked(place: Place) -> AsyncIterator[Place]:
    """The place, while the API server asks rukpak."""
    async with place.rukpak():
        await place.configure()
        await place.answers()
        yield place


async def test_a_bundle_is_refused_in_the_words_of_upstream(asked: Place) -> None:
    """No rule of the schema answers before the webhook."""
    await asked.at.create(CONFIG_MAPS, files(asked, "open", immutable=False))
    await asked.at.create(CONFIG_MAPS, files(asked))
    field = "bundle.spec.source.configmaps"
    problems = {
        f'{field} must be set for source type "configmaps"': bundle(asked),
        f'{field}[0].path is invalid: "../x" is outside bundle root': bundle(asked, "files", path="../x"),
        f'{field}[1].configmap.name is invalid: configmap "open" is not immutable': bundle(asked, "files", "open"),
    }
    for problem, body in problems.items():
        printed = await asked.kubectl("create", "--filename=-", body=body)
        assert printed.endswith(denied("vbundles", problem))
    await asked.at.create(bundles.KIND, bundle(asked, "files", "missing"))


async def test_a_configmap_that_a_bundle_names_has_to_be_immutable_and_stays(asked: Place) -> None:
    at = asked.at
    await at.create(bundles.KIND, bundle(asked, "files"))
    await at.when(
        bundles.KIND, at.name, "", lambda raw: 'ConfigMap "files" not found' in triple(raw or {}, "Unpacked")[2]
    )
    printed = await asked.kubectl("create", "--filename=-", body=files(asked, immutable=False))
    assert printed.endswith(denied("vconfigmaps", REFERENCED.format("files", at.name)))
    elsewhere = {**files(asked, immutable=False)}
    elsewhere["metadata"] = {**elsewhere["metadata"], "namespace": asked.keys}
    await at.create(CONFIG_MAPS, elsewhere)
    await at.create(CONFIG_MAPS, files(asked, "other", immutable=False))
    await at.create(CONFIG_MAPS, files(asked))
    await at.when(bundles.KIND, at.name, "", lambda raw: triple(raw or {}, "Unpacked")[0] == "True")

    reason = f'configmap "files" is in-use by bundle "{at.name}"'
    printed = await asked.kubectl("delete", "configmap", "files", f"--namespace={asked.system}")
    assert printed.endswith(denied("vconfigmaps", reason))
    with pytest.raises(Forbidden):
        await at.client.delete(CONFIG_MAPS, "files", asked.system)
    await at.client.delete(CONFIG_MAPS, "other", asked.system)
    await at.client.delete(bundles.KIND, at.name)
    await at.when(bundles.KIND, at.name, "", lambda raw: raw is None)
    printed = ""
    async with asyncio.timeout(60):
        while "deleted" not in printed:  # rukpak may see the deletion of the Bundle a moment later
            printed = await asked.kubectl("delete", "configmap", "files", f"--namespace={asked.system}")
            assert "deleted" in printed or printed.endswith(denied("vconfigmaps", reason))


async def test_the_configmap_of_a_bundle_that_waits_for_other_files_is_replaced(asked: Place) -> None:
    """The message of the Bundle advises that, and an immutable ConfigMap can only be replaced."""
    at = asked.at
    wrong = {**config_map("files", asked.system, **{"all.yaml": "only text"}), "immutable": True}
    await at.create(CONFIG_MAPS, wrong)
    await at.create(bundles.KIND, bundle(asked, "files"))
    await at.when(bundles.KIND, at.name, "", says("Stalled", "True"))
    printed = ""
    async with asyncio.timeout(60):
        while "deleted" not in printed:  # rukpak may see the status of the Bundle a moment later
            printed = await asked.kubectl("delete", "configmap", "files", f"--namespace={asked.system}")
    await at.create(CONFIG_MAPS, files(asked))
    await at.when(bundles.KIND, at.name, "", says("Unpacked", "True"))


async def test_the_bundle_of_a_template_is_created_and_says_that_a_configmap_is_mutable(asked: Place) -> None:
    """Its BundleDeployment is woken when the ConfigMap becomes immutable."""
    at = asked.at
    await at.create(CONFIG_MAPS, files(asked, immutable=False))
    body = at.body("unused")
    body["spec"]["template"]["spec"] = bundle(asked, "files")["spec"]
    await at.client.apply(bundledeployments.KIND, body, "test")
    problem = 'bundle.spec.source.configmaps[0].configmap.name is invalid: configmap "files" is not immutable'
    await at.until(says("HasValidBundle", "False", "UnpackFailed", problem))
    await at.client.patch(CONFIG_MAPS, "files", {"immutable": True}, asked.system)
    await at.until(says("Ready", "True"))


async def test_without_rukpak_configmaps_of_the_suites_namespace_are_written_and_deleted(place: Place) -> None:
    at = place.at
    async with place.rukpak():
        await place.configure()
        await place.answers()
        await at.create(bundles.KIND, bundle(place, "files"))
    await at.create(CONFIG_MAPS, files(place, immutable=False))
    await at.client.delete(CONFIG_MAPS, "files", place.system)
