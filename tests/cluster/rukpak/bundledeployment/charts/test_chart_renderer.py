"""Helm charts on the real API server: rendered by helm, applied, repaired, changed and removed as any other bundle."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import HELM
from olmkit.errors import Invalid
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.chart_files import chart_files, packed_chart, small_chart
from tests.cluster.rukpak.bundledeployment.charts.conftest import Charts
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    gone,
    kind_of,
    namespace,
    rukpak,
    says,
    thing,
    version_of,
)
from tests.cluster.rukpak.tenants import ROLE_BINDINGS, Tenant
from tests.conditions import triple
from tests.servers.web_server import WebServer

SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)
SERVICES = Kind("", "v1", "Service", "services", namespaced=True)
SYSTEM = "olm-suite-system"
BOATS = Kind("charts.example.com", "v1", "Boat", "boats", namespaced=True)


async def test_a_chart_is_installed_changed_repaired_and_removed(at: Harness, charts: Charts) -> None:
    await charts.install("web", {"settings": {"color": "red"}})
    first = await at.until(READY)
    settings = f"{at.name}-settings"
    found = await at.find(CONFIG_MAPS, settings, charts.namespace)
    assert data(found) == {"color": "red", "greeting": "hello", "release": "install"}
    assert await at.find(SERVICES, at.name, charts.namespace) is not None
    assert first["status"]["installNamespace"] == charts.namespace
    assert first["status"]["revision"] == 1
    for record in (first["status"]["installed"], first["status"]["history"][0]):
        assert (record["name"], record["version"]) == ("web", "1.2.0")
    await at.client.patch(CONFIG_MAPS, settings, {"data": {"color": "changed"}}, charts.namespace)
    await at.when(CONFIG_MAPS, settings, charts.namespace, lambda raw: data(raw).get("color") == "red")

    await charts.install("web", "replicas: 2\nsettings: {color: green}")
    second = await at.until(lambda raw: READY(raw) and (raw or {})["status"]["revision"] == 2)
    found = await at.find(CONFIG_MAPS, settings, charts.namespace)
    assert data(found) == {"color": "green", "greeting": "hello", "release": "upgrade"}
    assert second["status"]["activeBundle"] == first["status"]["activeBundle"], "the chart is the same"
    workload = await at.find(DEPLOYMENTS, at.name, charts.namespace)
    assert workload is not None
    assert workload["spec"]["replicas"] == 2

    await charts.install("web", {"replicas": "three"})
    words = "at '/replicas': got string, want integer"
    refused = await at.until(says("HasValidBundle", "False", "InvalidConfiguration", words))
    assert triple(refused, "Installed")[0] == "True"
    assert triple(refused, "Stalled")[0] == "True"
    await at.client.delete(CONFIG_MAPS, settings, charts.namespace)
    await at.when(CONFIG_MAPS, settings, charts.namespace, lambda raw: data(raw).get("color") == "green")

    await at.remove()
    await at.until(gone)
    assert await at.find(NAMESPACES, charts.namespace) is None


async def test_a_new_process_renders_again_and_applies_nothing(at: Harness, charts: Charts) -> None:
    await charts.install("web")
    before = await at.until(READY)
    versions = [
        version_of(await at.find(kind, name, charts.namespace))
        for kind, name in ((CONFIG_MAPS, f"{at.name}-settings"), (SERVICES, at.name))
    ]
    await charts.restart()
    await at.client.delete(CONFIG_MAPS, f"{at.name}-settings", charts.namespace)
    await at.when(CONFIG_MAPS, f"{at.name}-settings", charts.namespace, lambda raw: bool(data(raw)))
    after = await at.until(READY)
    assert version_of(await at.find(SERVICES, at.name, charts.namespace)) == versions[1]
    assert after["status"]["history"] == before["status"]["history"]


async def test_values_come_from_secrets_and_config_maps_and_follow_them(at: Harness, charts: Charts) -> None:
    names: dict[str, Any] = {
        "valuesFrom": [{"kind": "ConfigMap", "name": at.name}, {"kind": "Secret", "name": at.name, "key": "more"}]
    }
    names["valuesFrom"].append({"kind": "Secret", "name": f"{at.name}-absent", "optional": True})
    await charts.install("web", {"settings": {"size": "large"}}, **names)
    both = f'ConfigMap "{at.name}" with the key values.yaml, Secret "{at.name}" with the key more'
    words = f'{both} not found in namespace "{SYSTEM}": create them there'
    await at.until(says("Stalled", "True", "Blocked", words))
    if await at.find(NAMESPACES, SYSTEM) is None:
        await at.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    text = "settings: {color: black, greeting: moin, size: small}"
    await at.create(CONFIG_MAPS, config_map(at.name, SYSTEM, **{"values.yaml": text}))
    await at.until(says("Stalled", "True", "Blocked", f'Secret "{at.name}" with the key more not found'))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": at.name, "namespace": SYSTEM}}
    await at.create(SECRETS, {**secret, "stringData": {"values.yml": ""}})
    words = f'Secret "{at.name}" in namespace "{SYSTEM}" has no key more: add it, or name the one that it has in key'
    await at.until(says("Stalled", "True", "Blocked", words))
    wrong = {"stringData": {"more": "settings: {color: s3cretblue}\nreplicas: wrong"}}
    await at.client.patch(SECRETS, at.name, wrong, SYSTEM)
    refused = await at.until(says("Stalled", "True", "Blocked", "at '/replicas': got string, want integer"))
    assert "s3cret" not in json.dumps(refused)
    await at.client.patch(SECRETS, at.name, {"stringData": {"more": "settings: {color: s3cretblue}"}}, SYSTEM)
    ready = await at.until(READY)
    assert "s3cret" not in json.dumps(ready["status"])
    settings = f"{at.name}-settings"
    found = data(await at.find(CONFIG_MAPS, settings, charts.namespace))
    assert found == {"color": "s3cretblue", "greeting": "moin", "release": "install", "size": "large"}
    await at.client.patch(CONFIG_MAPS, at.name, {"data": {"values.yaml": "settings: {greeting: hi}"}}, SYSTEM)
    await at.when(CONFIG_MAPS, settings, charts.namespace, lambda raw: data(raw).get("greeting") == "hi")
    raw = await at.until(READY)
    assert raw["status"]["revision"] == 1, "the same is asked for"
    assert "s3cret" not in charts.process.log_tail("rukpak")


async def test_generated_values_stay_as_they_were_applied_first(at: Harness, charts: Charts) -> None:
    await charts.install("password")
    raw = await at.until(READY)
    words = f"Secret {charts.namespace}/{at.name} (data.password)"
    assert (
        "gives other values each time it is rendered, and objects that exist keep theirs: " in triple(raw, "Ready")[2]
    )
    assert words in triple(raw, "Ready")[2]
    secret = await at.find(SECRETS, at.name, charts.namespace)
    password = data(secret)["password"]
    url = f"{at.name}-url"
    plain = base64.b64decode(password).decode()
    assert data(await at.find(CONFIG_MAPS, url, charts.namespace))["plain"] == plain

    await charts.restart()
    await charts.install("password", {"color": "blue"})
    await at.when(CONFIG_MAPS, url, charts.namespace, lambda raw: data(raw).get("color") == "blue")
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, url, charts.namespace))["plain"] == plain
    assert version_of(await at.find(SECRETS, at.name, charts.namespace)) == version_of(secret)

    await at.client.delete(CONFIG_MAPS, url, charts.namespace)
    again = await at.when(CONFIG_MAPS, url, charts.namespace, lambda raw: bool(data(raw)))
    assert data(again)["plain"] == plain, "what is created again has the value of the Secret"


async def test_a_chart_keeps_generated_values_with_the_permissions_of_an_account(
    at: Harness, charts: Charts, tenant: Tenant
) -> None:
    await tenant.bind("admin", tenant.namespace)
    account = {"serviceAccount": {"name": "installer"}, "installNamespace": tenant.namespace}
    await charts.install("password")
    await at.client.patch(bundledeployments.KIND, at.name, {"spec": account})
    await at.until(READY)
    url = f"{at.name}-url"
    secret = await at.find(SECRETS, at.name, tenant.namespace)
    before = data(await at.find(CONFIG_MAPS, url, tenant.namespace))["plain"]
    change = {"spec": {"config": {"values": {"color": "blue"}}}}
    await at.client.patch(bundledeployments.KIND, at.name, change)
    changed = await at.when(CONFIG_MAPS, url, tenant.namespace, lambda raw: data(raw).get("color") == "blue")
    await at.until(READY)
    assert data(changed)["plain"] == before
    assert version_of(await at.find(SECRETS, at.name, tenant.namespace)) == version_of(secret)
    await at.client.delete(ROLE_BINDINGS, f"{at.name}-admin", tenant.namespace)
    await at.client.patch(bundledeployments.KIND, at.name, {"spec": {"config": {"values": {"color": "red"}}}})
    raw = await at.until(says("Stalled", "True", text="lacks permissions to install the bundle"))
    assert data(await at.find(CONFIG_MAPS, url, tenant.namespace))["color"] == "blue"
    assert raw["status"]["missingPermissions"]["rules"]


async def test_a_chart_follows_the_kinds_of_the_cluster(at: Harness, charts: Charts) -> None:
    has = '{{ .Capabilities.APIVersions.Has "GROUP/v1/Boat" | quote }}'.replace("GROUP", at.group)
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {boats: HAS}".replace(
        "HAS", has
    )
    await charts.install(small_chart({"a.yaml": text}), directory="small")
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, at.name, charts.namespace)) == {"boats": "false"}
    await at.create(CRDS, definition(at.group))
    await at.when(CONFIG_MAPS, at.name, charts.namespace, lambda raw: data(raw) == {"boats": "true"})


async def test_a_chart_of_a_repository_is_installed_and_its_version_is_kept(
    at: Harness, charts: Charts, tmp_path: Path
) -> None:
    def publish(version: str) -> None:
        files = chart_files("kept")
        files["Chart.yaml"] = files["Chart.yaml"].replace(b"1.0.0", version.encode())
        (tmp_path / f"kept-{version}.tgz").write_bytes(packed_chart(files, "kept"))
        entry = {"name": "kept", "version": version, "urls": [f"kept-{version}.tgz"]}
        (tmp_path / "index.yaml").write_text(json.dumps({"apiVersion": "v1", "entries": {"kept": [entry]}}))

    publish("1.4.0")
    async with WebServer(tmp_path) as server:
        body = at.body("", provisioner=HELM)
        chart = {"repository": server.url, "name": "kept", "version": "1.x"}
        body["spec"]["template"]["spec"]["source"] = {"type": "chart", "chart": chart}
        await at.client.apply(bundledeployments.KIND, body, "test")
        raw = await at.until(READY)
        resolved = raw["status"]["installed"]["resolvedSource"]["chart"]
        assert (resolved["version"], resolved["url"]) == ("1.4.0", f"{server.url}/kept-1.4.0.tgz")
        publish("1.5.0")
        bundle = await at.find(bundles.KIND, raw["status"]["activeBundle"])
        assert bundle is not None
        assert bundle["status"]["resolvedSource"]["chart"] == resolved
        await at.client.delete(bundles.KIND, raw["status"]["activeBundle"])
        again = await at.when(bundles.KIND, raw["status"]["activeBundle"], "", lambda one: _phase(one) == "Unpacked")
        assert again is not None
        assert again["metadata"]["uid"] != bundle["metadata"]["uid"]
        assert again["status"]["resolvedSource"]["chart"] == resolved


def _phase(raw: Object | None) -> str:
    return str(((raw or {}).get("status") or {}).get("phase") or "")


async def test_definitions_come_before_their_objects(at: Harness, charts: Charts) -> None:
    await charts.install("definitions")
    await at.until(READY)
    boat = await at.find(BOATS, at.name, charts.namespace)
    assert boat is not None
    assert boat["spec"] == {"color": "red", "text": "{{ not a template }}"}
    await at.remove()
    await at.until(gone)
    assert await at.find(CRDS, "boats.charts.example.com") is None


async def test_a_definition_that_helm_keeps_is_kept_with_its_custom_resources(at: Harness, charts: Charts) -> None:
    crd = definition(at.group)
    crd["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    await charts.install(small_chart({"crd.yaml": json.dumps(crd)}))
    await at.until(READY)
    boats = kind_of(at.group)
    await at.create(NAMESPACES, namespace(at.name))
    await at.create(boats, thing(boats, "dinghy", at.name))
    await at.remove()
    await at.until(gone)
    assert await at.find(boats, "dinghy", at.name) is not None


async def test_what_helm_keeps_is_kept_with_its_namespace_and_taken_over_again(at: Harness, charts: Charts) -> None:
    await charts.install("kept")
    await at.until(READY)
    await charts.install("kept", {"data": False})
    await at.until(lambda raw: READY(raw) and (raw or {})["status"]["revision"] == 2)
    name = f"{at.name}-data"
    left = await at.find(CONFIG_MAPS, name, charts.namespace)
    assert left is not None
    assert OWNER not in (left["metadata"].get("labels") or {})
    await charts.install("kept")
    await at.until(lambda raw: READY(raw) and (raw or {})["status"]["revision"] == 3)
    assert OWNER in (await at.find(CONFIG_MAPS, name, charts.namespace) or {})["metadata"]["labels"]

    await at.remove()
    await at.until(gone)
    after = await at.find(CONFIG_MAPS, name, charts.namespace)
    assert after is not None
    assert after["metadata"]["uid"] == left["metadata"]["uid"]
    assert await at.find(CONFIG_MAPS, f"{at.name}-other", charts.namespace) is None
    await charts.install("kept")
    await at.until(READY)
    again = await at.find(CONFIG_MAPS, name, charts.namespace)
    assert again is not None
    assert again["metadata"]["uid"] == left["metadata"]["uid"]


async def test_hooks_are_refused_by_name_before_anything_is_applied(at: Harness, charts: Charts) -> None:
    await charts.install("migrations")
    words = f"the chart has hooks, which rukpak does not run: ConfigMap {at.name}-schema (pre-install, pre-upgrade)"
    await at.until(says("Stalled", "True", "Blocked", words))
    assert await at.find(NAMESPACES, charts.namespace) is None
    await charts.install("migrations", {"hooks": False})
    await at.until(READY)


async def test_content_without_a_chart_and_a_library_are_refused(at: Harness, charts: Charts) -> None:
    await charts.install({"README.md": b"nothing"})
    await at.until(says("HasValidBundle", "False", "UnpackFailed", "the content has no Helm chart"))
    library = small_chart({}, Chart_yaml="apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library")
    await charts.install(library)
    await at.until(says("HasValidBundle", "False", "UnpackFailed", 'chart "common" is a library chart'))


async def test_options_of_other_bundles_are_refused(at: Harness, charts: Charts) -> None:
    await charts.install("web", env=[{"name": "A"}])
    await at.until(says("Stalled", "True", "Blocked", "config.env changes the Deployments of a registry+v1 bundle"))
    await charts.install("web", ["a"])
    await at.until(says("Stalled", "True", "Blocked", "config.values has to be an object, or a string of YAML"))


async def test_values_of_the_suite_are_not_for_installations_with_an_account(at: Harness, charts: Charts) -> None:
    await charts.install("web", valuesFrom=[{"kind": "Secret", "name": "any"}])
    account = {"spec": {"serviceAccount": {"name": "tenant", "namespace": charts.namespace}}}
    with pytest.raises(Invalid, match="an installation with serviceAccount may not read"):
        await at.client.patch(bundledeployments.KIND, at.name, account)


async def test_without_helm_the_status_says_so(at: Harness, tmp_path: Path) -> None:
    process = Charts(at, None)  # type: ignore[arg-type]
    await process.install("web")
    async with rukpak(at.cluster, tmp_path) as client:
        assert isinstance(client, Client)
        raw = await at.until(says("Stalled", "True", "Blocked", "its flag --helm is the path of one that it can run"))
        assert triple(raw, "HasValidBundle")[1] == "BundleLoadFailed"
